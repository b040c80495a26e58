"""What the grader writes: whose files it replaces, who may read them, and what they tell of the machine and to it."""

import csv
import json
import os
import socket
import subprocess
import sys
import time
import zipfile

import pytest

from course_tools.commands import grade
from course_tools.grading import batch, doctor, gradescope_autograder, grading_run, output_folder, reports
from course_tools.grading.assignment import Assignment
from course_tools.grading.sandbox import leftover_processes
from course_tools.grading.sandbox.protection import Protection
from course_tools.grading.sandbox.sandbox import Sandbox
from course_tools.repository import ROOT
from course_utils import files
from tests.support import handed_in, sandboxes
from tests.support.handed_in import NAME, lay, notebook, packed, zipped
from tests.support.processes import alive
from tests.support.sandboxes import sandbox  # noqa: F401
from tests.test_damaged_files import at_once

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="umask, locales and /proc are as on Linux")
GRADEBOOK = b"Student,ID,Attention (5)\nPoints Possible,,9\ndoejane,77,\n"
CANVAS = {f"doejane_77_1_{NAME}": b"{}", f"roejohn_78_2_{NAME}": b"{}"}


@pytest.fixture
def go(tmp_path, monkeypatch, capsys):
    """Run the command in this process on files that were handed in: (whether it succeeded, its last words)."""
    monkeypatch.setattr(batch, "grade_in_own_process", at_once)
    monkeypatch.setattr(grade.environment, "run_with_environment", lambda *arguments: None)

    def run(handed, *more):
        start, out = lay(tmp_path / "class", handed), tmp_path / "out"
        with pytest.raises(SystemExit) as end:
            grade.main(list(map(str, [start, "--out", out, "--chapters", 3, "--workers", 1, *more])))
        return not end.value.code, str(end.value) + capsys.readouterr().err

    return run


@pytest.fixture
def everything(tmp_path):
    """Options with which all is written that can be."""
    (tmp_path / "exported.csv").write_bytes(GRADEBOOK)
    return ["--canvas", tmp_path / "exported.csv", "--gradescope"]


def written(out):
    """{name: path} of all files in the output folder beside what is kept for the next run."""
    found = (path for path in out.rglob("*") if path.is_file() and reports.REPORTS_FOLDER not in path.parts)
    return {path.relative_to(out).as_posix(): path for path in found}


# --- whose files ------------------------------------------------------------------------------------------------------

WRITTEN = [
    *("grades.csv", "totals.csv", "summary.html", "feedback/doejane-77.html", "exported.csv", "canvas-feedback.zip"),
    "gradescope/roejohn-78/results.json",
]


def test_all_that_is_written_is_noted_as_the_graders_own(go, everything, tmp_path):
    assert go(CANVAS, *everything)[0]
    found = written(tmp_path / "out").keys()
    assert found >= set(WRITTEN)
    assert found == set(
        (tmp_path / "out" / reports.REPORTS_FOLDER / output_folder.LIST_OF_CLAIMED_FILES)
        .read_text(encoding="utf-8")
        .split("\n")
    )
    assert go(CANVAS, *everything)[0]


@pytest.mark.parametrize("name", WRITTEN)
def test_a_file_of_somebody_else_is_never_replaced(name, go, everything, tmp_path):
    mine = lay(tmp_path / "out", {name: b"mine"}) / name
    done, last = go(CANVAS, *everything)
    assert not done and f"contains files that no earlier run wrote: {name}. Move them away" in last
    assert "\n" not in last and mine.read_bytes() == b"mine" and written(tmp_path / "out").keys() == {name}
    assert go(CANVAS, *everything, "--preview")[0] and mine.read_bytes() == b"mine"
    mine.rename(tmp_path / "kept")
    assert go(CANVAS, *everything)[0]


def test_a_single_submissions_result_is_not_somebody_elses_either(go, tmp_path):
    mine = lay(tmp_path / "out", {"results.json": b"mine"}) / "results.json"
    done, last = go({f"jane/{NAME}": b"{}"}, "--gradescope")
    assert not done and "results.json" in last and mine.read_bytes() == b"mine"
    mine.unlink()
    assert go({f"jane/{NAME}": b"{}"}, "--gradescope")[0]
    assert json.loads(mine.read_text(encoding="utf-8"))["score"] and go({f"jane/{NAME}": b"{}"}, "--gradescope")[0]


def test_an_autograder_replaces_no_file(tmp_path):
    path = tmp_path / "autograder.zip"
    gradescope_autograder.write_autograder(path, Assignment([4]), 9)
    with zipfile.ZipFile(path) as made:
        assert b"chapters = [4]" in made.read("assignment.toml")
    before = path.read_bytes()
    with pytest.raises(SystemExit, match="already exists"):
        gradescope_autograder.write_autograder(path, Assignment([3]), 9)
    assert path.read_bytes() == before


# --- who may read them ------------------------------------------------------------------------------------------------


@LINUX
@pytest.mark.parametrize("umask, rights", [(0o077, 0o700), (0o027, 0o750), (0o022, 0o755)], ids=oct)
def test_who_may_read_grades_is_for_the_umask_to_say(umask, rights, go, everything, tmp_path):
    before = os.umask(umask)
    try:
        assert go(CANVAS, *everything)[0]
        gradescope_autograder.write_autograder(tmp_path / "out" / "autograder.zip", Assignment([3]), 9)
    finally:
        os.umask(before)
    found = [tmp_path / "out", *(tmp_path / "out").rglob("*")]
    assert {path.stat().st_mode & 0o777 for path in found if path.is_dir()} == {rights}
    assert {path.stat().st_mode & 0o777 for path in found if path.is_file()} == {rights & 0o666}


def test_a_file_that_cannot_be_replaced_is_named_and_nothing_is_left_beside_it(tmp_path):
    lay(tmp_path, {"page.html/mine": b""})
    with pytest.raises(OSError) as error:
        files.replace(tmp_path / "page.html", b"new")
    assert error.value.filename == str(tmp_path / "page.html")
    with pytest.raises(OSError) as error:
        files.replace(tmp_path / "missing" / "page.html", b"new")
    assert error.value.filename == str(tmp_path / "missing")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


# --- what they tell a spreadsheet -------------------------------------------------------------------------------------

SIGNS = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")
HOSTILE = ["+max", "@sum(1)", "-2+3", "=1+1", "'=1", "a;=1", "＝1", "a\t@b", '"+1']


@pytest.mark.skipif(os.name == "nt", reason="Windows allows no such names")
def test_no_field_of_any_table_begins_as_a_formula_does_and_pages_are_found_by_theirs(go, tmp_path):
    comment = "student,comment\n" + "".join(f'"{name}",=1+1\n' for name in HOSTILE if '"' not in name)
    (tmp_path / "adjustments.csv").write_text(comment, encoding="utf-8")
    assert go({f"{name}/{NAME}": b"{}" for name in HOSTILE})[0]
    out = tmp_path / "out"
    for table in ("grades.csv", "totals.csv"):
        text = (out / table).read_text(encoding="utf-8-sig")
        for delimiter in ",;\t":
            rows = list(csv.reader(text.splitlines(), delimiter=delimiter))
            assert len(rows) > len(HOSTILE)
            fields = [field.strip("\"' ") for row in rows for field in row if not field.lstrip('"').startswith("'")]
            assert not [field for field in fields if field.startswith(SIGNS)]
    with open(out / "totals.csv", encoding="utf-8-sig", newline="") as file:
        pages = [out / row["page"] for row in csv.DictReader(file)]
    assert len(pages) == len(HOSTILE) and all(page.is_file() for page in pages)


# --- what they tell of the machine ------------------------------------------------------------------------------------

NAMES_OF_MACHINE = """
import ctypes, os, platform, socket
def through_c():
    buffer = ctypes.create_string_buffer(1000)
    return ctypes.CDLL(None).uname(buffer) or buffer.raw[65:130].split(bytes(1))[0].decode()
def seen():
    found = []
    for find in (lambda: os.uname()[1], platform.node, socket.gethostname, os.sys.modules["posix"].uname, through_c):
        try:
            found.append(str(find()))
        except OSError as error:
            found.append(type(error).__name__)
    raise ValueError("|".join([*found, *os.environ.values()]))
"""


def test_no_answer_finds_the_name_of_the_machine(sandbox):
    said = sandboxes.look(sandbox, NAMES_OF_MACHINE)["message"].split("|")
    assert said[:2] == ["localhost", "localhost"] and len(said) >= 5
    assert not [words for words in said if socket.gethostname() in words.split("'")]


@pytest.fixture(scope="module")
def leaky(tmp_path_factory):
    """Pages, tables and results of an honest slip whose error names a file, and of one that names all there is."""
    paths = "[os.__file__, torch.__file__, sys.prefix, sys.executable, os.path.expanduser('~'), os.getcwd(), *sys.path]"
    lines = {
        "slip": "from torch.nn import Atention",
        "all": f"import os, sys\n    raise ValueError(' '.join({paths}))",
        "line": f"raise ValueError({str(ROOT)!r} + '/notes.txt')",
    }
    tmp_path = tmp_path_factory.mktemp("leaky")
    handed = {
        f"{name}/{NAME}": packed(notebook({"3.2": f"def my_causal_weights(scores):\n    {line}\n"}))
        for name, line in lines.items()
    }
    command = [
        sys.executable,
        "-m",
        "course_tools",
        "grade",
        lay(tmp_path / "class", handed),
        "--out",
        tmp_path / "out",
    ]
    options = ["--chapters", "3", "--workers", "1", "--gradescope", "--unsandboxed"]
    subprocess.run([*command, *options], cwd=ROOT, check=True)
    return {name: path.read_text(encoding="utf-8") for name, path in written(tmp_path / "out").items()}


def test_no_page_and_no_table_names_a_folder_of_the_machine(leaky):
    assert {"feedback/slip.html", "feedback/all.html", "grades.csv"} <= leaky.keys()
    assert "Atention" in leaky["feedback/slip.html"] and "…/torch/nn/__init__.py" in leaky["feedback/slip.html"]
    private = {str(ROOT), sys.prefix, os.path.expanduser("~"), *sys.path[1:]} - {"", "/", "/usr"}
    assert len(private) >= 3
    for name, text in leaky.items():
        assert not [folder for folder in private if folder in text], name


@pytest.mark.parametrize("home", ["/", "~"])
def test_without_a_home_of_its_own_nothing_else_is_cut(home, monkeypatch):
    monkeypatch.setattr(os.path, "expanduser", lambda path: home)
    reports.private_folders.cache_clear()
    try:
        assert reports.presentable("a / b ~ c/d") == "a / b ~ c/d"
        assert reports.presentable(f"in {ROOT}/x") == "in …/x"
    finally:
        reports.private_folders.cache_clear()


# --- names that a locale cannot show ----------------------------------------------------------------------------------

NAMES = ["Ünï", "李", "jane"]
C_LOCALE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "cp1252"}


@LINUX
@pytest.mark.parametrize(
    "packing", [pytest.param(each, marks=pytest.mark.every_setting("odd names")) for each in ("folder", "zip")]
)
def test_names_that_the_locale_cannot_show_come_out_as_they_are(packing, tmp_path):
    handed = {f"{name}/{NAME}": packed(notebook({"3.2": handed_in.RIGHT})) for name in NAMES}
    start = lay(tmp_path / "Kurs Ä", handed)
    if packing == "zip":
        start = lay(tmp_path, {"Kurs Ä.zip": zipped(handed)}) / "Kurs Ä.zip"
    out = tmp_path / "Noten Ä"
    command = [sys.executable, "-m", "course_tools", "grade", start, "--out", out, "--chapters", "3", "--workers", "1"]
    for locale in (C_LOCALE, {"PYTHONUTF8": "1"}):  # the second run finds what the first one kept
        done = subprocess.run(
            [*command, "--gradescope", "--unsandboxed"], cwd=ROOT, env=os.environ | locale, capture_output=True
        )
        assert done.returncode == 0 and b"3 of 3 submissions" in done.stdout, done.stderr
        assert b"Changed points" not in done.stdout
        with open(out / "totals.csv", encoding="utf-8-sig", newline="") as file:
            assert {row["student"]: row["points"] for row in csv.DictReader(file)} == dict.fromkeys(NAMES, "2")
        for folder in ("feedback", "gradescope"):
            assert sorted(path.stem for path in (out / folder).iterdir()) == sorted(NAMES)


# --- what is left behind ----------------------------------------------------------------------------------------------

STRAY = """
def seen():
    import os, sys
    first = os.fork()
    if not first:
        os.setsid()
        if os.fork():
            os._exit(0)
        os.closerange(3, 1000)
        os.execv(sys.executable, [sys.executable, "-c", {code!r}])
    os.waitpid(first, 0)
    import time
    while not os.path.exists({mark!r}):
        time.sleep(0.01)
    return torch.tensor(1)
"""
REWRITES = """
import os, time
open({mark!r} + "-", "w").write(str(os.getpid()))
os.rename({mark!r} + "-", {mark!r})
time.sleep(1)
open({result!r}, "w").write("forged")
"""


@LINUX
@pytest.mark.every_setting("what an answer leaves running")
def test_without_protection_nothing_that_an_answer_leaves_running_outlives_it(tmp_path):
    mark, result = tmp_path / "mark", tmp_path / "result"
    code = STRAY.format(code=REWRITES.format(mark=str(mark), result=str(result)), mark=str(mark))
    with Sandbox(Protection.NONE) as bare:
        outcome = bare.run(["import torch", code], "seen", [sandboxes.LOOK], chapter=3)
    assert outcome.trouble is None and mark.exists()
    assert not alive(int(mark.read_text(encoding="utf-8")))
    result.write_text("mine", encoding="utf-8")
    time.sleep(1.5)
    assert result.read_text(encoding="utf-8") == "mine"


@LINUX
def test_what_was_there_before_is_left_alone(tmp_path):
    sleep = [sys.executable, "-c", "import time; time.sleep(60)"]
    with subprocess.Popen(sleep) as before:
        with leftover_processes.killed_afterwards():
            stray = subprocess.Popen(sleep, start_new_session=True)
        assert not alive(stray.pid) and before.poll() is None
        before.kill()
    stray.wait()


@LINUX
def test_results_are_written_when_nothing_runs_any_more_that_an_answer_has_started(go, tmp_path, monkeypatch):
    started, seen = [], []

    def leaves_one(task, limits):
        started.append(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True))
        return at_once(task, limits)

    monkeypatch.setattr(batch, "grade_in_own_process", leaves_one)
    monkeypatch.setattr(
        grading_run, "write_exports", lambda *what: seen.extend(alive(process.pid) for process in started)
    )
    assert go({f"jane/{NAME}": b"{}"}, "--gradescope", "--unsandboxed")[0]
    assert seen == [False]
    started.pop().wait()


def test_that_results_can_be_forged_without_protection_is_said_where_no_answer_runs(tmp_path, capsys, monkeypatch):
    said = gradescope_autograder.write_autograder(tmp_path / "autograder.zip", Assignment([3]), 9)
    assert "Without protection" in said and "can change its own result" in said
    page = (ROOT / "course_tools/grading/README.md").read_text(encoding="utf-8")
    assert "can change its own result" in page
    with zipfile.ZipFile(tmp_path / "autograder.zip") as made:
        assert b"grade --doctor --unsandboxed" in made.read("setup.sh")
    monkeypatch.setattr(doctor, "protection", lambda unsandboxed: Protection.NONE)
    monkeypatch.setattr(doctor, "graded_copy", lambda folder, limits: [])
    doctor.examine(grade.parser().parse_args(["--doctor", "--unsandboxed"]))
    assert f"{Protection.NONE} {doctor.RESULTS_CAN_BE_FORGED}" in capsys.readouterr().out
