"""What a push publishes: played for a new fork, in a copy, with nothing of GitHub's but the variable that names it."""

import os
import re
import shutil
import subprocess
import tomllib
import zipfile

import pytest
import yaml

from course_tools import repository
from course_tools.repository import ROOT
from course_utils.exercises import EXERCISES, solutions
from tests.support import bare_clone, stored

NAME = "ada/attention-course"


def publish(fork, target):
    """Run the command in a fork, as the workflow does."""
    return bare_clone.command(fork, "publish", target, env=os.environ | {"GITHUB_REPOSITORY": NAME})


def contents(folder):
    """{path: bytes} of all files below a folder."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


PUBLISHED = pytest.mark.every_setting("what a push publishes")


@pytest.fixture(scope="module")
def fork(tmp_path_factory):
    """A new fork: a clone with a commit, without an address."""
    folder = bare_clone.copy(tmp_path_factory.mktemp("push") / "fork")
    bare_clone.commit(folder)
    return folder


@pytest.fixture(scope="module")
def made(fork):
    """What a push of the fork publishes."""
    done = publish(fork, fork.parent / "made")
    assert done.returncode == 0, done.stdout + done.stderr
    return fork.parent / "made"


@pytest.mark.any_chapter
@PUBLISHED
def test_every_link_knows_the_fork_and_its_branch_and_the_fork_itself_is_untouched(fork, made):
    for path in map(repository.relative, stored.PATHS):
        address = f"https://colab.research.google.com/github/{NAME}/blob/published/{path}"
        assert address in (made / "course" / path).read_text(encoding="utf-8")
        assert address in (made / "course/colab_links.md").read_text(encoding="utf-8")
        if path.startswith("notebooks/"):
            page = (made / "site" / path.split("/")[1]).with_suffix(".html").read_text(encoding="utf-8")
            assert f'href="{address}"' in page
    assert subprocess.run(["git", "-C", fork, "status", "--porcelain"], capture_output=True).stdout == b""
    assert NAME not in "".join(text.decode(errors="ignore") for text in contents(fork / "notebooks").values())


@PUBLISHED
def test_the_copy_has_the_files_of_the_fork_and_nothing_that_was_left_by_making_it(fork, made):
    committed = subprocess.run(["git", "-C", fork, "ls-files", "-z"], capture_output=True, encoding="utf-8").stdout
    assert contents(made / "course").keys() == {*committed.split("\0")} - {""}


@pytest.mark.any_chapter
@PUBLISHED
def test_learners_notebooks_leave_out_what_answers_a_question_and_solved_ones_keep_it(fork, made):
    for path in stored.PATHS:
        original = stored.read(fork / repository.relative(path))
        left_out = dict.fromkeys(stored.answering(original), []) if path in stored.LEARNERS else {}
        assert stored.changed_outputs(stored.read(made / "course" / repository.relative(path)), original) == left_out
        if path in stored.LEARNERS:
            (download,) = (made / "site/_downloads").rglob(path.name)
            assert stored.changed_outputs(stored.read(download), original) == left_out


@PUBLISHED
def test_an_assistant_is_told_beside_the_notebooks_how_to_help(made):
    assert (made / "course/notebooks/AGENTS.md").read_bytes() == (ROOT / "notebooks/AGENTS.md").read_bytes()


@pytest.mark.any_chapter
@PUBLISHED
def test_every_notebook_installs_the_wheel_that_was_made_with_it(made):
    (wheel,) = made.glob("*.whl")
    version = tomllib.loads((made / "course/pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    url = f"https://github.com/{NAME}/releases/download/v{version}/{wheel.name}"
    for path in stored.PATHS:
        (setup,) = [c for c in stored.read(made / "course" / repository.relative(path)).cells if c.id == "setup"]
        assert f"%pip install -q --no-deps {url}\n" in setup.source


def what_is_read_of_chapters():
    """The worked answers as `solution` shows them, and what the cells of imports of their chapters make."""
    shown = {id: solutions.worked_answer(id) for id in EXERCISES}
    return shown, {each.chapter: set(solutions.imported.__wrapped__(each.chapter)) for each in EXERCISES.values()}


@pytest.mark.any_chapter
@PUBLISHED
def test_the_wheel_holds_what_solution_shows_and_no_other_cell(made, tmp_path, monkeypatch):
    (wheel,) = made.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(tmp_path)
    before = what_is_read_of_chapters()
    monkeypatch.setattr(solutions, "SOURCE_FOLDERS", [tmp_path / "course_utils/solutions"])
    assert what_is_read_of_chapters() == before
    packed = "".join(path.read_text(encoding="utf-8") for path in solutions.SOURCE_FOLDERS[0].iterdir())
    kinds = set(re.findall(r'(?m)^# %% (?:name="(\w+)[^"]*"|(.*))$', packed))
    assert kinds == {("imports", ""), ("exercise", ""), ("", '[markdown] tags=["solution"]')}


@pytest.mark.any_chapter
@PUBLISHED
def test_the_wheel_is_small(made):
    (wheel,) = made.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        numbers = packed.getinfo("course_utils/families/numbers.pt").compress_size
    assert wheel.stat().st_size - numbers < 350_000


@pytest.mark.any_chapter
@PUBLISHED
def test_the_wheel_holds_the_package_and_no_notebook(made):
    (wheel,) = made.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert not [name for name in names if name.endswith(".ipynb")]
    of_package = [
        path for path in (ROOT / "course_utils").rglob("*") if path.suffix in (".py", ".js", ".toml", ".html")
    ]
    assert {repository.relative(path) for path in of_package} <= set(names)


@pytest.mark.in_matrix("a second push")
def test_a_second_push_changes_nothing_where_nothing_changed_and_leaves_old_notebooks_their_wheel(fork, made):
    (old,) = made.glob("*.whl")
    (fork / "README.md").write_text("New words.\n", encoding="utf-8")
    bare_clone.git(fork, "commit", "-qam", "words")
    done = publish(fork, fork.parent / "words")
    assert done.returncode == 0, done.stdout + done.stderr
    before, after = contents(made), contents(fork.parent / "words")
    assert {name for name in before | after if before.get(name) != after.get(name)} == {"course/README.md"}

    (fork / "course_utils/validation.py").write_text("changed = True\n", encoding="utf-8")
    bare_clone.git(fork, "commit", "-qam", "code")
    assert version(fork) != old.name.split("-")[1]


def version(fork):
    """The version that the fork's next push has."""
    command = "from course_tools.commands import publish; print(publish.version())"
    return bare_clone.python(fork, "-c", command).stdout.strip()


def test_a_folder_with_something_in_it_is_refused(fork, tmp_path):
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    done = publish(fork, tmp_path)
    assert done.returncode == 1 and "already exists" in done.stderr and done.stderr.count("\n") == 1


def test_a_clone_without_its_history_is_refused(fork, tmp_path):
    bare_clone.git(tmp_path, "clone", "-q", "--depth", "1", fork.as_uri(), "shallow")
    done = publish(tmp_path / "shallow", tmp_path / "made")
    assert done.returncode == 1 and "--unshallow" in done.stderr and not (tmp_path / "made/course").exists()


def steps(job):
    """What a job of the workflow runs itself, in order."""
    workflow = yaml.safe_load((ROOT / ".github/workflows/publish.yml").read_text(encoding="utf-8"))
    return [step["run"] for step in workflow["jobs"][job]["steps"] if "run" in step]


def test_the_workflow_tests_before_it_makes_and_knows_the_whole_history():
    assert steps("make")[:2] == ["python3 -m course_tools test", "python3 -m course_tools publish made"]
    assert "fetch-depth: 0 " in (ROOT / ".github/workflows/publish.yml").read_text(encoding="utf-8")


GH = """#!/bin/sh
echo "$@" >> "$HOME/said"
test "$2" != view
"""


@pytest.mark.skipif(os.name == "nt", reason="the workflow publishes from Linux")
@PUBLISHED
def test_the_job_that_may_write_publishes_what_the_other_made_without_python(made, tmp_path):
    *_, pack = steps("make")
    there = tmp_path / "there/made"
    shutil.copytree(made, there)
    subprocess.run(["bash", "-euc", pack], cwd=there.parent, check=True)
    here = tmp_path / "here"
    (here / "made").mkdir(parents=True)
    for name in ("*.whl", "course.tar"):  # all that is handed over
        (found,) = there.glob(name)
        shutil.copy(found, here / "made")

    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("sh", "bash", "git", "tar", "cut", "basename", "mkdir"):
        (programs / name).symlink_to(shutil.which(name))
    (programs / "gh").write_text(GH, encoding="utf-8")
    (programs / "gh").chmod(0o755)
    bare = tmp_path / "published.git"
    subprocess.run(["git", "init", "-q", "--bare", bare], check=True)
    settings = f'[url "{bare.as_uri()}"]\n\tinsteadOf = https://github.com/{NAME}\n'
    (tmp_path / ".gitconfig").write_text(settings, encoding="utf-8")
    environment = {"PATH": str(programs), "HOME": str(tmp_path), "GITHUB_REPOSITORY": NAME, "GITHUB_SHA": "abc"}
    for step in steps("release"):
        subprocess.run(["bash", "-euc", step], cwd=here, env=environment, check=True)

    (wheel,) = made.glob("*.whl")
    version = wheel.name.split("-")[1]
    view, create, setup = (tmp_path / "said").read_text(encoding="utf-8").splitlines()
    assert view == f"release view v{version}" and setup == "auth setup-git"
    assert create.startswith(f"release create v{version} made/{wheel.name} --target abc ")
    listed = subprocess.run(
        ["git", "-C", bare, "ls-tree", "-r", "published"], capture_output=True, encoding="utf-8"
    ).stdout
    names = {line.split("\t")[1]: line.split()[0] for line in listed.splitlines()}
    assert names.keys() == {name for name in contents(made / "course")}
    assert names[".ci/run"] == "100755" and names[".binder/requirements.txt"] == "100644"


def test_the_changelog_begins_with_this_version():
    (newest, *_) = re.findall(r"(?m)^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert newest == repository.project()["project"]["version"]
