"""The build command: only what changed runs, the same bytes come again, nothing else is touched or left half done."""

import re
import shutil

import nbformat
import pytest

from course_tools import first_figure, repository
from course_tools.build import chapter, code_digest, moving_picture, needed_files, notebooks, still_pictures
from course_tools.commands import build
from tests.support import bare_clone, browser, examples, stored

PATHS = ["solutions/97_tiny.ipynb", "notebooks/97_tiny.ipynb"]
CHAPTER = """# ---
# jupyter:
#   course:
#     summary: nothing
# ---

# %% [markdown]
# # Chapter 97 · A tiny one

# %% name="first"
with open("../runs", "a") as runs:
    print(runs.write("run "))

# %% name="exercise-97-1"
def my_sum():
    \"\"\"Two and two.\"\"\"
    ### BEGIN SOLUTION
    return 4
    ### END SOLUTION


print(my_sum())
"""


def write(clone, text):
    """Write the tiny chapter's source."""
    (clone / "solutions/97_tiny.py").write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A clone with a tiny chapter 97, built once, and a learner's file."""
    clone = bare_clone.copy(tmp_path_factory.mktemp("clone"))
    write(clone, CHAPTER)
    (clone / "work").mkdir(exist_ok=True)
    (clone / "work/97_tiny.ipynb").write_text("mine", encoding="utf-8")
    answer = bare_clone.command(clone, "build", "97")
    assert answer.returncode == 0, answer
    return clone


@pytest.fixture
def clone(built, tmp_path):
    """A copy of that clone."""
    return shutil.copytree(built, tmp_path / "clone")


def made(clone):
    """The bytes of both notebooks of chapter 97."""
    return [(clone / path).read_bytes() for path in PATHS]


def runs(clone):
    """How often a notebook of chapter 97 was run."""
    return (clone / "runs").read_text(encoding="utf-8").count("run")


def test_a_build_makes_both_notebooks_and_leaves_work_alone(clone):
    solved, learners = made(clone)
    assert b"return 4" in solved and b"return 4" not in learners and b'"None\\n"' in learners
    assert (clone / "work/97_tiny.ipynb").read_text(encoding="utf-8") == "mine"
    assert "A tiny one" in (clone / "README.md").read_text(encoding="utf-8")
    assert runs(clone) == 2


@pytest.mark.every_setting("three builds of a chapter")
def test_a_changed_sentence_runs_nothing_and_changed_code_its_notebook_only(clone):
    before = made(clone)
    write(clone, CHAPTER.replace("A tiny one", "A small one"))
    bare_clone.command(clone, "build", "97")
    assert runs(clone) == 2 and all(b"A small one" in new for new in made(clone))
    write(clone, CHAPTER.replace("return 4", "return 2 + 2"))
    bare_clone.command(clone, "build", "97")
    assert runs(clone) == 3 and b"return 2 + 2" in made(clone)[0]
    write(clone, CHAPTER)
    (clone / PATHS[1]).write_bytes(before[1].replace(b'"None\\n"', b'"4\\n"'))
    bare_clone.command(clone, "build", "97")
    assert runs(clone) == 5 and made(clone) == before, "outputs changed by hand are not kept"


@pytest.mark.every_setting("a chapter that does not run, in a build")
def test_a_chapter_that_does_not_run_leaves_both_notebooks_as_they_were(clone):
    before = made(clone)
    write(clone, CHAPTER.replace("print(my_sum())", "print(my_sum() + 1)"))  # only the learner's stub breaks: None + 1
    answer = bare_clone.command(clone, "build", "97")
    assert answer.returncode == 1 and "notebooks/97_tiny.ipynb does not run" in answer.stderr
    assert made(clone) == before


@browser.needs_chromium
@pytest.mark.every_setting("a build that draws the README's picture")
def test_a_build_draws_the_readmes_picture_anew_where_its_figure_has_changed(clone):
    picture = clone / moving_picture.PICTURE.relative_to(repository.ROOT)
    picture.write_bytes(b"of another figure")
    assert bare_clone.command(clone, "build", "97").returncode == 0
    assert moving_picture.digest_of(first_figure.html()) in picture.read_bytes()


# --- what outputs depend on -------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A clone whose files the digest reads."""
    for module in (needed_files, repository):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    for function in (needed_files.files_named_in_file, needed_files.files_of_module):
        monkeypatch.setattr(needed_files, function.__name__, function.__wrapped__)  # nothing kept from other files
    return bare_clone.copy(tmp_path)


@pytest.mark.any_chapter
@pytest.mark.parametrize(
    "name, counts",
    [
        ("course_utils/live/vectors.py", True),  # imported by what the chapter imports
        ("course_utils/live/masking.js", True),  # in the figures that it shows
        ("course_utils/live/maps.js", True),  # in what those share
        ("course_utils/training_bar.py", False),  # chapter 7's
        ("course_utils/exercises/chapter_3.py", True),
        ("course_utils/exercises/chapter_3.toml", True),
        ("course_utils/exercises/exercise.py", True),
        ("course_utils/exercises/chapter_7.py", False),
        ("course_tools/grading/batch.py", False),
        ("requirements.txt", True),
        ("tests/requirements.txt", False),
    ],
)
def test_outputs_depend_on_the_files_behind_the_code(files, name, counts):
    cells = stored.read(stored.PATHS[2]).cells
    before = code_digest.code_digest(cells, 3)
    with open(files / name, "a", encoding="utf-8") as file:
        file.write("\nchanged")
    assert (code_digest.code_digest(cells, 3) != before) == counts


@pytest.mark.any_chapter
def test_outputs_depend_on_code_and_not_on_words():
    cells = stored.read(stored.PATHS[2]).cells
    before = code_digest.code_digest(cells, 3)
    words, code = ([cell for cell in cells if cell.cell_type == kind] for kind in ("markdown", "code"))
    words[0].source += " More."
    assert code_digest.code_digest(cells, 3) == before
    for change in ({"source": "1"}, {"id": "another"}, {"metadata": {"tags": ["raises-exception"]}}):
        changed = [cell | change if cell is code[-1] else cell for cell in cells]
        assert code_digest.code_digest(changed, 3) != before, change
    assert code_digest.code_digest(cells[::-1], 3) != before


# --- mistakes ---------------------------------------------------------------------------------------------------------

CHECK = '# %% name="check-9-1"\ncheck("9.1", my_sum)\n'


@pytest.mark.parametrize(
    "old, new, sentence",
    [
        ("#     summary: nothing\n", "", "must begin with a header that sets summary"),
        ('name="first"', 'name="the first"', "may contain only lowercase letters"),
        ('name="first"', 'name="exercise-97-1"', "change one"),
        ("    ### END SOLUTION\n", "", "a solution mark without its partner"),
        ("\n\nprint(my_sum())\n", f"\n\n{CHECK}", "needs text that begins with `### Exercise 9.1 ·"),
    ],
)
def test_a_mistake_in_the_source_is_one_sentence(tmp_path, old, new, sentence):
    source = tmp_path / "97_tiny.py"
    assert old in CHAPTER
    source.write_text(CHAPTER.replace(old, new), encoding="utf-8")
    with pytest.raises(SystemExit, match=re.escape(sentence)) as end:
        chapter.notebooks(source, "")
    assert "\n" not in str(end.value)


def test_an_unknown_chapter_is_one_sentence():
    with pytest.raises(SystemExit, match="solutions/ has no chapter 42") as end:
        build.main(["42"])
    assert "\n" not in str(end.value)


def test_what_is_no_notebook_is_refused(tmp_path):
    source = tmp_path / "97_tiny.py"
    source.write_text(CHAPTER.replace('name="first"', 'name="first" tags="no list"'), encoding="utf-8")
    with pytest.raises(nbformat.ValidationError):
        chapter.notebooks(source, "")


# --- what is stored of outputs ----------------------------------------------------------------------------------------


def ran(*shown, **metadata):
    """A notebook of one cell that was run and showed these things: {kind: content}."""
    outputs = [nbformat.v4.new_output("display_data", each) for each in shown]
    cell = nbformat.v4.new_code_cell(outputs=outputs, metadata=metadata)
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("Words."), cell])


def kept(notebook):
    """What the cell of such a notebook shows."""
    return [output.data for output in notebook.cells[1].outputs]


@browser.needs_chromium
def test_a_live_figure_gets_its_still_and_no_other_output_does():
    figure = examples.figure("show_masking").html()
    notebook = ran({"text/html": "<p>words</p>"}, {"text/html": figure})
    still_pictures.add_still_pictures(notebook)
    words, live = kept(notebook)
    assert words == {"text/html": "<p>words</p>"}
    assert live["text/html"] != figure and still_pictures.STILL_PICTURE.sub("", live["text/html"]) == figure


def test_only_a_live_figure_needs_chromium_for_its_still(monkeypatch):
    monkeypatch.setattr(still_pictures, "CHROMIUM", None)
    still_pictures.add_still_pictures(ran({"text/html": "<p>words</p>"}))
    with pytest.raises(SystemExit, match="need Chromium; to install it: .*playwright install chromium"):
        still_pictures.add_still_pictures(ran({"text/html": examples.figure("show_masking").html()}))


def test_widgets_that_no_kernel_would_answer_are_not_stored():
    notebook = ran({still_pictures.WIDGET_VIEW: {"model_id": "x"}}, {"text/plain": "4"})
    notebook.metadata.widgets = {"x": {}}
    still_pictures.remove_widgets(notebook)
    assert kept(notebook) == [{"text/plain": "4"}] and "widgets" not in notebook.metadata


def test_a_picture_is_stored_with_the_words_of_its_cell():
    notebook = ran({"image/png": "x"}, {"text/plain": "4"}, shows="a map")
    notebooks.add_alt_texts(notebook)
    assert [output.metadata for output in notebook.cells[1].outputs] == [{"image/png": {"alt": "a map"}}, {}]
