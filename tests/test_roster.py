"""The roster: one file says whose numbers and logins are whose; no id and no name leads to somebody else."""

import csv
import json

import pytest

from course_tools.commands import grade
from course_tools.grading import assignment as rules
from course_tools.grading import batch, grading_run, roster
from course_tools.grading.class_summary import ClassSummary
from course_tools.grading.reports import GradedExercise, Report, Student
from course_tools.grading.submissions import submissions
from course_utils.exercises import EXERCISES
from course_utils.judging.result import NOT_ATTEMPTED, NOT_YET, RIGHT, Result
from tests.support.handed_in import NAME, lay

BOOK = b'{"cells": []}'
PEOPLE = """name,canvas,moodle,gradescope,login
Jane Doe,77,Participant 1177,j@x.edu,"jdoe, 4711"
Kim Lee,78,,,klee1
Kim Lee,79,,,klee2
Mia Poe,,,,
"""


@pytest.fixture
def people(tmp_path):
    """Lay a class and a roster: {name: (ids of the download, names of the files)} of all that were found."""

    def of(files, text=PEOPLE):
        lay(tmp_path, {roster.ROSTER_FILE: text.encode()})
        found = submissions(lay(tmp_path / "class", files), roster.read_roster(tmp_path / "class"))
        names = [each.student.name for each in found]
        assert len(set(names)) == len(names), names
        return {each.student.name: sorted(file.parts[0] for file in each.files) for each in found}

    return of


LIST = b"submission_11:\n  :submitters:\n  - :name: J. D.\n    :email: J@x.edu\n"
WAYS = {
    "Canvas": {f"doejane_77_4567_{NAME}": BOOK},
    "Canvas, late and in an odd file": {f"doejane_LATE_77_9001_5_6_{NAME}": BOOK},
    "Moodle": {f"J. Doe_1177_assignsubmission_file/{NAME}": BOOK},
    "Gradescope": {f"submission_11/{NAME}": BOOK, "submission_metadata.yml": LIST},
    "login": {f"jdoe/{NAME}": BOOK},
    "student number": {f"4711/{NAME}": BOOK},
    "name of a folder": {f"Doe, Jane/{NAME}": BOOK},
}


@pytest.mark.parametrize("way", WAYS)
def test_a_person_has_one_name_whatever_a_platform_calls_them(people, way):
    assert set(people(WAYS[way] | {f"somebody/{NAME}": BOOK})) == {"Jane Doe", "somebody"}


def test_what_somebody_handed_in_under_two_ids_is_one_submission(people):
    assert people({f"doejane_77_4567_{NAME}": BOOK, f"jdoe/{NAME}": BOOK, f"klee2/{NAME}": BOOK}) == {
        "Jane Doe": [f"doejane_77_4567_{NAME}", "jdoe"],
        "Kim Lee": ["klee2"],
    }


@pytest.mark.parametrize(
    "foreign",
    [
        {f"Jane Doe_666_assignsubmission_file/{NAME}": BOOK},  # calls herself so, with another number
        {f"mallory_5_78_9001_{NAME}": BOOK},  # names a file so that Kim's number stands where Canvas writes its own
        {f"Mia Poe_5_assignsubmission_file/{NAME}": BOOK, f"Mia Poe_6_assignsubmission_file/{NAME}": BOOK},
        {f"Kim Lee/{NAME}": BOOK},  # there are two
        {f"77/{NAME}": BOOK},  # a number of Canvas's is no login
    ],
    ids=["a name", "a file's name", "one name twice", "a name of two", "a number of another platform"],
)
def test_nobody_becomes_somebody_else_by_what_they_chose(people, foreign, tmp_path, capsys):
    own = {f"doejane_77_4567_{NAME}": BOOK, f"leekim_78_4568_{NAME}": BOOK}
    lay(tmp_path, {roster.ROSTER_FILE: PEOPLE.encode()})
    found = submissions(lay(tmp_path / "class", own | foreign), roster.read_roster(tmp_path / "class"))
    theirs = {each.student.accounts: len(each.files) for each in found if each.student.accounts}
    assert sorted(theirs.values()) == [1, 1]
    assert "The roster does not identify these students" in capsys.readouterr().err


def test_a_name_alone_makes_nobody_a_person_whose_number_is_known(tmp_path):
    lay(tmp_path, {roster.ROSTER_FILE: PEOPLE.encode()})
    folders = ["Jane Doe_666_assignsubmission_file", "Mia Poe_5_assignsubmission_file"]
    lay(tmp_path / "class", {f"{folder}/{NAME}": BOOK for folder in folders})
    found = submissions(tmp_path / "class", roster.read_roster(tmp_path / "class"))
    assert {each.student.name: bool(each.student.called) for each in found} == {"Jane Doe": False, "Mia Poe": True}


@pytest.mark.parametrize(
    "text, words",
    [
        ("name,canvas\nJane Doe,77\nJohn Roe,77\n", "row 3: 77 is already an id of Jane Doe"),
        ("name,gradescope,login\nJane Doe,j@x.edu,\nJohn Roe,,J@X.edu\n", "J@X.edu is already an id of Jane Doe"),
        ("name,moodle\nJane Doe,77\nJohn Roe,Participant 77\n", "is already an id of Jane Doe"),
        ("name\nJane Doe\nJane Doe\n", "Jane Doe occurs twice"),
        ("name,canvas\n,77\n", "row 2: it needs a name"),
        (
            "name,matrix\nJane,7\n",
            "column 'matrix' is unknown.* the columns are name, canvas, gradescope, moodle, login",
        ),
        ("name,canvas\nJane,7,8\n", "too many fields"),
        ("name\nM\udcfcller\n", "save this file as UTF-8"),
    ],
)
def test_a_roster_that_makes_no_sense_is_refused_in_a_sentence(tmp_path, text, words):
    (tmp_path / roster.ROSTER_FILE).write_text(text, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(SystemExit, match=words) as end:
        roster.read_roster(tmp_path / "class")
    assert "\n" not in str(end.value)


# --- from downloads to tables -----------------------------------------------------------------------------------------


POINTS = {"right": RIGHT, "wrong": NOT_YET, "stub": NOT_ATTEMPTED}


@pytest.fixture
def go(tmp_path, monkeypatch, capsys):
    """Run the command here, with every submission graded by the first word of its notebook: what it said."""

    def graded(task, limits):
        text = task.files[0][1].decode().split()[:1] if task.files else []
        status = POINTS.get(*text, NOT_ATTEMPTED) if text else NOT_ATTEMPTED
        results = [Result(id, each.title, status, "said", each.points) for id, each in EXERCISES.items()]
        graded = list(map(GradedExercise, results))
        remarks = [*task.remarks, *([] if text else ["No notebook."])]
        return Report(task.student, graded, remarks, "Protection: on.", task.digest, task.late), {}

    monkeypatch.setattr(batch, "grade_in_own_process", graded)
    monkeypatch.setattr(grade.environment, "run_with_environment", lambda *arguments: None)

    def run(files, *arguments):
        lay(tmp_path, files)
        own = [str(tmp_path / "class"), "--out", str(tmp_path / "out"), "--workers", "1", "--unsandboxed"]
        with pytest.raises(SystemExit) as end:
            grade.main([*own, *([] if "assignment.toml" in files else ["--chapters", "3"]), *map(str, arguments)])
        return "".join([*capsys.readouterr(), str(end.value)])

    return run


def table(path):
    """The rows of a CSV file."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


HIGHEST = sum(each.points for each in EXERCISES.values() if each.chapter == 3)
CLASS = {
    f"class/doejane_77_4567_{NAME}": b"right",
    f"class/leekim_78_4568_{NAME}": b"wrong",
    f"class/leekim_79_4569_{NAME}": b"stub",
    "class/x_80_link.html": b"https://colab.research.google.com/drive/1",
}


def test_tables_pages_and_adjustments_speak_of_people_by_their_names(go, tmp_path):
    files = {"roster.csv": PEOPLE.encode(), "adjustments.csv": b'student,points\n"Doe, Jane",2\nklee2,1\nKim Lee,5\n'}
    said = go(CLASS | files)
    totals = {row["page"]: (row["student"], row["points"]) for row in table(tmp_path / "out/totals.csv")}
    assert totals == {
        "feedback/doejane-77.html": ("Jane Doe", str(HIGHEST + 2)),
        "feedback/leekim-78.html": ("Kim Lee", "0"),
        "feedback/leekim-79.html": ("Kim Lee", "1"),
        "feedback/x-80.html": ("x", "0"),
    }
    assert "<h1>Jane Doe</h1>" in (tmp_path / "out/feedback/doejane-77.html").read_text(encoding="utf-8")
    assert "Kim Lee could be 2 students" in said and "The roster does not identify these students" in said


def test_a_name_as_the_gradebook_has_it_is_found_in_the_adjustments_without_a_roster(go, tmp_path):
    book = b'Student,ID,SIS Login ID,A (5)\n"Doe, Jane M.",77,jdoe,\n'
    files = {"exported.csv": book, "adjustments.csv": b'student,points\n"Doe, Jane M.",2\n'}
    assert "Jane M." not in go(CLASS | files, "--canvas", tmp_path / "exported.csv").replace("becomes", "")
    (row,) = [row for row in table(tmp_path / "out/totals.csv") if row["student"] == "doejane"]
    assert row["points"] == str(HIGHEST + 2)


def test_a_roster_that_comes_later_grades_nobody_again(go, tmp_path, monkeypatch):
    go(CLASS)
    monkeypatch.setattr(batch, "grade_in_own_process", None)
    go({"roster.csv": PEOPLE.encode()})
    assert "Jane Doe" in {row["student"] for row in table(tmp_path / "out/totals.csv")}


def test_a_number_in_the_roster_finds_the_row_of_a_platform_that_the_download_is_not_from(go, tmp_path):
    files = {f"class/jdoe/{NAME}": b"right", f"class/other/{NAME}": b"wrong", "roster.csv": PEOPLE.encode()}
    book = b'Student,ID,A (5)\n"Points Possible",,9\n"Doe, Jane Maria",77,\n"Jdoe, Other",5,\n'
    go(files | {"exported.csv": book}, "--canvas", tmp_path / "exported.csv")
    assert b'"Doe, Jane Maria",77,9\n"Jdoe, Other",5,\n' in (tmp_path / "out/exported.csv").read_bytes()


def test_a_login_in_the_roster_finds_the_row_of_a_platform_that_the_download_is_not_from(go, tmp_path):
    files = {
        f"class/J. D._1177_assignsubmission_file/{NAME}": b"right",
        "roster.csv": b"name,moodle,login\nJD,1177,jdoe\n",
    }
    book = b'Student,ID,SIS Login ID,A (5)\n"Points Possible",,,9\n"Doe, Jane",77,jdoe,\n'
    go(files | {"exported.csv": book}, "--canvas", tmp_path / "exported.csv")
    assert b'"Doe, Jane",77,jdoe,9\n' in (tmp_path / "out/exported.csv").read_bytes()


def test_who_has_no_points_stands_in_a_table_with_the_reason(go, tmp_path):
    book = "Student,ID,A (5)\n" + "".join(f"Absent {k},{100 + k},\n" for k in range(6))
    files = {"roster.csv": PEOPLE.encode(), "exported.csv": book.encode()}
    go(
        CLASS | files | {"adjustments.csv": b"student,excused,comment\nklee1,yes,ill\n"},
        "--canvas",
        tmp_path / "exported.csv",
    )
    why = {(row["student"], row["ids"]): row["why"] for row in table(tmp_path / "out/no_points.csv")}
    assert why.pop(("Kim Lee", "78")) == "Your instructor excused you from this assignment: it does not count. ill"
    assert why.pop(("Kim Lee", "79")) == "None of the exercises that count was answered."
    assert why.pop(("x", "80")) == "No notebook. None of the exercises that count was answered."
    assert why.pop(("Mia Poe", "")).startswith("No submission was found")
    assert [name for name, _ in why] == [f"Absent {k}" for k in range(6)]


GROUP = LIST + b"  - :name: Kim Lee\n    :sid: klee1\n"


def test_points_of_a_group_reach_each_of_them(go, tmp_path):
    files = {f"class/submission_11/{NAME}": b"right", "class/submission_metadata.yml": GROUP}
    book = b'Student,ID,SIS Login ID,A (5)\n"Doe, Jane",1,J@x.edu,\n"Lee, Kim",2,klee1,\n'
    go(files | {"exported.csv": book}, "--canvas", tmp_path / "exported.csv")
    assert {row["student"]: row["points"] for row in table(tmp_path / "out/totals.csv")} == {
        "J. D.": str(HIGHEST),
        "Kim Lee": str(HIGHEST),
    }
    assert f"J@x.edu,{HIGHEST}\n".encode() in (tmp_path / "out/exported.csv").read_bytes()


def test_answers_of_a_group_are_alike_by_right():
    lines = {"3.1": [f"line {k} = {k}" for k in range(9)]}
    for file, pairs in [("submission_11", 0), ("", 1)]:
        students = [Student("a", "Jane", file=file), Student("b", "Kim", file=file)]
        graded = [GradedExercise(Result("3.1", "Average", RIGHT, "said", 1))]
        reports = [Report(student, graded, [], "Protection: on.", "a b", lines=lines) for student in students]
        assignment = rules.Assignment([3])
        found = ClassSummary([(report, assignment.grade_of(report)) for report in reports])
        assert len(found.similar_pairs) == pairs


WORKSHEET = (
    "Identifier,Full name,Status,Grade,Maximum grade\n"
    'Participant 5,Jane Doe,"Submitted for grading - 2 hours 5 mins late",,10.00\n'
    "Participant 6,Plate Later,Submitted for grading,,10.00\n"
)


def test_moodles_late_submissions_lose_what_canvas_late_ones_lose(go, tmp_path):
    files = {
        f"class/Jane Doe_5_assignsubmission_file/{NAME}": b"right",
        f"class/Plate Later_6_assignsubmission_file/{NAME}": b"right",
        "assignment.toml": b"chapters = [3]\nlate_percent = 50\n",
        "worksheet.csv": WORKSHEET.encode(),
    }
    go(files)
    assert {row["points"] for row in table(tmp_path / "out/totals.csv")} == {str(HIGHEST)}
    go(files, "--moodle", tmp_path / "worksheet.csv")
    found = {row["student"]: (row["points"], row["late"]) for row in table(tmp_path / "out/totals.csv")}
    assert found == {"Jane Doe": (str(HIGHEST / 2).removesuffix(".0"), "yes"), "Plate Later": (str(HIGHEST), "")}


SENT = '{{"created_at": "2026-03-0{}T12:00:00-07:00", "assignment": {{"due_date": {}}}}}'


@pytest.mark.parametrize(
    "sent, late",
    [
        (SENT.format(2, '"2026-03-01T23:00:00-08:00"'), "yes"),
        (SENT.format(1, '"2026-03-01T23:00:00-08:00"'), ""),
        (SENT.format(2, "null"), ""),
        (None, ""),
    ],
)
def test_gradescopes_late_submissions_too_and_without_walls_the_result_says_that_there_is_no_private_seed(
    go, tmp_path, sent, late
):
    files = {"assignment.toml": b'chapters = [3]\nlate_percent = 50\nseed = "autumn"\n', f"class/jane/{NAME}": b"right"}
    files |= {"submission_metadata.json": sent.encode()} if sent else {}
    monkey = pytest.MonkeyPatch()
    monkey.setattr(grading_run, "protection", lambda unsandboxed: grading_run.Protection.NONE)
    go(files, "--gradescope")
    monkey.undo()
    (row,) = table(tmp_path / "out/totals.csv")
    assert row["late"] == late
    results = json.loads((tmp_path / "out/results.json").read_text(encoding="utf-8"))
    assert results["score"] == HIGHEST / (2 if late else 1)
    assert "No private seed" in results["output"]


def test_names_in_a_roster_steer_nothing(go, tmp_path):
    hostile = ["<script>alert(1)</script>", "=HYPERLINK(1)", "../../etc/passwd", "a\x1b[31mb\x00"]
    text = "name,login\n" + "".join(f'"{name}",s{k}\n' for k, name in enumerate(hostile)) + "=cmd,../../up\n"
    said = go({f"class/s{k}/{NAME}": b"stub" for k in range(4)} | {"roster.csv": text.encode()})
    assert "\x1b" not in said and "\x00" not in said
    for name in ("no_points.csv", "totals.csv"):
        content = (tmp_path / "out" / name).read_text(encoding="utf-8-sig")
        assert "'=HYPERLINK(1)" in content and ",=" not in content and "\n=" not in content
    pages = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "out").rglob("*.html"))
    assert "<script>" not in pages and "&lt;script&gt;" in pages
    assert {path.name for path in tmp_path.iterdir()} == {"class", "out", "roster.csv"}


def test_a_name_in_a_gradebook_steers_no_terminal_and_no_page(go, tmp_path):
    book = b'Student,ID,A (5)\n"<b>J\x1b[31m\x0c",77,\n=absent,5,\n'
    said = go(CLASS | {"exported.csv": book}, "--canvas", tmp_path / "exported.csv", "--oral")
    pages = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "out").rglob("*.html"))
    assert "<h1>&lt;b&gt;J" in pages and not set("\x1b\x0c") & set(said + pages)
    assert "'=absent" in (tmp_path / "out/no_points.csv").read_text(encoding="utf-8-sig")


def test_what_people_are_called_is_found_as_they_write_it():
    assignment = rules.Assignment([3], adjustments={"Doe, Jane": ["row"], "nobody": ["other"]})
    jane, twin = Student("k1", "Jane Doe"), Student("k2", "doejane")
    assert assignment.for_class([jane, twin]).adjustments_of(jane) == ["row"]
    for who in ("Doe, Jane", "Jane Doe"):  # one calls herself so, the gradebook calls the other one so
        rows = rules.Assignment([3], adjustments={who: ["row"]})
        both = rows.for_class([jane, twin], {"k2": "Doe, Jane"})
        assert both.adjustments_of(jane) == both.adjustments_of(twin) == []
        assert both.shared_names == {who: ["k1", "k2"]}
