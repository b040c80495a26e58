"""The instructor's own book: what counts, and what was decided by hand, on every run and in every table."""

import csv

import pytest

from course_tools.grading import assignment as rules
from course_tools.grading import grades_and_pages, gradescope_autograder, grading_run
from course_tools.grading.class_summary import ClassSummary
from course_tools.grading.last_run import LastRun, table_of_changes
from course_tools.grading.own_folder import OWN_FOLDER
from course_tools.grading.platforms.gradescope import results_of
from course_tools.grading.reports import REPORTS_FOLDER, GradedExercise, Report, ReportStore, Student
from course_tools.grading.roster import ROSTER_FILE
from course_tools.repository import ROOT
from course_utils.exercises import EXERCISES
from course_utils.judging.result import NOT_YET, RIGHT, Result

IN_A_CLONE = [
    "downloads/",
    "grades/",
    "exported.csv",
    "worksheet.csv",
    "autograder.zip",
    rules.ASSIGNMENT_FILE,
    rules.ADJUSTMENTS_FILE,
    ROSTER_FILE,
    f"{OWN_FOLDER}/",
]
POINTS = {id: exercise.points for id, exercise in EXERCISES.items()}
JANE = Student("doejane", "Jane Doe", ("77",))
IDS = [id for id in POINTS if id.startswith("3.")]
HIGHEST = sum(POINTS[id] for id in IDS)
HINT = "In line 3, write `x > y:\n    x` instead of `x < y`."


def report(student=JANE, late=False, right=("3.1", "3.2"), graded=None):
    """A report with these exercises right, or with these graded."""
    graded = graded or [
        GradedExercise(Result(id, EXERCISES[id].title, RIGHT if id in right else NOT_YET, "said", points))
        for id, points in POINTS.items()
    ]
    return Report(student, graded, [], "Protection: on.", "a b", late)


@pytest.fixture
def read(tmp_path):
    """Read what an instructor has written beside the downloads."""

    def of(toml="", adjustments="", chapters=None):
        for name, text in [(rules.ASSIGNMENT_FILE, toml), (rules.ADJUSTMENTS_FILE, adjustments)]:
            if text:
                (tmp_path / name).write_text(text, encoding="utf-8", errors="surrogateescape")
        return rules.read_assignment(tmp_path / "downloads", chapters, lambda: POINTS)

    return of


def test_without_files_the_chapters_of_the_command_count(read):
    assert read(chapters=[3]).grade_of(report()).points == (POINTS["3.1"] + POINTS["3.2"], HIGHEST)


def test_an_assignment_says_what_counts(read):
    found = read('chapters = [3]\nlate_percent = 50\n[points]\n"3.1" = 10\n"3.3" = 0')
    most = HIGHEST + 10 - POINTS["3.1"] - POINTS["3.3"]
    assert found.grade_of(report()).points == (10 + POINTS["3.2"], most)
    late = found.grade_of(report(late=True))
    assert late.points == ((10 + POINTS["3.2"]) / 2, most) and "50% of" in late.remarks[0]


def test_the_commands_chapters_are_the_assignments_or_refused(read):
    assert read("chapters = [3, 4]", chapters=[4, 3]).chapters == [3, 4]
    with pytest.raises(SystemExit, match="and --chapters name different chapters"):
        read("chapters = [3, 4]", chapters=[5])


def test_a_new_assignment_counts_as_the_course_does_and_never_replaces_one(read, tmp_path):
    said = rules.write_new(tmp_path / "downloads", [3], POINTS)
    assert f"{HIGHEST} points" in said
    assert read().grade_of(report()) == read(chapters=[3]).grade_of(report())
    with pytest.raises(SystemExit, match="already exists"):
        rules.write_new(tmp_path / "downloads", [3], POINTS)


@pytest.mark.parametrize(
    "setting, hints", [("", [HINT]), ('feedback = "full"', [HINT]), ('feedback = "place"', [])], ids=str
)
def test_students_read_the_hints_on_their_answers_unless_only_the_place_is_to_be_told(setting, hints, read, tmp_path):
    message = "Input: `x` = `3`.\nThe mistake is in line 3, `x < y`."
    made = report(graded=[GradedExercise(Result("3.1", "Average", NOT_YET, message, 1, hints=(HINT,)))])
    assignment = read(f"chapters = [3]\n{setting}")
    book = grades_and_pages.GradesAndPages(ReportStore(tmp_path), assignment)
    book.add(made)
    book.close()
    page = (tmp_path / "feedback/doejane.html").read_text(encoding="utf-8")
    assert "<code>3</code>.<br>The mistake is in line 3, <code>x &lt; y</code>." in page
    assert ("write <code>x &gt; y:<br>    x</code> instead" in page) == bool(hints)
    with open(tmp_path / "grades.csv", encoding="utf-8-sig", newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["message"] == " ".join([message, *hints]).replace("\n", " ")
    (shown,) = results_of(made, assignment.grade_of(made))["tests"]
    assert shown["output"] == "\n\n".join([message, *hints])
    assert str(made.graded[0].result).endswith("`x` = `3`. The mistake is in line 3, `x < y`.")  # in a terminal


@pytest.mark.parametrize("who", ["Jane Doe", "doejane", "77"])
def test_adjustments_reach_points_page_and_table_as_the_instructors(who, read, tmp_path):
    text = (
        f"student,exercise,points,comment,excused\n{who},3.3,1.5,half of it,\n{who},,2,for the talk,\n{who},3.1,,,yes\n"
    )
    found = read(adjustments=text, chapters=[3])
    assert found.grade_of(report()).points == (POINTS["3.2"] + 1.5 + 2, HIGHEST - POINTS["3.1"])
    assert found.grade_of(report(Student("roe", "John Roe"))).points == (POINTS["3.1"] + POINTS["3.2"], HIGHEST)
    book = grades_and_pages.GradesAndPages(ReportStore(tmp_path), found)
    book.add(report())
    book.close()
    page = (tmp_path / "feedback/doejane.html").read_text(encoding="utf-8")
    assert "Your instructor gave 1.5 points for this exercise. half of it" in page
    assert "Your instructor added 2 points. for the talk" in page and "excused you from this exercise" in page
    with open(tmp_path / "grades.csv", encoding="utf-8-sig", newline="") as file:
        rows = {row["exercise"]: row for row in csv.DictReader(file)}
    assert rows["3.3"]["points"] == "1.5" and rows["3.1"]["max_points"] == "0"


KIM, OTHER_KIM = (Student(f"Kim Lee-{id}", "Kim Lee", (id,)) for id in ("5", "9"))


@pytest.mark.parametrize(
    "who, gets",
    [("Kim Lee", []), ("Kim Lee-9", [OTHER_KIM]), ("9", [OTHER_KIM]), ("5", []), ("nobody", [])],
)
def test_a_decision_reaches_the_one_student_who_is_called_so_or_nobody_and_that_is_said(who, gets, read):
    """One is called 5 since that is the number of somebody else."""
    students = [KIM, OTHER_KIM, Student("5", "5")]
    found = read(adjustments=f"student,points,regrade\n{who},2,yes\n", chapters=[3]).for_class(students)
    assert [student for student in students if found.grade_of(report(student)).added] == gets
    assert [student for student in students if found.asks_for_regrade(student)] == gets
    said = list(grading_run.adjustments_for_nobody(found, students))
    names = {"Kim Lee": "Kim Lee-5, Kim Lee-9", "5": "5, Kim Lee-5"}
    if who in names:
        assert len(said) == 1 and f"{who} could be 2 students here" in said[0] and said[0].endswith(f"{names[who]}.")
    else:
        assert len(said) == (not gets) and all("nobody has no submission" in sentence for sentence in said)


def test_the_heads_of_columns_are_read_as_spreadsheets_write_them(read):
    found = read(adjustments=" Student,POINTS ,Exercise\nJane Doe,1,3.1\n", chapters=[3])
    assert found.adjustments["Jane Doe"][0].points == 1


@pytest.mark.parametrize("comment", ["", "ill"])
def test_who_is_excused_from_all_gets_nothing_filled_in_and_page_and_run_say_so(comment, read, tmp_path):
    history = LastRun(store := ReportStore(tmp_path))
    history.students = {"doejane": [0, HIGHEST, "a b"]}
    found = read(adjustments=f"student;comment;excused\nJane Doe;{comment};x\n", chapters=[3])
    book = grades_and_pages.GradesAndPages(store, found)
    book.add(report())
    book.close()
    summary = (tmp_path / "summary.html").read_text(encoding="utf-8")
    assert "Points of 0 students" in summary and "excused, not counted" in summary and "3.2 " not in summary
    page = (tmp_path / "feedback/doejane.html").read_text(encoding="utf-8")
    assert book.scores == [] and "points.</b>" not in page
    assert f"excused you from this assignment: it does not count. {comment}".strip() in page
    said = [*table_of_changes(history.changes(book.entries)), *grading_run.excused_students(book.graded.values())]
    assert f"0 of {HIGHEST} -> excused, assignment" in said[1] and "so nothing is filled in: Jane Doe" in said[2]


def test_an_exercise_that_somebody_is_excused_from_is_not_counted_for_them(read, tmp_path):
    assignment = read(adjustments="student,exercise,excused\ndoejane,3.1,yes\n", chapters=[3])
    graded = [(each, assignment.grade_of(each)) for each in (report(), report(Student("roe", "John Roe")))]
    hardest = ClassSummary(graded).hardest
    counted = {id: right + not_yet + untried for id, _, right, not_yet, untried, *_ in hardest}
    assert counted["3.1"] == 1 and counted["3.2"] == 2
    (said,) = grading_run.excused_students(graded)
    assert said.endswith("excused from some exercises: Jane Doe (3.1).")


def test_a_page_is_headed_with_the_name_in_the_gradebook(read, tmp_path):
    book = grades_and_pages.GradesAndPages(ReportStore(tmp_path), read(chapters=[3]), names={"doejane": "Doe, Jane M."})
    book.add(report())
    book.close()
    assert "<h1>Doe, Jane M.</h1>" in (tmp_path / "feedback/doejane.html").read_text(encoding="utf-8")


def test_a_first_preview_says_that_all_are_new_and_leaves_no_folder_of_pages(read, tmp_path):
    book = grades_and_pages.GradesAndPages(ReportStore(tmp_path), read(chapters=[3]), preview=True)
    book.add(report())
    book.close()
    said = grading_run.closing_sentence(book, 1, LastRun(ReportStore(tmp_path)))
    assert (
        said
        == "1 of 1 submissions were graded, all of them for the first time. This was a preview: no grades were written."
    )
    assert [path.name for path in tmp_path.iterdir()] == [REPORTS_FOLDER]


def test_a_submission_can_be_graded_again_without_a_change(read):
    found = read(adjustments="student,regrade\n77,yes\n", chapters=[3])
    assert found.asks_for_regrade(JANE) and not found.asks_for_regrade(Student("roe", "John Roe"))


@pytest.mark.parametrize(
    "toml, adjustments, words",
    [
        ("chapters = [", "", "assignment.toml cannot be read: "),
        ("chapters = [3]  # f\udcfcr alle", "", "save this file as UTF-8"),
        ("chapters = [33]", "", "there are exercises in chapters 1, 2, "),
        ('chapters = [3]\n[points]\n"3.99" = 1', "", "points: '3.99' must be an exercise"),
        ('chapters = [3]\n[points]\n"3.1" = "two"', "", "points: '3.1' must be .* a number of at least 0"),
        ('chapters = [3]\n[points]\n"3.1" = -1', "", "points: '3.1' must be .* a number of at least 0"),
        ("chapters = [3]\nlate = 3", "", "no setting 'late'"),
        ("chapters = [3]\nlate_percent = 200", "", "0 to 100"),
        ('chapters = [3]\nfeedback = "hints"', "", 'feedback: write "full" or "place"'),
        ("chapters = [3]\nfeedback = []", "", 'feedback: write "full" or "place"'),
        ("late_percent = 0", "", "Name the chapters that count"),
        ("chapters = [3]", "student,mark\nx,1\n", "column 'mark' is unknown"),
        ("chapters = [3]", "student,points\nx,much\n", "row 2: 'much' is not a number"),
        ("chapters = [3]", "student\nM\udcfcller\n", "save this file as UTF-8"),
        ("chapters = [3]", "student,points\n,1\n", "row 2: name a student; the exercise must be known or empty"),
        ("chapters = [3]", "student,exercise\nx,3.99\n", "row 2: name a student; the exercise must be known or empty"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(toml, adjustments, words, read):
    with pytest.raises(SystemExit, match=words) as end:
        read(toml, adjustments)
    assert "\n" not in str(end.value)


@pytest.mark.parametrize("name", IN_A_CLONE)
def test_git_ignores_what_the_readme_has_instructors_put_into_a_clone(name):
    """One `git add .` would publish the names and grades of a class."""
    pages = [(ROOT / page).read_text(encoding="utf-8") for page in ("README.md", "course_tools/grading/README.md")]
    assert name.removesuffix("/") in "".join(pages)
    assert f"/{name}" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()


def test_the_quiz_weighs_what_the_assignment_says(read):
    rows = "student,exercise,quiz\nJane Doe,,3\n"
    found = read('chapters = [3]\nquiz_percent = 50\n[points]\n"3.1" = 10', rows)
    grade = found.grade_of(report())
    assert grade.points[0] == pytest.approx((10 + POINTS["3.2"]) * (0.5 + 0.5 * 3 / 5))
    assert grade.remarks == ["Right answers about your own code: 3 of 5. 50% of the points are scaled by that share."]
    all_of_three = read('chapters = [3]\nquiz_percent = 50\nquiz_questions = 3\n[points]\n"3.1" = 10', rows)
    assert all_of_three.grade_of(report()).points[0] == 10 + POINTS["3.2"]


@pytest.mark.parametrize(
    "toml, words",
    [
        ("quiz_percent = 101", "quiz_percent"),
        ("quiz_percent = true", "quiz_percent"),
        ("quiz_questions = 0", "quiz_questions"),
        ("quiz_questions = 2.5", "quiz_questions"),
        ("seed = 3", "seed"),
    ],
)
def test_what_is_said_of_a_quiz_has_to_make_sense(read, toml, words):
    with pytest.raises(SystemExit, match=words):
        read(f"chapters = [3]\n{toml}")


@pytest.mark.parametrize("row", ["Jane Doe,,many", "Jane Doe,3.1,3", "Jane Doe,,-1", "Jane Doe,,nan"])
def test_a_result_of_a_quiz_is_a_number_for_the_whole_submission(read, row):
    with pytest.raises(SystemExit, match="write under quiz how many"):
        read("chapters = [3]", f"student,exercise,quiz\n{row}\n")


def test_gradescope_grades_by_the_instructors_own_points_and_rules_and_hears_of_no_seed(read, tmp_path):
    own = read('chapters = [3, 4]\nlate_percent = 12.5\nseed = "autumn"\nfeedback = "full"\n[points]\n"3.1" = 7\n')
    there = read(gradescope_autograder.assignment_there(own))
    assert (there.chapters, there.late_percent, there.points) == (own.chapters, own.late_percent, own.points)
    assert there.feedback == rules.PLACE and there.seed and "autumn" not in there.seed
    without = read(gradescope_autograder.assignment_there(rules.Assignment([3])))
    assert without == rules.Assignment([3], feedback=rules.PLACE)
