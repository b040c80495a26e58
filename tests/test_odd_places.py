"""The commands where people run them: in odd folders, from a zip, as another user, without a home, in other encodings.

The clone here has no history, as a zip has none. Its environment lies in it, and where root runs the tests both belong
to a user who may do little: what works for root says little of others.
"""

import os
import re
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.support import bare_clone, handed_in, places, sandboxes, server

TINY = """# ---
# jupyter:
#   course:
#     summary: nothing
# ---

# %% [markdown]
# # Chapter 97 · Zoë

# %% name="first"
print("Zoë ✓")
"""
# what is told of a setting: changes of the environment, and what else subprocess is told
SETTINGS = {
    "umask 077, the locale C, a home that cannot be written": ({"LC_ALL": "C", "HOME": "read-only"}, {"umask": 0o077}),
    "a terminal of CP1252": ({"PYTHONIOENCODING": "cp1252"}, {}),
}
AT_ONCE, CP1252 = SETTINGS
PASSED_ON = ("PATH", "SYSTEMROOT", "TEMP", "TMP")


class Place:
    """A clone in an odd folder with its own environment. `settings`: those of SETTINGS that a command is run in."""

    def __init__(self, folder):
        self.clone = bare_clone.copy(places.odd_place(folder, places.KURS))
        self.python = places.environment(self.clone)
        (folder / "home").mkdir()
        places.give(folder)
        (folder / "read-only").mkdir(mode=0o555)
        self.foreign = bare_clone.copy(places.odd_place(folder, "somebody's"))
        (self.foreign / "solutions/97_zoo.py").write_text(TINY, encoding="utf-8")
        for at, _, _ in os.walk(self.foreign):
            os.chmod(at, 0o555)
        self.folder = folder

    def given(self, setting):
        """What subprocess is told: the setting's environment, who runs it, and how."""
        changes, more = SETTINGS[setting]
        kept = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        home, libraries = self.folder / changes.get("HOME", "home"), self.clone / "python/lib"  # Python's own
        own = {"HOME": str(home), "LD_LIBRARY_PATH": str(libraries)}
        return {"env": kept | changes | own, **more, **places.NOBODY}

    def run(self, setting, *arguments):
        """Run one of the course's commands to its end, as bytes in whatever encoding."""
        command = [self.python, "-m", "course_tools", *arguments]
        return subprocess.run(command, cwd=self.clone, capture_output=True, **self.given(setting))


@pytest.fixture(scope="module")
def place():
    """One for all tests here, in a folder that others may enter."""
    folder = Path(tempfile.mkdtemp(prefix="places-"))
    folder.chmod(0o755)
    yield Place(folder)
    for at, _, _ in os.walk(folder):
        os.chmod(at, 0o755)
    shutil.rmtree(folder)


LONG = pytest.mark.in_matrix("odd places")
NO_UTF_8 = pytest.mark.every_setting("a machine that knows no UTF-8")
OTHERS = pytest.mark.every_setting("commands in an odd folder")


def settings(*soon):
    """Parametrise with all settings: those named here run with --all, the others in the matrix."""
    each = [pytest.param(name, marks=OTHERS if name in soon else LONG) for name in SETTINGS]
    return pytest.mark.parametrize("setting", each)


def worked(done):
    """What a command said that ended well and without complaints."""
    said = done.stdout.decode(errors="replace")
    assert done.returncode == 0 and b"Traceback" not in done.stderr, said + done.stderr.decode(errors="replace")
    return said


@settings(AT_ONCE)
def test_grade_protects_and_grades(place, setting):
    sandboxes.skip_without(sandboxes.BEST)
    said = worked(place.run(setting, "grade", "--doctor"))
    assert said.startswith("Protection: on.") and "gets 9 points and an untouched one 0, as expected" in said


@settings()
def test_grade_grades_a_class_with_names_of_all_kinds(place, setting):
    sandboxes.skip_without(sandboxes.BEST)
    right = handed_in.packed(handed_in.notebook({"3.2": handed_in.RIGHT}))
    name = f"class of {setting}"
    zipped = handed_in.zipped({f"Zoë 李 🎓/{handed_in.NAME}": right, f"Ann/{handed_in.NAME}": right})
    (place.clone / f"{name}.zip").write_bytes(zipped)
    out = f"grades of {name}"
    said = worked(place.run(setting, "grade", f"{name}.zip", "--out", out, "--chapters", "3", "--workers", "1"))
    assert "2 of 2 submissions were graded" in said
    table = (place.clone / out / "totals.csv").read_text(encoding="utf-8-sig")
    assert "Zoë 李 🎓" in table and table.count(",2,9,") == 2
    if "umask" in SETTINGS[setting][1]:
        open_to_all = [path for path in (place.clone / out).rglob("*") if stat.S_IMODE(path.lstat().st_mode) & 0o077]
        assert open_to_all == []


@settings()
def test_links_are_set(place, setting):
    worked(place.run(setting, "links", "owner/repo"))
    assert "owner/repo" in (place.clone / "colab_links.md").read_text(encoding="utf-8")
    worked(place.run(setting, "links", "owner/other"))
    assert "owner/repo" not in (place.clone / "colab_links.md").read_text(encoding="utf-8")


def test_without_a_remote_links_asks_for_the_address(place):
    done = place.run(AT_ONCE, "links")
    assert done.returncode == 1 and done.stderr.count(b"\n") == 1 and b"Give the address" in done.stderr


OTHER_COMMANDS = [
    pytest.param(arguments, marks=pytest.mark.every_setting("other commands"))
    for arguments in (["build", "97"], ["site"], ["lab", "--no-browser"])
]


@pytest.mark.parametrize("arguments", [["links", "a/b"], *OTHER_COMMANDS])
def test_in_a_clone_of_somebody_else_a_command_is_one_sentence(place, arguments):
    command = [place.python, "-m", "course_tools", *arguments]
    done = subprocess.run(command, cwd=place.foreign, capture_output=True, **place.given(CP1252))
    assert done.returncode == 1 and done.stderr.count(b"\n") == 1 and b"Permission denied" in done.stderr, done.stderr


@settings()
def test_tests_run(place, setting):
    """Also one that asks which names of files the grader's protection shows, where each has the word "course" in it."""
    files = ["tests/test_minutes.py", "tests/test_sandbox_hostile.py"]
    said = worked(place.run(setting, "test", "-n", "0", *files, "-k", "stars or minutes or sees_only_python"))
    assert re.search(r"\d passed", said)


@settings(AT_ONCE)
def test_lab_opens(place, setting):
    with server.lab(place.clone, python=place.python, **place.given(setting)) as (process, address):
        assert "/lab/tree/work/01_" in address
        process.terminate()
        process.wait(timeout=30)
    assert "Traceback" not in (place.clone / "lab.log").read_text(encoding="utf-8")


@settings()
def test_a_chapter_is_built(place, setting):
    (place.clone / "solutions/97_zoo.py").write_text(TINY, encoding="utf-8")
    for made in place.clone.glob("*/97_zoo.ipynb"):
        made.unlink()
    worked(place.run(setting, "build", "97"))
    assert "Zoë ✓" in (place.clone / "notebooks/97_zoo.ipynb").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["links", "a/b"], marks=NO_UTF_8),
        *(pytest.param(each, marks=LONG) for each in (["build", "97"], ["site"])),
    ],
)
def test_a_machine_that_knows_no_utf_8_makes_the_same(arguments, tmp_path):
    """Its files, streams and names are in ASCII, so that whatever forgets to name an encoding fails."""
    clone = bare_clone.copy(tmp_path)
    (clone / "solutions/97_zoo.py").write_text(TINY, encoding="utf-8")
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": ""}
    done = bare_clone.command(clone, *arguments, env=os.environ | ascii_only)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done


@settings()
def test_the_site_is_made(place, setting):
    worked(place.run(setting, "site", f"site of {setting} 🎓"))
    pages = place.clone / f"site of {setting} 🎓"
    assert "Hiding the future" in (pages / "03_hiding_the_future.html").read_text(encoding="utf-8")
