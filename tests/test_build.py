"""The build command: the same bytes again, nothing else touched, nothing half done."""

import subprocess
import sys

import pytest

from tests.support import bare_clone

CHAPTER = """# ---
# jupyter:
#   course:
#     minutes: 1
#     summary: nothing
#     title: A tiny one
# ---

# %% [markdown]
# # Chapter 9 · A tiny one

# %% name="first"
print(1 + 1)

# %% name="exercise-9-1"
def my_sum():
    \"\"\"Two and two.\"\"\"
    ### BEGIN SOLUTION
    return 4
    ### END SOLUTION


print(my_sum())
"""


@pytest.fixture
def clone(tmp_path):
    """A clone with a tiny chapter 9 and a learner's file."""
    bare_clone.copy(tmp_path)
    (tmp_path / "solutions/09_tiny.py").write_text(CHAPTER, encoding="utf-8")
    (tmp_path / "work").mkdir(exist_ok=True)
    (tmp_path / "work/09_tiny.ipynb").write_text("mine")
    return tmp_path


def build(clone, *arguments):
    """Run the build command in a clone."""
    command = [sys.executable, "-m", "course_utils", "build", *arguments]
    return subprocess.run(command, cwd=clone, capture_output=True, text=True)


def made(clone):
    """The bytes of both notebooks of chapter 9."""
    return [(clone / folder / "09_tiny.ipynb").read_bytes() for folder in ("solutions", "notebooks")]


def test_a_second_build_makes_the_same_bytes_and_leaves_work_alone(clone):
    assert build(clone, "9").returncode == 0
    first = made(clone)
    assert b"return 4" in first[0] and b"return 4" not in first[1] and b'"None\\n"' in first[1]
    assert build(clone, "9").returncode == 0 and made(clone) == first
    assert (clone / "work/09_tiny.ipynb").read_text() == "mine"
    assert "A tiny one" in (clone / "README.md").read_text(encoding="utf-8")


def test_a_chapter_that_does_not_run_leaves_both_notebooks_as_they_were(clone):
    build(clone, "9")
    before = made(clone)
    # only the learner's stub breaks: None + 1
    source = CHAPTER.replace("print(my_sum())", "print(my_sum() + 1)")
    (clone / "solutions/09_tiny.py").write_text(source, encoding="utf-8")
    answer = build(clone, "9")
    assert answer.returncode == 1 and "notebooks/09_tiny.ipynb does not run" in answer.stderr
    assert made(clone) == before


@pytest.mark.parametrize(
    "old, new, sentence",
    [
        ("#     minutes: 1\n", "", "must begin with a header that sets minutes, summary, title"),
        ('name="first"', 'name="the first"', "may hold only small letters"),
        ('name="first"', 'name="exercise-9-1"', "Give one of them another name"),
        ("    ### END SOLUTION\n", "", "a mark without its partner"),
    ],
)
def test_a_mistake_in_the_source_is_one_sentence(clone, old, new, sentence):
    (clone / "solutions/09_tiny.py").write_text(CHAPTER.replace(old, new), encoding="utf-8")
    answer = build(clone, "9")
    assert answer.returncode == 1 and sentence in answer.stderr and answer.stderr.count("\n") == 1
    assert not (clone / "notebooks/09_tiny.ipynb").exists()


def test_an_unknown_chapter_is_one_sentence(clone):
    answer = build(clone, "42")
    assert answer.returncode == 1 and answer.stderr.startswith("There is no chapter 42")
