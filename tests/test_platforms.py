"""Files of learning platforms: one column is filled, and every other byte stays."""

import pytest

from course_utils.grading.platforms import PLATFORMS
from course_utils.grading.platforms.canvas import Canvas
from course_utils.grading.platforms.gradebook import Gradebook, Unusable
from course_utils.grading.platforms.moodle import Moodle
from course_utils.grading.records import Student

JANE, JOHN = Student("jane", "Jane Doe", ("77",)), Student("john", "John Roe", ("78",))
SCORES = [(JANE, 9, 9), (JOHN, 4, 9)]

CANVAS = (
    "\ufeffStudent,ID,SIS User ID,SIS Login ID,Section,Attention (501),Final Score\r\n"
    "    Points Possible,,,,,18,(read only)\r\n"
    '"Doe, Jane",77,x1,jane,"A ""B"", C",,\r\n'
    '"Roe, John",78,x2,john, A ,"",50\r\n'
    '"Poe, Mia",79,x3,mia,A,3,\r\n'
)
MOODLE = (
    'Identifier,"Full name","Email address",Status,Grade,"Maximum Grade","Feedback comments"\n'
    'Participant 77,"Jane Doe",j@x.edu,"Submitted, late",,"100.00","line one\nline two"\n'
    'Participant 78,"John Roe",r@x.edu,Submitted,-,"100.00",\n'
)
EXPORTED = {"Canvas": CANVAS, "Moodle": MOODLE}


def test_canvas_gets_points_in_its_column_and_nothing_else_changes():
    filled, remarks = Canvas().fill(CANVAS.encode(), SCORES)
    expected = CANVAS.replace('C",,', 'C",18,').replace(' A ,"",50', ' A ,"8",50')  # 4 of 9, and 18 there
    assert filled.decode() == expected and remarks == []


def test_moodle_gets_grades_in_its_column_and_nothing_else_changes():
    filled, remarks = Moodle().fill(MOODLE.encode(), SCORES)
    assert filled.decode() == MOODLE.replace('late",,', 'late",100,').replace("Submitted,-,", "Submitted,44.44,")
    assert remarks == []


@pytest.mark.parametrize(
    "platform", [each for each in PLATFORMS if isinstance(each, Gradebook)], ids=lambda each: each.name
)
@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace(",", ";"),
        lambda text: text.replace("\r\n", "\n"),
        lambda text: text.rstrip(),
        lambda text: text,
    ],
    ids=["semicolons", "line ends", "no last line end", "as it is"],
)
def test_without_scores_a_file_comes_back_byte_for_byte(platform, change):
    assert platform.name in EXPORTED, f"{platform.name}: give it a file as it exports one, in tests/test_platforms.py"
    content = change(EXPORTED[platform.name]).encode()
    assert platform.fill(content, []) == (content, [])


def test_a_file_in_an_older_encoding_keeps_it():
    content = MOODLE.replace("Jane", "Zoë").encode("cp1252")
    filled, _ = Moodle().fill(content, SCORES)
    assert filled == content.replace(b'late",,', b'late",100,').replace(b"Submitted,-,", b"Submitted,44.44,")


@pytest.mark.parametrize(
    "student",
    [
        Student("k", "someone", ("77",)),
        Student("k", "jane"),
        Student("k", "X1"),
        Student("k", "Jane Doe"),
        Student("k", "Doe, Jane"),
    ],
    ids=["ID", "login", "SIS ID", "name", "name as in Canvas"],
)
def test_a_student_is_found_by_what_the_download_tells(student):
    filled, remarks = Canvas().fill(CANVAS.encode(), [(student, 9, 9)])
    assert filled.decode() == CANVAS.replace('C",,', 'C",18,') and remarks == []


def test_who_has_no_row_or_not_one_alone_is_named_and_nothing_is_filled():
    twins = MOODLE + 'Participant 80,"Jane Doe",d@x.edu,Submitted,,"100.00",\n'
    scores = [(Student("a", "Jane Doe"), 9, 9), (Student("b", "Nobody"), 9, 9)]
    filled, remarks = Moodle().fill(twins.encode(), scores)
    assert filled == twins.encode()
    assert "Jane Doe: 2 rows" in remarks[0] and "Nobody: no row" in remarks[1]


@pytest.mark.parametrize(
    "text, platform",
    [
        ('Student,ID,SIS User ID,A (5)\n"Roe, Max",9,1001,\n', Canvas()),
        ("Identifier,Full name,ID number,Grade\nParticipant 5,Max Roe,1001,\n", Moodle()),
    ],
)
def test_the_platforms_number_of_one_student_is_no_other_students_number(text, platform):
    filled, remarks = platform.fill(text.encode(), [(Student("a", "doejane", ("1001",)), 9, 9)])
    assert filled == text.encode() and "no row" in remarks[0]


def test_two_submissions_for_one_row_are_named():
    filled, remarks = Canvas().fill(CANVAS.encode(), [(JANE, 9, 9), (Student("b", "jane"), 0, 9)])
    assert b'C",18,' in filled and "the same row" in remarks[0]


def test_of_several_assignments_one_must_be_named():
    two = CANVAS.replace("Section,", "Other (502),")
    with pytest.raises(Unusable, match=r"--column.*'Other \(502\)', 'Attention \(501\)'"):
        Canvas().fill(two.encode(), SCORES)
    filled, _ = Canvas().fill(two.encode(), SCORES, "Attention")
    assert b'C",18,' in filled


@pytest.mark.parametrize(
    "content, platform",
    [
        (b"", Canvas()),
        (MOODLE.encode(), Canvas()),
        (CANVAS.encode(), Moodle()),
        (b"\x89PNG\0\1", Moodle()),
        (b'Full name,Grade\n"open, quote\n', Moodle()),
    ],
)
def test_another_file_is_refused(content, platform):
    with pytest.raises(Unusable):
        platform.fill(content, SCORES)
