"""What holds for every stored notebook: in step with its source, complete, readable without a network."""

import ast
import copy
import functools
import io
import itertools
import re
import statistics
import tokenize
from decimal import Decimal
from urllib.parse import urlsplit

import nbformat
import pytest
from PIL import Image, ImageSequence

from course_tools import first_figure, links, repository
from course_tools.build import chapter, moving_picture
from course_tools.build import notebooks as build
from course_tools.repository import ROOT
from tests.support import stored

SOURCES = repository.sources()
each_source = pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
each_notebook = pytest.mark.parametrize("path", stored.PATHS, ids=stored.name)
BADGES = ("https://colab.research.google.com/assets/colab-badge.svg",)


# --- in step with the source ----------------------------------------------------------------------------------------


def unexecuted(notebook):
    """What a build makes of the source before running it: the notebook without outputs, and without their digests."""
    notebook = copy.deepcopy(notebook)
    for digest in ("outputs", "code"):
        notebook.metadata.source.pop(digest, None)
    for cell in stored.code_cells(notebook):
        cell.outputs, cell.execution_count = [], None
    return notebook


@each_source
def test_both_notebooks_are_what_a_build_makes_of_the_source(source):
    for path, made in chapter.notebooks(source, repository.address()).items():
        assert unexecuted(stored.read(path)) == unexecuted(made), (
            f"{stored.name(path)}: run python3 -m course_tools build"
        )


@each_notebook
def test_stored_outputs_are_those_of_the_build(path):
    notebook = stored.read(path)
    assert build.outputs_digest(notebook) == notebook.metadata.source.outputs, "changed by hand: build again"


@each_source
def test_a_build_makes_the_same_cells_again(source):
    first, second = (list(chapter.notebooks(source, "").values()) for _ in range(2))
    assert first == second


@each_source
def test_saving_the_solved_notebook_in_jupyterlab_gives_back_the_source(source):
    import jupytext

    config = jupytext.config.load_jupytext_config(str(source))
    notebook = jupytext.read(source.with_suffix(".ipynb"), config=config)
    assert jupytext.writes(notebook, fmt="py:percent", config=config) == source.read_text(encoding="utf-8")


def exercises(notebook):
    """(number in the heading, cell to fill in, cell that checks, cell after that) of every exercise."""
    cells = [*notebook.cells, None]
    for place, heading in enumerate(notebook.cells):
        if heading.cell_type == "markdown" and (
            found := re.search(r"^### Exercise (\S+) ·", heading.source, re.MULTILINE)
        ):
            yield found[1], *cells[place + 1 : place + 4]


@each_source
def test_learners_get_a_stub_for_every_exercise_and_no_solution(source):
    solved, learners = chapter.notebooks(source, "").values()
    numbers = [number for number, *_ in exercises(solved)]
    chapter_number = int(source.name[:2])
    assert numbers == [f"{chapter_number}.{k + 1}" for k in range(len(numbers))], (
        f"{source.name}: number the exercises in the order of their headings, from {chapter_number}.1 on and without a "
        f"gap; there are {len(numbers)}, so the last one is {chapter_number}.{len(numbers)}"
    )
    assert numbers == [number for number, *_ in exercises(learners)]
    for (number, worked, tried, explained), (_, stub, check, _) in zip(exercises(solved), exercises(learners)):
        place = number.replace(".", "-")
        assert worked.id == stub.id == f"exercise-{place}" and tried.id == check.id == f"check-{place}"
        call = check.source
        assert call in [f'check("{number}", {name})' for name in definitions(worked.source)]
        hidden = f'### BEGIN HIDDEN TESTS\nassert {call}.status == "right"\n### END HIDDEN TESTS\n'
        assert tried.source == hidden + call
        assert chapter.SOLUTION.search(worked.source), f"{worked.id} has no solution between its marks"
        assert "..." in stub.source and len(stub.source) < len(worked.source)
        assert "solution" in explained.metadata.get("tags", []), f"explain the solution after {worked.id}"
    assert "SOLUTION" not in "".join(cell.source for cell in learners.cells)
    with_solutions = [cell.id for cell in solved.cells if "SOLUTION" in cell.source]
    assert with_solutions == [cell.id for _, cell, *_ in exercises(solved)]


@each_source
def test_the_words_name_the_minutes_that_the_rule_gives(source):
    _, learners = chapter.notebooks(source, "").values()
    minutes = learners.metadata.source.minutes
    sentence = f"About {minutes} minutes"
    assert sentence in stored.prose(learners), (
        f"{source.name}: write '{sentence}' at its beginning (90 are the most), and build again"
    )


@each_source
def test_no_later_cell_uses_a_learners_name(source):
    solved, _ = chapter.notebooks(source, "").values()
    for _, worked, tried, _ in exercises(solved):
        for name in definitions(worked.source):
            assert re.match("my_|My", name), f"{worked.id}: call it my_{name}"
            users = [cell.id for cell in stored.code_cells(solved) if re.search(rf"\b{name}\b", cell.source)]
            assert [id for id in users if not id.startswith("try-")] == [worked.id, tried.id]


@each_source
def test_solved_notebooks_are_right_everywhere_and_learners_not_attempted(source):
    solved, learners = (stored.read(path) for path in chapter.notebooks(source, ""))
    for notebook, mark in [(solved, "✓"), (learners, "○")]:
        for cell in stored.code_cells(notebook):
            if re.fullmatch(r"(check|question)-\d+-\d+", cell.id):
                assert stored.printed(cell).startswith(mark), cell.id


@each_source
def test_cells_carry_what_nbgrader_needs(source):
    for notebook in chapter.notebooks(source, "").values():
        marks = [cell.metadata.nbgrader for cell in notebook.cells if "nbgrader" in cell.metadata]
        assert len({mark.grade_id for mark in marks}) == len(marks)
        for number, worked, tried, _ in exercises(notebook):
            assert worked.metadata.nbgrader.solution and not worked.metadata.nbgrader.grade
            assert tried.metadata.nbgrader.grade and tried.metadata.nbgrader.points > 0, number


def test_every_chapter_has_its_source_and_both_notebooks():
    stems = [
        {path.stem for path in (ROOT / where).glob(f"*{kind}")}
        for where, kind in [("solutions", ".py"), ("solutions", ".ipynb"), ("notebooks", ".ipynb")]
    ]
    assert stems[0] == stems[1] == stems[2] and stems[0]


def test_every_chapter_has_the_same_setup_cell():
    assert len({cell.source for path in stored.PATHS for cell in stored.read(path).cells if cell.id == "setup"}) == 1


def test_the_readmes_picture_plays_the_first_figure_of_the_site_once_within_five_seconds():
    stored_bytes = moving_picture.PICTURE.read_bytes()
    assert moving_picture.digest_of(first_figure.html()) in stored_bytes, "build any chapter: it is drawn anew"
    assert len(stored_bytes) <= 300_000
    picture = Image.open(moving_picture.PICTURE)
    durations = [frame.info["duration"] for frame in ImageSequence.Iterator(picture)]
    assert len(durations) > 15 and sum(durations) <= 5000 and "loop" not in picture.info
    assert f"]({repository.relative(moving_picture.PICTURE)})" in (ROOT / "README.md").read_text(encoding="utf-8")


def definitions(code):
    """{name: source, without types} of the classes and functions that a Python text or a cell defines at its top."""
    code = re.sub(r"(?m)^( *)%", r"\1# %", code)  # a magic is no Python
    found = [node for node in ast.parse(code).body if isinstance(node, (ast.ClassDef, ast.FunctionDef))]
    return {node.name: without_types(ast.get_source_segment(code, node)) for node in found}


def without_types(source):
    """The code without annotations, which cells leave out, in one layout; and its comments."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        elif isinstance(node, ast.arg):
            node.annotation = None
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = [token.string for token in tokens if token.type == tokenize.COMMENT]
    return ast.unparse(tree), [comment for comment in comments if not comment.startswith("# type: ignore")]


def shown(path):
    """(name, source) of every definition in a stored notebook."""
    for cell in stored.code_cells(stored.read(path)):
        yield from definitions(cell.source).items()


@functools.cache
def shared():
    """{name: source} of what chapters build and later ones import: all of a file that holds one such thing."""
    names = {name for path in stored.PATHS for name, _ in shown(path)}
    found = {}
    for path in [*(ROOT / "course_utils").glob("*.py"), *(ROOT / "course_utils/attention").glob("*.py")]:
        there = definitions(path.read_text(encoding="utf-8"))
        found |= there if there.keys() & names else {}
    return found


@each_notebook
def test_a_class_that_a_chapter_shows_is_the_one_that_later_chapters_import(path):
    for name, source in shown(path):
        assert shared().get(name, source) == source, f"course_utils holds another {name}"


@pytest.mark.parametrize("folder", ["notebooks", "solutions"])
def test_every_shared_class_is_built_in_exactly_one_chapter(folder):
    names = [name for path in stored.PATHS if path.parent.name == folder for name, _ in shown(path)]
    assert sorted(name for name in names if name in shared()) == sorted(shared())


# --- complete -------------------------------------------------------------------------------------------------------


@each_notebook
def test_every_code_cell_was_run_in_order_without_errors(path):
    cells = stored.code_cells(stored.read(path))
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    for cell in cells:
        wanted = "raises-exception" in cell.metadata.get("tags", [])
        assert any(output.output_type == "error" for output in cell.outputs) == wanted, cell.id


@each_notebook
def test_what_answers_a_question_is_stored_and_comes_after_it(path):
    notebook = stored.read(path)
    ids = [cell.id for cell in notebook.cells]
    for id, question in stored.answering(notebook).items():
        asked = question.replace("Q", "question-").replace(".", "-")
        assert asked in ids[: ids.index(id)], f"{id}: its tag names {question}, which is not asked above it"
        assert stored.cell(path, id).outputs, f"{id} shows nothing: take its tag away"


@each_notebook
def test_only_measured_times_escape_the_comparison(path):
    for cell in stored.code_cells(stored.read(path)):
        if any(tag.startswith("nbval") for tag in cell.metadata.get("tags", [])):
            assert cell.id.startswith("time-")
            pictures = all("image/png" in output.get("data", {}) for output in cell.outputs)
            assert pictures or "timeit" in cell.source, f"{cell.id}: only a measured time may differ from run to run"


@each_notebook
def test_nothing_is_stored_that_belongs_to_one_session(path):
    notebook = stored.read(path)
    assert "widgets" not in notebook.metadata
    assert "widget-view" not in path.read_text(encoding="utf-8")
    assert not any("execution" in cell.metadata for cell in notebook.cells)
    assert path.stat().st_size < 500_000


MARK = re.compile(r"(\d+[.)]|[-+*>]|#+) ")


def broken_by_wrapping(words):
    """The lines that begin a list, a heading or a quotation in the middle of a paragraph."""
    lines = re.sub(r"```.*?```", "", words, flags=re.DOTALL).splitlines()
    for before, line in itertools.pairwise(lines):
        if MARK.match(line) and before.strip() and not MARK.match(before) and not before.startswith(" "):
            yield line


@each_source
def test_no_wrapped_line_becomes_a_list(source):
    notebook = stored.read(source.with_suffix(".ipynb"))
    words = (cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    assert [line for each in words for line in broken_by_wrapping(each)] == []


def test_a_wrapped_line_that_becomes_a_list_is_noticed():
    assert list(broken_by_wrapping("draws between 0 and\n1. **Step 1: project.**")) == ["1. **Step 1: project.**"]
    assert list(broken_by_wrapping("Two ways:\n\n* one, which\n  goes on\n* two\n\n1. first\n2. second")) == []


# --- readable -------------------------------------------------------------------------------------------------------


@each_source
def test_cells_are_short(source):
    cells = [cell for cell in stored.code_cells(stored.read(source.with_suffix(".ipynb"))) if cell.id != "setup"]
    lengths = [len(cell.source.splitlines()) for cell in cells]
    assert 3 <= statistics.median(lengths) <= 6, f"{source.name}: code cells should have a median of 3 to 6 lines"
    for cell, length in zip(cells, lengths):
        assert length <= 20 or "class " in cell.source, f"{cell.id} has {length} lines"
        assert max(map(len, cell.source.splitlines())) <= 100, f"{cell.id} has lines that do not fit on a page"


COLUMNS = re.compile(r"\d\.\d.*\s.*\d\.\d|\S {3,}\S")  # numbers side by side, or what is padded to stand in columns


def too_wide(text):
    """The lines of printed tables that a laptop's cell would break. (Sentences and lists may break.)"""
    return [line for line in text.splitlines() if len(line) > 88 and COLUMNS.search(line)]


@each_notebook
def test_printed_tables_fit_a_laptops_cell(path):
    for cell in stored.code_cells(stored.read(path)):
        for output in cell.outputs:
            assert output.output_type != "stream" or too_wide(output.text) == [], cell.id


def test_a_table_that_breaks_would_be_noticed():
    row = "float32 " + " ".join(["0.0957"] * 12)
    assert too_wide(row) == [row] and too_wide("sentence " * 12) == []


@each_notebook
def test_every_figure_has_alt_text_and_its_message_in_words(path):
    notebook = stored.read(path)
    shown = 0
    for cell, following in zip(notebook.cells, [*notebook.cells[1:], {"source": ""}]):
        for _, alt in stored.pictures(cell) if cell.cell_type == "code" else []:
            shown += 1
            assert len(alt.split()) >= 10, f"{cell.id} needs alt text"
        if cell.id.endswith("-live") or cell.cell_type == "code" and list(stored.pictures(cell)):
            words = following.get("cell_type") == "markdown" and not following["source"].startswith("#")
            assert words, f"say after {cell.id} what its figure shows"
    assert shown or not list(exercises(notebook)), "a chapter with exercises draws at least one figure"


@each_notebook
def test_no_picture_comes_from_the_network(path):
    words = stored.prose(stored.read(path))
    pictures = re.findall(r"!\[[^\]]*\]\(([^)\s]+)", words) + re.findall(r"""<img[^>]+src=["']([^"']+)""", words)
    assert [target for target in pictures if urlsplit(target).scheme and target not in BADGES] == []


def documents():
    """(file, its Markdown) of all pages and notebooks whose links people follow."""
    for path in stored.PATHS:
        yield path, stored.prose(stored.read(path))
    for page in ["README.md", "course_tools/grading/README.md", "colab_links.md"]:
        yield ROOT / page, (ROOT / page).read_text(encoding="utf-8")


def headings(markdown):
    """The anchors that GitHub and JupyterLab make of headings."""
    for heading in re.findall(r"^#+ (.*)$", markdown, re.MULTILINE):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize(
    "path, markdown", list(documents()), ids=lambda part: part.stem if hasattr(part, "stem") else ""
)
def test_relative_links_lead_somewhere(path, markdown):
    for target in stored.links(markdown):
        if urlsplit(target).scheme:
            continue
        file, _, anchor = target.partition("#")
        file = file.removeprefix(f"../../blob/{links.PUBLISHED}/")  # on GitHub: the same file on that branch
        place = (path.parent / file).resolve() if file else path
        assert place.exists(), f"{target} leads nowhere"
        if anchor:
            text = markdown if place == path else place.read_text(encoding="utf-8")
            assert anchor in headings(text), f"{target} has no such heading"


def unsupported_numbers(words, cells):
    """Numbers with two or more decimals that the words name and no code cell shows, up to rounding.

    Versions are none: test_torch_versions measures what chapters say of them.
    """
    number = re.compile(r"(?<![\w.])(?<!PyTorch\s)(?<!PyTorch\s\d.\d\d to )(?:\d+\.\d+e-?\d+|\d+\.\d{2,})(?!\w)")
    shown = [Decimal(found) for cell in cells for found in number.findall(f"{cell.source}\n{stored.told(cell)}")]
    for found in number.findall(words):
        digits = Decimal(found)
        if not any(value.quantize(digits) == digits for value in shown):
            yield found


@each_source
def test_every_number_in_the_words_stands_in_an_output(source):
    solved = stored.read(source.with_suffix(".ipynb"))
    unsupported = list(unsupported_numbers(stored.prose(solved), stored.code_cells(solved)))
    assert not unsupported, f"{source.name}: no output shows these numbers: {unsupported}. Correct them, or print them."


def test_a_number_that_no_output_shows_would_be_noticed():
    cells = [nbformat.v4.new_code_cell("x", outputs=[nbformat.v4.new_output("stream", text="tensor([0.1240, 0.5])")])]
    words = "0.1240, rounded 0.12, not 0.13, in 3 lines (PyTorch 2.11 to 2.15)"
    assert list(unsupported_numbers(words, cells)) == ["0.13"]
