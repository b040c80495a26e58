"""A class from the folder of downloads to the grades: nothing lost, nothing graded twice, nothing left behind."""

import contextlib
import csv
import errno
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections import Counter
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import replace

import pytest

from course_tools.commands import grade
from course_tools.grading import (
    batch,
    doctor,
    grading_process,
    grading_run,
    inside_grading_process,
    reports,
    workers,
)
from course_tools.grading.grading_process import Limits
from course_tools.grading.last_run import LAST_RUN_FILE, LastRun, table_of_changes
from course_tools.grading.progress import Progress
from course_tools.grading.sandbox.protection import Unprotected
from course_tools.grading.sandbox.sandbox import UNPROTECTED
from course_tools.grading.submissions import submissions
from course_tools.repository import ROOT
from course_utils.exercises import EXERCISES
from course_utils.judging.result import NOT_YET, Result
from course_utils.judging.result import RIGHT as RIGHT_ANSWER
from tests.support import bare_clone, handed_in
from tests.support.handed_in import NAME, lay, notebook, packed, zipped
from tests.support.processes import alive, descendants
from tests.support.sandboxes import BEST, skip_without

RIGHT, WRONG = (packed(notebook({"3.2": code})) for code in (handed_in.RIGHT, handed_in.WRONG))
CHAPTER = ["--chapters", "3"]
SAYS_NO_LETTER = 'def my_causal_weights(scores):\n    raise ValueError("\\ud800")\n'
SLEEPS = "def my_average():\n    import time\n    time.sleep(10**6)"
HANGS = packed(notebook({"3.1": SLEEPS, "3.2": handed_in.RIGHT}))


@pytest.fixture(autouse=True)
def protected():
    """These tests run strangers' code."""
    skip_without(BEST)


@pytest.fixture
def handed(tmp_path):
    """A class of six."""
    files = {f"s{k}/{NAME}": WRONG if k % 2 else RIGHT for k in range(6)}
    return lay(tmp_path / "class", files)


def go(*arguments, **more):
    """The command, in a process of its own."""
    command = [sys.executable, "-m", "course_tools", "grade", *map(str, arguments), *CHAPTER]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", **more)


@pytest.fixture
def here(capsys, monkeypatch):
    """Run the command in this process: (whether it succeeded, what it said)."""
    monkeypatch.setattr(grade.environment, "run_with_environment", lambda *arguments: None)

    def run(*arguments):
        with pytest.raises(SystemExit) as end:
            grade.main(list(map(str, arguments)))
        return not end.value.code, "".join([*capsys.readouterr(), str(end.value)])

    return run


def scores(out):
    """{student: {exercise: points}} of a table of grades."""
    with open(out / "grades.csv", encoding="utf-8-sig", newline="") as file:
        found = {}
        for row in csv.DictReader(file):
            found.setdefault(row["student"], {})[row["exercise"]] = int(row["points"])
    return found


def kept_reports(out):
    """{name: (bytes, time of writing)} of the reports that are kept."""
    return {
        path.name: (path.read_bytes(), path.stat().st_mtime_ns)
        for path in (out / reports.REPORTS_FOLDER).glob("*.json")
    }


IDS = [id for id in EXERCISES if id.startswith("3.")]
HIGHEST = sum(EXERCISES[id].points for id in IDS)
EXPECTED = {f"s{k}": {id: 2 * (id == "3.2" and k % 2 == 0) for id in IDS} for k in range(6)}


def test_from_a_folder_to_grades_and_a_second_run_grades_only_what_changed(handed, tmp_path, here):
    out = tmp_path / "grades"
    canvas = tmp_path / "gradebook.csv"
    canvas.write_text(f"Student,ID,Attention (5)\nPoints Possible,,{HIGHEST}\ns0,1,\ns1,2,\n", encoding="utf-8")
    arguments = [handed, "--out", out, "--gradescope", "--canvas", canvas]
    first = go(*arguments, "--workers", 2)
    said, progress = first.communicate()
    assert first.returncode == 0, progress
    assert "Protection: on" in said and "6 of 6 graded, 0:00:00 left" in progress
    assert scores(out) == EXPECTED
    assert {path.name for path in out.iterdir()} == {
        "grades.csv",
        "totals.csv",
        "summary.html",
        "feedback",
        "gradescope",
        "no_points.csv",
        "gradebook.csv",
        reports.REPORTS_FOLDER,
    }
    assert (out / "gradebook.csv").read_text(encoding="utf-8").splitlines()[2:] == ["s0,1,2", "s1,2,0"]
    assert len(list((out / "feedback").iterdir())) == len(list((out / "gradescope").iterdir())) == 6
    wrong = reports.ReportStore(out).get(reports.Student("s1", "s1"))
    assert [entry.result.id for entry in wrong.graded if entry.result.hints] == ["3.2"], (
        "told after all points are there"
    )

    before = kept_reports(out)
    (handed / "s3" / NAME).write_bytes(RIGHT)
    assert here(*arguments, *CHAPTER, "--workers", 1)[0]
    changed = {name for name, kept in kept_reports(out).items() if kept != before[name]}
    assert changed == {"s3.json"} and scores(out)["s3"]["3.2"] == 2
    (handed / "s5").rename(handed / "s9")
    (out / "feedback" / "mine.html").write_text("not the grader's", encoding="utf-8")
    done, said = here(*arguments, *CHAPTER)
    assert not done and "no submission here: s5." in said and "--fewer" in said
    assert scores(out)["s5"]["3.2"] == 0
    assert here(*arguments, *CHAPTER, "--fewer", "--workers", 1)[0]
    assert "s5" not in scores(out) and (out / "feedback" / "mine.html").unlink() is None
    assert {page.stem for page in (out / "feedback").iterdir()} == {"s0", "s1", "s2", "s3", "s4", "s9"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["class", "gradebook.csv", "grades"]


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGKILL,
        *(
            pytest.param(number, marks=pytest.mark.every_setting("a run that is told to end"))
            for number in (signal.SIGINT, signal.SIGTERM)
        ),
    ],
)
def test_an_interrupted_run_goes_on_where_it_stopped_and_leaves_nothing_running(number, handed, tmp_path, here):
    out = tmp_path / "grades"
    (handed / "s4" / NAME).write_bytes(HANGS)
    process = go(handed, "--out", out, "--workers", 1)
    while len(kept_reports(out)) < 2:
        assert process.poll() is None
        time.sleep(0.05)
    below = descendants(process.pid)
    process.send_signal(number)
    _, complaints = process.communicate()
    before = kept_reports(out)
    assert 2 <= len(before) < 6
    if number != signal.SIGKILL:  # whoever ends it, what was graded is there, whole
        assert "Run the same command again to continue." in complaints
        assert {key: points for key, points in EXPECTED.items() if f"{key}.json" in before} == scores(out)
        assert {page.stem for page in (out / "feedback").iterdir()} == {name.removesuffix(".json") for name in before}
    end = time.monotonic() + 30
    while running := [child for child in below if alive(child)]:
        assert time.monotonic() < end, running
        time.sleep(0.1)

    (handed / "s4" / NAME).write_bytes(RIGHT)  # it has hung long enough
    assert here(handed, "--out", out, *CHAPTER, "--workers", 1)[0]
    whole = [name for name, (content, _) in before.items() if b'"incomplete": false' in content]
    assert whole and {name: kept_reports(out)[name] for name in whole} == {name: before[name] for name in whole}
    assert scores(out) == EXPECTED


# --- executors --------------------------------------------------------------------------------------------------------


SIXTY = Limits()


def graded_with(executor, handed, tmp_path, done=lambda *what: None, limits=SIXTY):
    """Run a class through an executor: ({student: points in 3.2}, failures)."""
    found = submissions(handed)
    store = reports.ReportStore(tmp_path / "grades")
    failed = batch.grade_changed(found, store, executor, limits, done)
    kept = {submission.student.key: store.get(submission.student) for submission in found}
    return {
        key: next(entry.result.points for entry in report.graded if entry.result.id == "3.2")
        for key, report in kept.items()
        if report
    }, failed


POINTS = {student: points["3.2"] for student, points in EXPECTED.items()}


@contextlib.contextmanager
def threads():
    """Two threads: an executor that is none of ours."""
    with ThreadPoolExecutor(2) as pool:
        yield pool, 2, grading_process.add_known_results
    grading_process.end_all()


@pytest.mark.parametrize("name", ["judging/judge.py", "exercises/chapter_3.py", "exercises/chapter_3.toml"])
def test_once_what_points_depend_on_has_changed_all_are_graded_anew(name, tmp_path, monkeypatch):
    monkeypatch.setattr(batch.repository, "ROOT", bare_clone.copy(tmp_path))
    before = batch.course_digest.__wrapped__()
    with open(tmp_path / "course_utils" / name, "a", encoding="utf-8") as file:
        file.write("\n# changed\n")
    assert batch.course_digest.__wrapped__() != before


@pytest.mark.every_setting("any executor")
def test_any_executor_will_do(handed, tmp_path):
    assert graded_with(threads, handed, tmp_path) == (POINTS, {})


def once(action):
    """A function that does something at its first call only."""
    left = [action]

    def step(*what):
        if left:
            left.pop()()

    return step


@pytest.mark.every_setting("a run that is killed")
def test_a_process_that_is_killed_in_the_middle_loses_nothing(handed, tmp_path):
    def kill():
        next(each.child for each in grading_process.running_processes if each.child).kill()

    counted = Counter()
    first = once(kill)

    def done(submission, report):
        counted[submission.student.key] += 1
        first()

    assert graded_with(lambda: workers.local_workers(2), handed, tmp_path, done) == (POINTS, {})
    assert counted == Counter(POINTS.keys())
    assert not grading_process.running_processes


def test_a_run_that_ends_early_does_not_wait_for_what_is_being_graded(monkeypatch):
    begun, ended = threading.Event(), threading.Event()
    monkeypatch.setattr(grading_process, "end_all", ended.set)
    with workers.local_workers(1) as (pool, *_):
        in_progress = pool.submit(lambda: begun.set() or ended.wait(5))
        begun.wait()
    assert in_progress.result(), "the processes were ended only after that"


def test_a_log_gets_ten_lines_of_progress_of_any_class(capsys):
    shown = Progress(57)
    for _ in range(57):
        shown.step()
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 10 and lines[-1].startswith("57 of 57 graded")


def test_an_answer_that_one_process_has_graded_no_other_grades_again(tmp_path, monkeypatch):
    handed = lay(tmp_path / "class", {f"s1/{NAME}": WRONG})
    (submission,) = submissions(handed)
    monkeypatch.setattr(grading_process, "known_results", {})
    _, found = grading_process.GradingProcess(SIXTY).grade(batch.task_for(submission, SIXTY))
    (wrong,) = [result for result in found.values() if result["status"] == NOT_YET]
    wrong["message"] = "told by another process"
    grading_process.add_known_results(found)
    told, again = grading_process.GradingProcess(SIXTY).grade(batch.task_for(submission, SIXTY))
    grading_process.end_all()
    assert again == {}
    assert "told by another process" in [entry.result.message for entry in told.graded]


def test_a_submission_that_cannot_be_graded_is_named_and_costs_no_other(handed, tmp_path, monkeypatch):
    def grade_one(task, limits):
        return at_once(task, limits) if task.student.key != "s1" else raising(RuntimeError("lost"))

    monkeypatch.setattr(batch, "grade_in_own_process", grade_one)
    points, failed = graded_with(lambda: workers.local_workers(1), handed, tmp_path)
    assert failed == {"s1": "RuntimeError: lost"} and points == {who: n for who, n in POINTS.items() if who != "s1"}


def test_workers_without_protection_end_the_run(handed, tmp_path, monkeypatch):
    def refuse(task, limits):
        raise Unprotected("no")

    monkeypatch.setattr(batch, "grade_in_own_process", refuse)
    with pytest.raises(Unprotected):
        graded_with(lambda: workers.local_workers(1), handed, tmp_path)


def test_a_full_disk_ends_the_run_at_once_and_is_named_with_its_folder(handed, tmp_path, monkeypatch):
    written = []

    def full(path, content):
        written.append(path)
        raise OSError(errno.ENOSPC, "No space left on device", str(path.parent))

    monkeypatch.setattr(reports.files, "replace", full)
    monkeypatch.setattr(grade.environment, "run_with_environment", lambda *arguments: None)
    with pytest.raises(SystemExit, match=f"{tmp_path}.*No space left"):
        grade.main([str(handed), "--out", str(tmp_path / "out"), "--chapters", "3", "--workers", "1"])
    assert len(written) <= 2  # a report, and the table of what was graded before


@pytest.fixture
def cluster():
    """Two workers of Dask on this machine."""
    import distributed

    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None, silence_logs=50
    ) as cluster:
        yield cluster


@pytest.mark.every_setting("a Dask cluster")
def test_a_dask_cluster_loses_a_worker_in_the_middle_and_no_submission(handed, tmp_path, cluster):
    def kill():
        os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)

    executor = lambda: workers.dask_workers(cluster.scheduler_address)
    assert graded_with(executor, handed, tmp_path, once(kill)) == (POINTS, {})


@pytest.mark.every_setting("a Dask cluster")
def test_what_one_worker_of_a_cluster_has_found_all_of_them_know(handed, tmp_path, cluster):
    assert graded_with(lambda: workers.dask_workers(cluster.scheduler_address), handed, tmp_path) == (POINTS, {})
    with cluster.get_client() as client:
        one, other = client.run(lambda: set(grading_process.known_results)).values()
    assert one == other and one


# --- a class of every kind --------------------------------------------------------------------------------------------


def test_broken_and_hostile_submissions_cost_no_other_student(tmp_path, here):
    handed = lay(
        tmp_path / "class",
        {
            f"alice/{NAME}": RIGHT,
            f"hangs/{NAME}": HANGS,
            "empty/a.ipynb": b"",
            "corrupt/a.ipynb": RIGHT[:1000],
            "other/a.ipynb": packed({"cells": [{"cell_type": "code", "source": "x = 1"}]}),
            "bomb.zip": zipped({"a.ipynb": b"[" * 60_000_000}),
            "outside.zip": zipped({f"../../{NAME}": RIGHT, NAME: WRONG}),
            "Ünïcode.zip": zipped({NAME: RIGHT}),
            "garbage.zip": b"PK",
            "exported.csv": b"nobody's",
            f"no letter/{NAME}": packed(notebook({"3.2": SAYS_NO_LETTER})),
            **({os.fsdecode(b"M\xfcller") + f"/{NAME}": RIGHT} if sys.platform == "linux" else {}),
            f"zoe/{NAME}": RIGHT.replace(b"\\n", b"\\r\\n"),
        },
    )
    out = tmp_path / "grades"
    done, said = here(handed, "--out", out, *CHAPTER, "--workers", 2, "--seconds", 20)  # a part of it for what hangs
    assert done, said
    assert "exported.csv" in said
    full = ["alice", "hangs", "zoe", "Ünïcode", *(["M\\xfcller"] if sys.platform == "linux" else [])]
    none = ["empty", "corrupt", "other", "bomb", "outside", "garbage", "no letter"]
    assert {student: sum(points.values()) for student, points in scores(out).items()} == dict.fromkeys(
        full, 2
    ) | dict.fromkeys(none, 0)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["class", "grades"]


# --- nobody's points move in silence ----------------------------------------------------------------------------------


def at_once(task, limits):
    """A report as these tests need one, without what takes seconds to start."""
    right = RIGHT in [content for _, content in task.files]
    graded = [
        reports.GradedExercise(
            Result(id, "", RIGHT_ANSWER if right and id == "3.2" else NOT_YET, "", EXERCISES[id].points)
        )
        for id in IDS
    ]
    return reports.Report(task.student, graded, task.remarks, "Protection: on.", task.digest, task.late), {}


@pytest.fixture
def said(tmp_path, here, monkeypatch):
    """Run the command here, on tmp_path / "class" into tmp_path / "grades", and give what it says."""
    monkeypatch.setattr(batch, "grade_in_own_process", at_once)
    return lambda *more: here(tmp_path / "class", "--out", tmp_path / "grades", "--workers", 2, *more)[1]


def test_what_would_change_is_shown_with_who_from_to_and_why_before_anything_is_written(
    handed, tmp_path, said, monkeypatch
):
    out, book = tmp_path / "grades", tmp_path / "gradebook.csv"
    book.write_text(
        f"Student,ID,Attention (5)\nPoints Possible,,{HIGHEST}\ns0,1,\ns1,2,7.5\ns3,3,EX\n", encoding="utf-8"
    )
    arguments = ["--chapters", "3", "--canvas", str(book)]
    said("--preview", *arguments)
    assert not (out / "feedback").exists()
    first = said(*arguments)
    assert "that change" not in first and "s1: Canvas has 7.5 where grading gives 0" in first and "EX" in first
    assert (out / "gradebook.csv").read_text(encoding="utf-8").splitlines()[2:] == ["s0,1,2", "s1,2,7.5", "s3,3,EX"]

    before = {
        path: path.read_bytes()
        for path in out.rglob("*")
        if path.is_file() and reports.REPORTS_FOLDER not in path.parts
    }
    (handed / "s1" / NAME).write_bytes(RIGHT)
    (tmp_path / "adjustments.csv").write_text(
        "student,points,comment\ns2,1,well explained\nnobody,1,\n", encoding="utf-8"
    )
    shown = said("--preview", *arguments)
    assert f"s1: 0 of {HIGHEST} -> 2 of {HIGHEST}, submission changed" in shown
    assert f"s2: 2 of {HIGHEST} -> 3 of {HIGHEST}, assignment or adjustment changed" in shown
    assert "nobody has no submission here" in shown and "Changed points (2)" in shown
    assert {path: path.read_bytes() for path in before} == before

    def show(changes):
        assert {path: path.read_bytes() for path in before} == before
        return table_of_changes(changes)

    with monkeypatch.context() as now:
        now.setattr(grading_run, "table_of_changes", show)
        assert "Changed points (2)" in said(*arguments)
    assert "Changed points" not in said(*arguments)
    assert "Your instructor added 1 points. well explained" in (out / "feedback/s2.html").read_text(encoding="utf-8")


def test_all_that_has_changed_is_named_as_the_reason_and_nothing_else(handed, said, monkeypatch):
    said(*CHAPTER)
    monkeypatch.setattr(batch, "grade_in_own_process", lambda task, limits: at_once(replace(task, files=[]), limits))
    (handed / "s2" / NAME).write_bytes(WRONG)
    points, option = f"2 of {HIGHEST} -> 0 of {HIGHEST}", "--seconds or --unsandboxed changed"
    for more in (["--seconds", "30"], ["--unsandboxed"]):
        shown = said("--preview", *CHAPTER, *more).splitlines()
        assert f"  s0: {points}, {option}" in shown
        assert f"  s2: {points}, submission changed and {option}" in shown


def test_what_belongs_to_a_student_stays_theirs_when_one_of_the_same_name_hands_in(tmp_path, said):
    """Points, page, what the gradebook held, and a decision that names the page."""
    of = lambda number, content: {f"Kim Lee_{number}_assignsubmission_file_/{NAME}": content}
    lay(tmp_path / "class", of(5, RIGHT) | of(9, WRONG))
    (tmp_path / "adjustments.csv").write_text("student,points\nKim Lee-9,1\nKim Lee,5\n", encoding="utf-8")
    (tmp_path / "worksheet.csv").write_text(
        "Identifier,Full name,Maximum grade,Grade\n" + "".join(f"Participant {k},Kim Lee,9,\n" for k in (3, 5, 9)),
        encoding="utf-8",
    )
    arguments = ["--chapters", "3", "--moodle", str(tmp_path / "worksheet.csv")]
    assert "Kim Lee could be 2 students here" in said(*arguments)
    before = {path.name: path.read_bytes() for path in (tmp_path / "grades/feedback").iterdir()}
    lay(tmp_path / "class", of(3, WRONG))
    shown = said(*arguments)
    assert "Changed points (1)" in shown and "Kim Lee: nothing -> 0" in shown
    after = {path.name: path.read_bytes() for path in (tmp_path / "grades/feedback").iterdir()}
    assert {name: after[name] for name in before} == before and len(after) == 3
    points = [
        line.rpartition(",")[2]
        for line in (tmp_path / "grades/worksheet.csv").read_text(encoding="utf-8").splitlines()[1:]
    ]
    assert points == ["0", f"{2 * 9 / HIGHEST:.4g}", f"{9 / HIGHEST:.4g}"]


def test_nobody_escapes_the_deduction_for_lateness_by_a_name(tmp_path, said):
    """Canvas makes x_999_2 of x__999__2. The victim, whose number is 999, has handed in and keeps what is theirs."""
    late = ["x_999_2_LATE_77_9001_hw.ipynb", "y_z_LATE_78_9002_hw.ipynb", "LATE_anon_aB3dE_9003_hw.ipynb"]
    lay(tmp_path / "class", dict.fromkeys([*late, "victim_999_5000_hw.ipynb"], RIGHT))
    (tmp_path / "assignment.toml").write_text("chapters = [3]\nlate_percent = 50\n", encoding="utf-8")
    rows = '"X",77,\n"Y",78,\n"Im, Vict",999,\n'
    (tmp_path / "gradebook.csv").write_text(f"Student,ID,A (5)\nPoints Possible,,{HIGHEST}\n{rows}", encoding="utf-8")
    shown = said("--canvas", str(tmp_path / "gradebook.csv"))
    with open(tmp_path / "grades/totals.csv", encoding="utf-8-sig", newline="") as file:
        points = {row["student"]: row["points"] for row in csv.DictReader(file)}
    assert points == {"x": "1", "y_z": "1", "anon_aB3dE": "1", "victim": "2"}
    assert (
        (tmp_path / "grades/gradebook.csv")
        .read_text(encoding="utf-8")
        .endswith('"X",77,\n"Y",78,1\n"Im, Vict",999,2\n')
    )
    assert "x (999 77): 2 rows" in shown and "anon_aB3dE: no row" in shown


def test_a_student_number_never_fills_the_row_of_whom_canvas_numbers_so(tmp_path, said):
    """Of a class that hands in on Gradescope and has its grades on Canvas."""
    people = b"submission_1: {':submitters': [{':name': Jo Doe, ':sid': '1002'}]}"
    lay(tmp_path / "class", {f"submission_1/{NAME}": RIGHT, "submission_metadata.yml": people, f"1003/{NAME}": RIGHT})
    book = f'Student,ID,SIS User ID,A (5)\nPoints Possible,,,{HIGHEST}\n"Roe, Ben",1002,7,\n"Poe, Mia",1003,8,\n'
    (tmp_path / "gradebook.csv").write_text(book, encoding="utf-8")
    shown = said("--chapters", "3", "--canvas", str(tmp_path / "gradebook.csv"))
    assert (tmp_path / "grades/gradebook.csv").read_text(encoding="utf-8") == book
    assert "Jo Doe (1002): no row in Canvas's file" in shown and "1003: no row in Canvas's file" in shown


def test_a_table_that_was_changed_by_hand_is_put_aside(handed, tmp_path, said):
    out = tmp_path / "grades"
    said("--chapters", "3")
    (out / "grades.csv").write_text("mine", encoding="utf-8")
    assert "was edited, so it was renamed" in said("--chapters", "3") and "edited" not in said("--chapters", "3")
    assert (out / "grades changed by hand 1.csv").read_text(encoding="utf-8") == "mine" and scores(out) == EXPECTED


def test_another_chapter_in_somebodys_folder_changes_nobodys_points(handed, tmp_path, said):
    lay(handed, {"s1/05_multi_head_attention.ipynb": packed(notebook({}, chapter=5))})
    said("--chapters", "3")
    assert scores(tmp_path / "grades") == EXPECTED
    assert "Name the chapters that count" in said()


# --- a process that grades comes to an end ----------------------------------------------------------------------------


class Broken:
    """Where nobody reads any more."""

    def write(self, *what):
        raise BrokenPipeError

    flush = close = write


class Gone:
    """A process that grades, which has said these lines and is gone."""

    def __init__(self, said):
        self.stdin, self.stdout = Broken(), io.BytesIO(b"".join(json.dumps(line).encode() + b"\n" for line in said))

    def kill(self):
        pass

    wait = kill


TASK = reports.Task(reports.Student("a", "A"), [], [], "", 60)
READY, PART = {"ready": True}, {"report": json.dumps(reports.report_to_json(at_once(TASK, SIXTY)[0])), "whole": False}


@pytest.fixture
def lives(monkeypatch):
    """Let every process that is started to grade have said what is in the next of these lists. A GradingProcess."""

    def of(*said):
        begin = map(Gone, said)
        for way in ("start_as_fork", "start_as_subprocess"):
            monkeypatch.setattr(grading_process, way, lambda words: next(begin))
        return grading_process.GradingProcess(SIXTY)

    monkeypatch.setattr(grading_process, "running_processes", set())
    return of


@pytest.mark.parametrize(
    "said, error, words",
    [
        ([[READY], [READY]], RuntimeError, "twice"),
        ([[READY, PART], [READY, PART]], None, "twice"),
        ([[READY, PART, {"memory": True}]], None, "more memory"),
        ([[READY, {"trouble": "KeyError: 3"}]], RuntimeError, "KeyError: 3"),
        ([[], []], RuntimeError, "did not start"),
        ([[], [READY, PART | {"whole": True}]], None, None),
        ([[{"unprotected": "no walls"}]], Unprotected, "no walls"),
    ],
    ids=[
        "lost twice",
        "lost twice with a part",
        "no memory",
        "trouble",
        "lost at once",
        "lost once",
        "no protection",
    ],
)
def test_what_became_of_a_process_is_told_and_its_part_counts(said, error, words, lives):
    with pytest.raises(error, match=words) if error else contextlib.nullcontext():
        made, _ = lives(*said).grade(TASK)
        assert words in made.remarks[-1] if words else made.remarks == []


def test_a_process_that_was_ended_for_good_grades_no_more(lives, monkeypatch):
    at_work = lives([READY])
    monkeypatch.setattr(at_work, "ask", lambda task: at_work.end(for_good=True) or (None, grading_process.PROCESS_LOST))
    with pytest.raises(CancelledError):
        at_work.grade(TASK)
    begun = lives([READY])
    begun.end(for_good=True)
    with pytest.raises(CancelledError):
        begun.start()


@pytest.mark.parametrize(
    "error, said", [(MemoryError(), {"memory": True}), (KeyError(3), {"trouble": "KeyError: 3"})], ids=repr
)
def test_what_goes_wrong_in_a_process_that_grades_is_told_by_it(error, said, monkeypatch):
    monkeypatch.setattr(inside_grading_process.grader, "grade_submission", lambda task, sandbox, tell: raising(error))
    out = io.StringIO()
    with pytest.raises(KeyError) if "trouble" in said else contextlib.nullcontext():
        inside_grading_process.grade_and_send(TASK, None, out)
    assert json.loads(out.getvalue()) == said


def raising(error):
    """Raise it."""
    raise error


def test_a_process_that_grades_takes_no_more_memory_than_its_share():
    child = os.fork()
    if not child:
        inside_grading_process.limit_memory()
        with contextlib.suppress(MemoryError):
            os._exit(len(bytearray(2**30 + 2**28)) > 0)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def test_a_process_that_cannot_be_had_leaves_no_file_open(monkeypatch):
    monkeypatch.setattr(
        grading_process.fork_client.fork_server_with_torch, "another_connection", lambda: raising(RuntimeError("none"))
    )
    before = os.listdir("/proc/self/fd")
    with pytest.raises(RuntimeError, match="none"):
        grading_process.start_as_fork("")
    assert len(os.listdir("/proc/self/fd")) == len(before)


@pytest.mark.parametrize("content", [b"{", b"[]", b"3", b'{"student": {}}', b'{"student": 3}'])
def test_what_another_version_or_a_damaged_disk_left_counts_as_nothing(content, tmp_path):
    store = reports.ReportStore(tmp_path)
    for name in ("a.json", LAST_RUN_FILE):
        (store.folder / name).write_bytes(content)
    assert store.get(TASK.student) is None and LastRun(store).students == {}


# --- one budget for each submission -----------------------------------------------------------------------------------


HANGING = pytest.mark.every_setting("other ways to hang")
CLOSES = "import os, time\nfor k in range(3, 64):\n    try: os.close(k)\n    except OSError: pass\ntime.sleep(10**6)\n"
HOG = f"x = [{'1,' * 100_000}]"  # half a second to read


def answering(**bodies):
    """A notebook of chapter 3 whose answers run these lines."""
    names = {"a": ("3.1", "my_average"), "b": ("3.2", "my_causal_weights"), "c": ("3.4", "my_mask")}
    indented = {key: body.replace("\n", "\n    ") for key, body in bodies.items()}
    return notebook({names[key][0]: f"def {names[key][1]}(*given):\n    {body}" for key, body in indented.items()})


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(CLOSES, id="closes its socket"),
        pytest.param("import time\ntime.sleep(10**6)\n", id="sleeps", marks=HANGING),
        pytest.param("while True: pass", id="computes", marks=HANGING),
    ],
)
def test_answers_that_hang_leave_time_for_the_others(body, tmp_path):
    made = answering(a=body, c=body)
    for cell in made["cells"]:
        if cell["id"] == "exercise-3-2":
            cell["source"] = handed_in.RIGHT
    handed = lay(tmp_path / "class", {f"alice/{NAME}": packed(made)})
    begin = time.monotonic()
    points, failed = graded_with(lambda: workers.local_workers(1), handed, tmp_path, limits=Limits(seconds=8))
    assert points == {"alice": 2} and not failed
    report = reports.ReportStore(tmp_path / "grades").get(submissions(handed)[0].student)
    hung = [entry.result.message for entry in report.in_chapters([3]) if entry.result.status == NOT_YET]
    assert len(hung) == 2 and all("took longer than" in words for words in hung)
    assert time.monotonic() - begin < 60  # 135 s for one that closed its socket, once


@pytest.mark.every_setting("a submission whose time is over")
def test_what_a_submission_finished_counts_when_its_time_is_over(tmp_path):
    late = notebook({})
    late["cells"] += [{"cell_type": "code", "source": HOG, "metadata": {}, "outputs": []}] * 30
    files = {f"alice/a/{NAME}": RIGHT, f"alice/b/{NAME}": packed(late), f"bob/{NAME}": RIGHT}
    handed = lay(tmp_path / "class", files)
    points, failed = graded_with(lambda: workers.local_workers(1), handed, tmp_path, limits=Limits(seconds=6))
    assert points == {"alice": 2, "bob": 2} and not failed
    report = reports.ReportStore(tmp_path / "grades").get(submissions(handed)[0].student)
    assert "longer than the 6 s" in report.remarks[-1]


WRONG_MASK = """def my_mask(is_padding):
    T = is_padding.shape[-1]
    causal = torch.tril(torch.ones(T, T)).bool()
    return causal & ~is_padding[:, None, :] | torch.eye(T).bool()
"""
TO_GRADESCOPE = {
    "one": ({NAME: RIGHT}, 2, "Protection: on"),
    "two": ({"a.ipynb": RIGHT, "b.ipynb": packed(notebook({"3.4": WRONG_MASK}))}, 2, ""),
    "a PDF": ({"work.pdf": b"%PDF"}, 0, "No notebook was found in this submission. It contains work.pdf"),
    "damaged": ({NAME: RIGHT[:999]}, 0, "damaged"),
}


@pytest.mark.every_setting("submissions of every kind on Gradescope")
@pytest.mark.parametrize(
    "kind",
    [
        "one",
        *(
            pytest.param(each, marks=pytest.mark.in_matrix("more kinds of submissions"))
            for each in TO_GRADESCOPE
            if each != "one"
        ),
    ],
)
def test_gradescopes_autograder_always_leaves_results(kind, tmp_path, here):
    assert "Programming Assignment worth 9 points." in here("--autograder", tmp_path / "autograder.zip", *CHAPTER)[1]
    source = tmp_path / "source"
    with zipfile.ZipFile(tmp_path / "autograder.zip") as made:
        assert {"setup.sh", "run_autograder", "requirements.txt"} <= set(made.namelist())
        made.extractall(source)
    files, score, words = TO_GRADESCOPE[kind]
    lay(tmp_path / "submission", files)
    results = autograded(source, sys.executable)
    assert results["score"] == score and words in results["output"]
    said = "".join(each["output"] for each in results["tests"])
    assert ("What should be True here?" in said) == (kind == "two") and "With this change" not in said
    assert "did not finish" in autograded(source, "false")["output"]


def autograded(source, python):
    """What the autograder leaves for Gradescope."""
    places = {"AUTOGRADER": str(source.parent), "COURSE_PYTHON": python}
    subprocess.run(["bash", source / "run_autograder"], env=os.environ | places, capture_output=True, check=True)
    return json.loads((source.parent / "results" / "results.json").read_text(encoding="utf-8"))


def test_the_doctor_says_what_this_machine_can_do(capsys, monkeypatch):
    monkeypatch.setattr(grade.environment, "run_with_environment", lambda *arguments: None)
    monkeypatch.setattr(doctor, "ROUNDS", 1)
    with pytest.raises(SystemExit) as end:
        grade.main(["--doctor"])
    said = capsys.readouterr().out
    assert end.value.code == 0 and "Protection: on" in said
    assert f"gets {HIGHEST} points and an untouched one 0, as expected" in said and "takes about" in said
    monkeypatch.setattr(doctor, "graded_copy", lambda folder, limits: [])
    monkeypatch.setattr(doctor, "total_points", lambda graded: 1)
    with pytest.raises(SystemExit) as end:
        grade.main(["--doctor"])
    assert end.value.code == 1 and "do not grade on this machine" in capsys.readouterr().out


def test_no_more_is_done_at_once_than_a_container_may(tmp_path, monkeypatch):
    for quota, most in [("150000 100000", 2), ("50000 100000", 1), ("max 100000", 8)]:
        (tmp_path / "cpu.max").write_text(quota, encoding="utf-8")
        monkeypatch.setattr(grade.os, "sched_getaffinity", lambda process: set(range(8)), raising=False)
        monkeypatch.setattr(grade, "CONTAINER_QUOTA", tmp_path / "cpu.max")
        assert grade.usable_processors() == most


# --- what the command says --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["nowhere"], "does not exist"),
        (["file.txt"], "neither a folder nor a zip"),
        (["class", "--workers", "0"], "at least 1"),
        (["class", "--seconds", "0"], "above 0"),
        ([], "Name the submissions"),
        (["class", "--out", "class/out"], "is inside"),
        (["bare"], "contains no submissions"),
        (["class", "--moodle", "file.txt"], "cannot be filled: it has no column"),
        (["class", "--moodle", "none.csv"], "^none.csv: No such file or directory. Fix this and run"),
        (["class", "--chapters", "3", "33"], "there are exercises in chapters 1, 2, "),
        (["class", "--chapters", "99"], "chapters 1, 2, 3, 4, 5, 6, 7, 8, 9, 10."),
        (["--autograder", "a.zip", "--chapters", "33"], "there are exercises in chapters 1, 2, "),
        (["class", "--canvas", "Grades.csv"], "another file of this name"),
        (["class", "--canvas", "file.txt", "--moodle", "file.txt"], "another file of this name"),
        (["class", "--canvas", "file.txt", "--out", "."], "move it out"),
    ],
)
def test_a_mistake_in_the_command_is_one_sentence(arguments, words, handed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file.txt").write_text("x", encoding="utf-8")
    (tmp_path / "bare").mkdir()
    with pytest.raises(SystemExit, match=words) as end:
        grade.main(["--chapters=3", *arguments, *([] if "--out" in arguments else ["--out", "out"])])
    assert "\n" not in str(end.value)
    assert not (tmp_path / "out").exists() and not (tmp_path / "grades.csv").exists() and not (handed / "out").exists()


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["class", "--new-assignment"], "Name the chapters that count"),
        (["--autograder", "autograder.zip"], "Name the chapters that count"),
        (["class"], "Name a folder for the grades"),
    ],
)
def test_what_a_command_needs_is_asked_for(arguments, words, handed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match=words):
        grade.main(arguments)


def test_a_new_assignment_is_written_beside_the_downloads_and_nothing_is_graded(handed, tmp_path, here):
    done, said = here(handed, "--new-assignment", *CHAPTER)
    assert done and f"assignment.toml says what counts: {HIGHEST} points" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["assignment.toml", "class"]


def test_of_many_names_and_many_changes_a_few_are_said():
    assert (
        grading_run.first_names(list("abc")) == "a, b, c"
        and grading_run.first_names(list("abcdefg")) == "a, b, c, d, e and 2 more"
    )
    *said, last = table_of_changes([("a", "0 of 9", "1 of 9", "was handed in again")] * 25)
    assert said[0] == "Changed points (25):" and len(said) == 21 and last == "  and 5 more"


def test_a_machine_without_protection_refuses_and_says_how_to_go_on(handed, tmp_path, monkeypatch):
    def refuse(*arguments):
        raise Unprotected(UNPROTECTED)

    monkeypatch.setattr(batch, "grade_changed", refuse)
    with pytest.raises(SystemExit, match="no protection.*--unsandboxed"):
        grade.main([str(handed), "--out", str(tmp_path / "out"), "--chapters=3"])


@pytest.mark.parametrize(
    "module, name", [(grading_run, "protection"), (batch, "grade_changed")], ids=["at first", "later"]
)
def test_a_protection_that_could_not_be_tried_out_is_no_reason_to_go_on_without(
    module, name, handed, tmp_path, monkeypatch
):
    def fail(*arguments):
        raise Unprotected("It could not be tried out.")

    monkeypatch.setattr(module, name, fail)
    with pytest.raises(SystemExit, match=r"^It could not be tried out\.$"):
        grade.main([str(handed), "--out", str(tmp_path / "out"), "--chapters=3"])


def test_the_doctor_says_it_too(monkeypatch, capsys):
    def fail(unsandboxed):
        raise Unprotected("It could not be tried out.")

    monkeypatch.setattr(doctor, "protection", fail)
    with pytest.raises(SystemExit, match="1"):
        grade.main(["--doctor"])
    assert capsys.readouterr() == ("", "Grading does not work here: It could not be tried out.\n")


def test_the_process_that_grades_tells_it_to_the_grader(monkeypatch):
    sent = []
    monkeypatch.setattr(inside_grading_process.os, "dup2", lambda *numbers: None)
    monkeypatch.setattr(inside_grading_process.os, "fdopen", lambda *arguments, **more: None)
    monkeypatch.setattr(inside_grading_process, "send", lambda out, **message: sent.append(message))
    monkeypatch.setattr(inside_grading_process, "Sandbox", lambda chosen: raising(Unprotected("no walls")))
    inside_grading_process.serve("")
    assert sent == [{"unprotected": "no walls"}]
