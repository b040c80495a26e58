"""Whatever the instructor's files and those of an earlier run hold: a sentence that names the file, or a whole run."""

import random
import shutil

import pytest

from course_tools.commands import grade
from course_tools.grading import batch
from course_tools.grading.assignment import ADJUSTMENTS_FILE, ASSIGNMENT_FILE
from course_tools.grading.last_run import LAST_RUN_FILE
from course_tools.grading.output_folder import LIST_OF_CLAIMED_FILES
from course_tools.grading.platforms.gradescope import Gradescope
from course_tools.grading.reports import REPORTS_FOLDER, GradedExercise, Report, save_with_checksum
from course_utils.exercises import EXERCISES
from course_utils.judging.result import NOT_YET, RIGHT, Result
from tests.support.handed_in import NAME, lay
from tests.test_platforms import CANVAS, MOODLE

ASSIGNMENT = 'chapters = [3]\nlate_percent = 10\n[points]\n"3.1" = 4\n"3.3" = 0.5\n'
ADJUSTMENTS = (
    'student,exercise,points,comment,excused,regrade\njane,3.3,1.5,half,,\njohn,,2,"for a, b",,\njim,3.1,,,yes,\n'
)
LIST_FILE = Gradescope.list_file
DEEP = 100_000
LONG = "9" * 5000  # more digits than Python turns into a number

# --- damage that suits any file ---------------------------------------------------------------------------------------

DAMAGE = {
    "empty": lambda content: b"",
    "a BOM": lambda content: b"\xef\xbb\xbf" + content.removeprefix(b"\xef\xbb\xbf"),
    "a BOM alone": lambda content: b"\xef\xbb\xbf",
    "UTF-16": lambda content: content.decode("utf-8-sig").encode("utf-16"),
    "half of UTF-16": lambda content: content.decode("utf-8-sig").encode("utf-16")[:-1],
    "an older encoding": lambda content: content.replace(b"a", b"\xe4"),
    "NUL bytes": lambda content: content.replace(b"3", b"\0"),
    "only NUL bytes": lambda content: bytes(len(content)),
    "line ends of old Macs": lambda content: content.replace(b"\r\n", b"\n").replace(b"\n", b"\r"),
    "twice": lambda content: 2 * content,
    "an open quote": lambda content: content + b'"',
    "one long field": lambda content: content + b"x" * 200_000,
    "deep": lambda content: b"[" * DEEP,
    "deep below a name": lambda content: b'{"student":' * DEEP,
    "a picture": lambda content: b"\x89PNG\r\n\x1a\n\0\0",
    **{f"JSON {text}": lambda content, text=text: text.encode() for text in ("[]", "{}", "3", "null", '"x"', "NaN")},
    **{f"cut to {k}/4": lambda content, k=k: content[: len(content) * k // 4] for k in (1, 2, 3)},
    **{f"flipped {k}": lambda content, k=k: flipped(content, random.Random(k)) for k in range(6)},
    **{f"digits for {k}": lambda content, k=k: numbers_replaced(content, k) for k in ("nan", "-1e999", "1e-999", LONG)},
}


def flipped(content, chance):
    """Some bytes changed."""
    changed = bytearray(content)
    for _ in range(chance.randint(1, 5)):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def numbers_replaced(content, text):
    """Every digit replaced."""
    return b"".join(text.encode() if chr(byte).isdigit() else bytes([byte]) for byte in content)


def folder_instead(path):
    """A folder with something in it takes the place of a file."""
    path.unlink()
    lay(path, {"mine": b"kept"})


def loop_instead(path):
    """A link to itself takes the place of a file."""
    path.unlink()
    path.symlink_to(path.name)


PLACES = {"a folder in its place": folder_instead, "a link to itself": loop_instead}


# --- the command ------------------------------------------------------------------------------------------------------


def at_once(task, limits):
    """A report, without what takes seconds to start. Half is right."""
    graded = [
        GradedExercise(Result(id, each.title, RIGHT if each.points > 1 else NOT_YET, "said", each.points))
        for id, each in EXERCISES.items()
    ]
    return Report(task.student, graded, task.remarks, "Protection: on.", task.digest, late=True), {}


@pytest.fixture
def run(tmp_path, capsys, monkeypatch):
    """Run the command on a class of three: (whether it succeeded, its last words)."""
    monkeypatch.setattr(batch, "grade_in_own_process", at_once)
    monkeypatch.setattr(grade.environment, "run_with_environment", lambda *arguments: None)
    lay(tmp_path / "class", {f"{name}/{NAME}": b"{}" for name in ("jane", "john", "jim")})

    def go(*more):
        """What it printed is in go.said."""
        with pytest.raises(SystemExit) as end:  # a traceback is any other exception
            grade.main([str(tmp_path / "class"), "--out", str(tmp_path / "out"), "--workers", "1", *map(str, more)])
        go.said = capsys.readouterr().out
        return not end.value.code, str(end.value)

    return go


def ends_well(done, last, path):
    """Whether a run succeeded, or ended in one sentence that names this file or, of the list of files, those in it."""
    claimed = path.name == LIST_OF_CLAIMED_FILES and "no earlier run wrote: " in last
    return done or (path.name in last or claimed) and "\n" not in last and last.endswith(".") and len(last) < 500


def wrong_of_many(run, path, content, *more):
    """What damage to a file ends otherwise than in success or a sentence: [(damage, last words)]."""
    bad = []
    for name, damage in DAMAGE.items():
        path.write_bytes(damage(content))
        if not ends_well(*(told := run(*more)), path):
            bad.append((name, told))
    for name, replace in PLACES.items():
        path.write_bytes(content)
        replace(path)
        if not ends_well(*(told := run(*more)), path):
            bad.append((name, told))
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return bad


VALUES = [
    *("5", "-5", "0", "-0.0", "1e999", "-1e999", "nan", "-nan", "inf", "-inf", "1e-999", "1e300", "9" * 400, LONG),
    *("0x" + "F" * 5000, "true", "false", '""', '"x"', '"nan"', "1979-05-27", "07:32:00", "1979-05-27T07:32:00Z"),
    *("[]", "[3]", "[3.0]", "[true]", "[nan]", "[[3]]", '["3"]', "[3, 3]", "[{}]", "[99999999999999999999]"),
    *("{}", "{a = 1}", "{3.1 = 2}", '{"3.1" = [2]}', '{"3.1" = nan}', '{"3.1" = true}', '{"a\\nb" = 1}', "", "=", "x"),
]


@pytest.mark.parametrize("setting", ["chapters", "points", "late_percent", '"3.1"', '"\\u0000"', "a.b"])
def test_every_setting_takes_every_kind_of_value_or_a_sentence_names_the_file(setting, run, tmp_path):
    path, bad = tmp_path / ASSIGNMENT_FILE, []
    for value in VALUES:
        for text in (f"{setting} = {value}\n", f"chapters = [3]\n[points]\n{setting} = {value}\n"):
            path.write_text(text, encoding="utf-8")
            if not ends_well(*(told := run("--preview")), path) and "--chapters" not in told[1]:
                bad.append((text[:80], told))
    assert bad == []


@pytest.mark.parametrize("value", ["nan", "1e999", "true", '"2"', "-1", "1e7", "0x" + "F" * 5000])
def test_what_is_no_number_of_points_is_refused(value, run, tmp_path):
    (tmp_path / ASSIGNMENT_FILE).write_text(f'chapters = [3]\n[points]\n"3.1" = {value}\n', encoding="utf-8")
    done, last = run()
    assert not done and "points: '3.1' must be an exercise" in last and "a number of at least 0" in last


@pytest.mark.parametrize("value", ["nan", "inf", "1e999", "-1e999", "1e7", LONG, "1_0_", "½"])
def test_what_is_no_number_in_a_decision_is_refused(value, run, tmp_path):
    (tmp_path / ADJUSTMENTS_FILE).write_text(f"student,exercise,points\njane,3.1,{value}\n", encoding="utf-8")
    done, last = run("--chapters", 3)
    assert not done and "row 2: " in last and "is not a number of points" in last and len(last) < 500


@pytest.mark.parametrize(
    "text, words",
    [
        ("student,points,points\njane,1,2\n", "'points' is unknown or occurs twice"),
        ("student,points\njane,1,5\n", "row 2: too many fields"),
        ('student,comment\njane,"open\njohn,never read\n', "look for an unmatched quote"),
        ("student,points\n\n,\njane,x\n", "row 4: 'x'"),
        ("student,excused\njane,ja\n", "row 2: 'ja' under excused"),
        ("student,regrade\njane,no\njim,soon\n", "row 3: 'soon' under regrade"),
    ],
    ids=["a column twice", "a comma in a number", "an open quote", "empty rows are counted", "another yes", "a date"],
)
def test_a_decision_that_would_be_read_as_another_is_refused(text, words, run, tmp_path):
    (tmp_path / ADJUSTMENTS_FILE).write_text(text, encoding="utf-8")
    done, last = run("--chapters", 3)
    assert not done and words in last


@pytest.mark.parametrize(
    "file, content",
    [(ASSIGNMENT_FILE, ASSIGNMENT), (ADJUSTMENTS_FILE, ADJUSTMENTS)],
    ids=[ASSIGNMENT_FILE, ADJUSTMENTS_FILE],
)
def test_the_instructors_own_files_may_be_damaged(file, content, run, tmp_path):
    (tmp_path / file).write_text(content, encoding="utf-8")
    chapters = [] if file == ASSIGNMENT_FILE else ["--chapters", 3]
    done, last = run(*chapters, "--preview")
    assert done, last
    bad = wrong_of_many(run, tmp_path / file, content.encode(), *chapters, "--preview")
    assert [each for each in bad if "--chapters 3" not in each[1][1]] == []  # without a file they are asked for


def test_a_byte_order_mark_as_windows_writes_it_is_no_mistake(run, tmp_path):
    (tmp_path / ASSIGNMENT_FILE).write_text(ASSIGNMENT, encoding="utf-8-sig")
    assert run() == (True, "0")


@pytest.mark.parametrize("platform, content", [("canvas", CANVAS), ("moodle", MOODLE)], ids=["canvas", "moodle"])
def test_a_gradebook_may_be_damaged(platform, content, run, tmp_path):
    path = tmp_path / "exported.csv"
    path.write_bytes(content.encode())
    options = ["--chapters", 3, f"--{platform}", path]
    done, last = run(*options)
    assert done, last
    assert wrong_of_many(run, path, content.encode(), *options) == []


LIST = b"submission_1:\n  :submitters:\n  - :name: Jane Doe\n    :sid: '1001'\n    :email: jane@x.edu\n"


def test_what_a_gradebook_says_steers_no_terminal(run, tmp_path):
    (tmp_path / "c.csv").write_text("Student,ID,HW (1)\n\x1b[2JEve,9,\nJane,7,\x1b[31m\n", encoding="utf-8")
    done, _ = run("--chapters", 3, "--canvas", tmp_path / "c.csv")
    assert done and "[2JEve" in run.said and "[31m" in run.said and "\x1b" not in run.said


def test_a_list_of_students_may_be_damaged(run, tmp_path):
    path = lay(tmp_path / "class", {LIST_FILE: LIST, f"submission_1/{NAME}": b"{}"}) / LIST_FILE
    done, last = run("--chapters", 3, "--preview")
    assert done, last
    assert wrong_of_many(run, path, LIST, "--chapters", 3, "--preview", "--fewer") == []


@pytest.mark.parametrize("most", ["nan", "inf", "-inf", "1e999", "-5", "1e9", "x", LONG])
def test_highest_points_that_nobody_can_scale_to_are_refused(most, run, tmp_path):
    path = tmp_path / "exported.csv"
    path.write_text(f"Student,ID,Attention (5)\nPoints Possible,,{most}\njane,1,\n", encoding="utf-8")
    done, last = run("--chapters", 3, "--canvas", path)
    assert not done and "exported.csv cannot be filled: its maximum points" in last and len(last) < 500


# --- an earlier run ---------------------------------------------------------------------------------------------------


@pytest.mark.every_setting("files of an earlier run, damaged")
def test_whatever_an_earlier_run_left_may_be_damaged(run, tmp_path):
    out, options = tmp_path / "out", ["--chapters", 3]
    assert run(*options)[0]
    files = sorted(path for path in out.rglob("*") if path.is_file() and path.stem not in ("jim", "john"))
    before, bad = {path: path.read_bytes() for path in files}, []
    assert {path.name for path in files} >= {
        LAST_RUN_FILE,
        "jane.json",
        "grades.csv",
        "jane.html",
        LIST_OF_CLAIMED_FILES,
    }
    for path in files:
        for place, told in wrong_of_many(run, path, before[path], *options):
            bad.append((path.name, place, told))
        for other, content in before.items():
            other.write_bytes(content)
    assert bad == []


def test_a_damaged_report_is_graded_anew(run, tmp_path, monkeypatch):
    graded = []

    def counted(task, limits):
        graded.append(task.student.key)
        return at_once(task, limits)

    monkeypatch.setattr(batch, "grade_in_own_process", counted)
    run("--chapters", 3)
    assert sorted(graded) == ["jane", "jim", "john"]
    path = tmp_path / "out" / REPORTS_FOLDER / "jane.json"
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b'"max_points": 1', b'"max_points": "one"', 1))
    assert path.read_bytes() != whole and run("--chapters", 3)[0]
    assert graded[3:] == ["jane"] and path.read_bytes() == whole


@pytest.mark.parametrize("data", [[], {}, {"student": []}, {"student": {"ids": 3}}, {"lines": 3}], ids=repr)
def test_a_report_of_another_version_is_graded_anew(data, run, tmp_path):
    run("--chapters", 3)
    path = tmp_path / "out" / REPORTS_FOLDER / "jane.json"
    whole = path.read_bytes()
    save_with_checksum(path, data)
    assert run("--chapters", 3)[0] and path.read_bytes() == whole


def test_a_damaged_memory_of_the_last_run_is_told_once(run, tmp_path):
    run("--chapters", 3)
    (tmp_path / "out" / REPORTS_FOLDER / LAST_RUN_FILE).write_bytes(b"{")
    assert run("--chapters", 3)[0] and f"{LAST_RUN_FILE} is damaged or from an older version" in run.said
    assert run("--chapters", 3)[0] and LAST_RUN_FILE not in run.said
