"""The repository's address: one place to set it, everywhere in agreement, nothing re-executed."""

import json
import re

import pytest

from course_tools import repository
from course_tools.build import chapter
from course_tools.commands import links
from course_tools.links import LINK_TARGETS
from tests.support import bare_clone, stored


def set_links(clone, *arguments):
    """Run the links command in a clone."""
    return bare_clone.command(clone, "links", *arguments)


@pytest.fixture
def clone(tmp_path):
    """A clone without an address and with git, but without a remote."""
    bare_clone.copy(tmp_path)
    bare_clone.git(tmp_path, "init", "-q")
    run(tmp_path, "links.set_everywhere('')")
    return tmp_path


def run(clone, statement):
    """Run a statement with the links module of a clone."""
    imports = "from course_tools import links, repository"
    assert bare_clone.python(clone, "-c", f"{imports}; {statement}").returncode == 0


def contents(folder):
    """The text of every file that may hold the address."""
    files = [path for pattern in ("*.*", "notebooks/*", "solutions/*") for path in folder.glob(pattern)]
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in files if path.is_file()}


def test_this_repository_is_in_agreement_with_its_address(tmp_path):
    before = contents(bare_clone.copy(tmp_path))
    run(tmp_path, "links.set_everywhere(repository.address())")
    assert contents(tmp_path) == before


def test_without_an_address_there_are_no_badges(clone):
    texts = contents(clone)
    assert "https://colab.research.google.com" not in "".join(texts.values())
    for path in stored.PATHS:
        assert 'REPOSITORY = \\"\\"' in texts[repository.relative(path)]


def test_without_an_address_the_page_still_says_how_each_chapter_opens_in_colab(clone):
    page = (clone / "colab_links.md").read_text(encoding="utf-8")
    (here, there) = re.search(r"replace\s+`(\S+)` with `(\S+)`", page).groups()
    paths = re.findall(r"\| `(notebooks/\S+)` \|", page)
    assert "choose File > Open notebook > GitHub" in " ".join(page.split())
    assert paths == [repository.relative(path) for path in stored.LEARNERS]
    for path in [*paths, *(path.replace("notebooks", "solutions") for path in paths)]:
        on_github = f"https://github.com/ada/attention-course/blob/main/{path}"
        on_colab = LINK_TARGETS["colab"].format(owner="ada", repo="attention-course", branch="main", path=path)
        assert (clone / path).is_file() and on_github.replace(here, there) == on_colab


def test_the_first_cell_takes_the_address_that_the_page_says_to_write_there(clone):
    page = (clone / "colab_links.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"`(REPOSITORY = \S+)` in the first code cell", page)
    for path in stored.LEARNERS:
        first = next(cell for cell in stored.code_cells(stored.read(clone / repository.relative(path))))
        assert f"{line}  #" in first.source and "git+https://github.com/{REPOSITORY}\n" in first.source


@pytest.mark.every_setting("the address of a published course")
def test_with_an_address_saving_in_jupyterlab_still_gives_back_the_source(clone):
    import jupytext

    set_links(clone, "ada/attention-course")
    for path in map(repository.relative, repository.sources()):
        source = clone / path
        config = jupytext.config.load_jupytext_config(str(source))
        notebook = jupytext.read(source.with_suffix(".ipynb"), config=config)
        assert jupytext.writes(notebook, fmt="py:percent", config=config) == source.read_text(encoding="utf-8"), path


@pytest.mark.every_setting("the address of a published course")
def test_one_command_sets_the_address_everywhere(clone):
    before = contents(clone)
    done = set_links(clone, "ada/attention-course")
    assert done.returncode == 0 and "https://github.com/ada/attention-course" in done.stdout
    after = contents(clone)
    (page,) = {text for name, text in after.items() if name == "colab_links.md"}
    for path in map(repository.relative, stored.PATHS):
        address = f"https://colab.research.google.com/github/ada/attention-course/blob/main/{path}"
        cells = json.loads(after[path])["cells"]
        assert address in "".join(cells[0]["source"])
        assert any('REPOSITORY = "ada/attention-course"' in "".join(cell["source"]) for cell in cells)
        assert address in page
        for place in ("mybinder.org", "kaggle.com", "git-pull"):
            assert place in page
    assert 'repository = "ada/attention-course"' in after["pyproject.toml"]
    assert "colab.research.google.com" in after["README.md"]

    set_links(clone, "grace/other-name")
    assert "ada/attention-course" not in "".join(contents(clone).values())
    assert set_links(clone, "ada/attention-course").returncode == 0 and contents(clone) == after
    assert {name for name in after if after[name] != before.get(name)} == {
        "pyproject.toml",
        "README.md",
        "colab_links.md",
        *map(repository.relative, stored.PATHS),
        *map(repository.relative, repository.sources()),
    }


@pytest.mark.every_setting("the address of a published course")
def test_nothing_is_re_executed_and_a_build_would_agree(clone):
    set_links(clone, "ada/attention-course")
    for source in repository.sources():
        made = chapter.notebooks(clone / "solutions" / source.name, "ada/attention-course")
        for path, notebook in made.items():
            new, old = stored.read(clone / repository.relative(path)), stored.read(path)
            assert [cell.source for cell in new.cells] == [cell.source for cell in notebook.cells]
            assert [cell.id for cell in new.cells] == [cell.id for cell in old.cells]
            assert new.metadata == old.metadata and new.metadata.source.sha256 == notebook.metadata.source.sha256
            assert [c.outputs for c in stored.code_cells(new)] == [c.outputs for c in stored.code_cells(old)]


@pytest.mark.every_setting("the address of a published course")
def test_without_a_name_the_git_remote_gives_the_address(clone):
    bare_clone.git(clone, "remote", "add", "origin", "git@github.com:ada/course.git")
    assert "https://github.com/ada/course\n" in set_links(clone).stdout


@pytest.mark.parametrize("url", ["https://github.com/ada/course.git", "ssh://git@github.com/ada/course"])
def test_a_git_remote_may_be_written_in_other_ways(url):
    assert links.REMOTE.search(url)["name"] == "ada/course"


def test_without_a_name_and_a_remote_there_is_one_sentence(clone):
    before = contents(clone)
    answer = set_links(clone)
    assert answer.returncode == 1 and re.fullmatch(r"This clone has no remote on GitHub.*OWNER/REPO\n", answer.stderr)
    assert contents(clone) == before


@pytest.mark.parametrize(
    "name", ["ada", "https://github.com/ada/course", "ada/course/x", "ada/course.git", "", 'ada/"x']
)
def test_a_name_that_is_no_address_changes_nothing(clone, name):
    before = contents(clone)
    answer = set_links(clone, name)
    assert answer.returncode == 1 and "OWNER/REPO" in answer.stderr and answer.stderr.count("\n") == 1
    assert contents(clone) == before


@pytest.mark.parametrize("line", ["", 'repository = ""\nrepository = ""'])
def test_where_the_address_has_no_one_place_nothing_is_changed(clone, line):
    pyproject = clone / "pyproject.toml"
    pyproject.write_text(
        re.sub(r"(?m)^repository = .*$", lambda found: line, pyproject.read_text(encoding="utf-8")), encoding="utf-8"
    )
    before = contents(clone)
    done = set_links(clone, "somebody/course")
    assert done.returncode == 1 and "should hold one line" in done.stderr
    assert contents(clone) == before
