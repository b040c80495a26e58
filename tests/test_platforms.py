"""Files of learning platforms: one column is filled, and every other byte stays."""

import unicodedata
import zipfile
from argparse import Namespace
from dataclasses import replace

import pytest

from course_utils.grading.platforms import PLATFORMS
from course_utils.grading.platforms.canvas import Canvas
from course_utils.grading.platforms.gradebook import Gradebook, Unusable
from course_utils.grading.platforms.moodle import Moodle
from course_utils.grading.records import Student
from tests.support.handed_in import lay

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
    'Identifier,"Full name","Email address",Status,Grade,"Maximum grade","Feedback comments"\n'
    'Participant 77,"Jane Doe",j@x.edu,"Submitted, late",,"100.00","line one\nline two"\n'
    'Participant 78,"John Roe",r@x.edu,Submitted,-,"100.00",\n'
)
EXPORTED = {"Canvas": CANVAS, "Moodle": MOODLE}


def fill(platform, *what, **more):
    """(the file, sentences on what was left out)."""
    filled = platform.fill(*what, **more)
    return filled.content, filled.remarks


def test_canvas_gets_points_in_its_column_and_nothing_else_changes():
    filled, remarks = fill(Canvas(), CANVAS.encode(), SCORES)
    expected = CANVAS.replace('C",,', 'C",18,').replace(' A ,"",50', ' A ,"8",50')  # 4 of 9, and 18 there
    assert filled.decode() == expected and remarks == []


@pytest.mark.parametrize("most", ["Maximum grade", "Maximum Grade"], ids=["today", "in older versions"])
def test_moodle_gets_grades_in_its_column_and_nothing_else_changes(most):
    content = MOODLE.replace("Maximum grade", most)
    filled, remarks = fill(Moodle(), content.encode(), SCORES)
    assert filled.decode() == content.replace('late",,', 'late",100,').replace("Submitted,-,", "Submitted,44.44,")
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
    assert fill(platform, content, []) == (content, [])


GERMAN = (
    "ID;Vollständiger Name;E-Mail-Adresse;Status;Bewertung;Bestwertung;Bewertung kann geändert werden;"
    "Zuletzt geändert (Abgabe);Zuletzt geändert (Bewertung);Feedback als Kommentar\n"
    "Teilnehmer/in77;Jane Doe;j@x.edu;Zur Bewertung abgegeben;;100,00;Ja;Montag, 2. März 2026, 10:00;-;\n"
    "Teilnehmer/in78;John Roe;r@x.edu;Keine Abgabe;12,50;100,00;Ja;-;-;schön\n"
)
FRENCH = (
    'Identifiant,"Nom complet",Groupe,Note,"Note maximale","Statut du flux d’évaluation","La note peut être modifiée"\n'
    'Participant77,"Jane Doe",2,,"20,00","Non évalué",Oui\n'
    'Participant78,"John Roe",2,-,"20,00","Non évalué",Oui\n'
)


@pytest.mark.parametrize(
    "worksheet, filled",
    [
        (GERMAN, {";;100,": ";100;100,", ";12,50;": ";44.44;"}),
        (FRENCH, {'2,,"20': '2,20,"20', '2,-,"20': '2,8.89,"20'}),
    ],
    ids=["German", "French"],
)
def test_a_worksheet_in_another_language_is_told_by_its_form(worksheet, filled):
    expected = worksheet
    for before, after in filled.items():
        expected = expected.replace(before, after)
    assert fill(Moodle(), worksheet.encode(), SCORES, overwrite=True) == (expected.encode(), [])


@pytest.mark.parametrize(
    "change",
    [
        ("100,00", "100"),  # could be any number that all share
        (
            "E-Mail-Adresse;Status",
            "Etage;Raum",
            "j@x.edu;Zur Bewertung abgegeben",
            "1;2,0",
            "r@x.edu;Keine Abgabe",
            "1;2,0",
        ),
        ("Teilnehmer/in78", "John"),
    ],
    ids=["no decimals", "two could be it", "no number"],
)
def test_a_form_with_more_than_one_reading_is_refused(change):
    content = GERMAN
    for before, after in zip(change[::2], change[1::2]):
        content = content.replace(before, after)
    with pytest.raises(Unusable, match="Identifier"):
        Moodle().fill(content.encode(), SCORES)


def test_anonymous_students_of_moodle_are_told_by_their_numbers():
    name = "Participant_78_assignsubmission_file"
    john = Student("k", *Moodle().owner(name))
    content = MOODLE.replace('"Full name",', "").replace('"Jane Doe",', "").replace('"John Roe",', "")
    assert fill(Moodle(), content.encode(), [(john, 9, 9)]) == (content.replace(",-,", ",100,").encode(), [])
    assert john.name == "Participant 78" and Moodle().feedback_name(john) == f"{name}_/feedback.html"


def test_a_file_in_an_older_encoding_keeps_it():
    content = MOODLE.replace("Jane", "Zoë").encode("cp1252")
    filled, _ = fill(Moodle(), content, SCORES)
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
    filled, remarks = fill(Canvas(), CANVAS.encode(), [(student, 9, 9)])
    assert filled.decode() == CANVAS.replace('C",,', 'C",18,') and remarks == []


def test_who_has_no_row_or_not_one_alone_is_named_and_nothing_is_filled():
    twins = MOODLE + 'Participant 80,"Jane Doe",d@x.edu,Submitted,,"100.00",\n'
    scores = [(Student("a", "Jane Doe"), 9, 9), (Student("b", "Nobody"), 9, 9)]
    filled, remarks = fill(Moodle(), twins.encode(), scores)
    assert filled == twins.encode()
    assert "Jane Doe: 2 rows" in remarks[0] and "Nobody: no row" in remarks[1]


@pytest.mark.parametrize(
    "text, platform",
    [
        ('Student,ID,SIS User ID,A (5)\n"Roe, Max",9,1001,\n', Canvas()),
        ("Identifier,Full name,ID number,Grade,Maximum grade\nParticipant 5,Max Roe,1001,,9\n", Moodle()),
    ],
)
def test_the_platforms_number_of_one_student_is_no_other_students_number(text, platform):
    filled, remarks = fill(platform, text.encode(), [(Student("a", "doejane", ("1001",)), 9, 9)])
    assert filled == text.encode() and "no row" in remarks[0]


def test_a_row_that_is_too_short_is_named_and_left():
    short = CANVAS.replace(',x2,john, A ,"",50', "")
    filled, remarks = fill(Canvas(), short.encode(), [(Student("k", "jane"), 9, 9), SCORES[1]])
    assert filled.decode() == short.replace('C",,', 'C",18,')
    assert remarks == ["John Roe: the row in Canvas's file is too short and was left as it was."]


def test_two_submissions_for_one_row_are_named():
    filled, remarks = fill(Canvas(), CANVAS.encode(), [(JANE, 9, 9), (Student("b", "jane"), 0, 9)])
    assert b'C",18,' in filled and "the same row" in remarks[0]


def test_of_several_assignments_one_must_be_named():
    two = CANVAS.replace("Section,", "Other (502),")
    with pytest.raises(Unusable, match=r"--column.*'Other \(502\)', 'Attention \(501\)'"):
        Canvas().fill(two.encode(), SCORES)
    filled, _ = fill(Canvas(), two.encode(), SCORES, "Attention")
    assert b'C",18,' in filled


def filling_of(platform, sheet):
    """A platform's file, read and ready to be filled."""
    filling = platform.export(Namespace(**{platform.option: sheet}, column=None, overwrite=False))
    filling.prepare()
    return filling


@pytest.mark.parametrize(
    "platform, sheet, names",
    [
        (Canvas(), CANVAS, {"k": "Doe, Jane"}),
        (Moodle(), MOODLE, {"k": "Jane Doe"}),
        (Moodle(), MOODLE.replace('"Full name"', "Status"), {}),
    ],
    ids=["Canvas", "Moodle", "no names"],
)
def test_a_gradebook_knows_what_somebody_is_called(platform, sheet, names, tmp_path):
    (tmp_path / "sheet.csv").write_text(sheet, encoding="utf-8")
    filling = filling_of(platform, tmp_path / "sheet.csv")
    assert filling.names([Student("k", "doejane", ("77",)), Student("n", "nobody")]) == names


@pytest.mark.parametrize("more, names", [(0, "John Roe"), (5, "John Roe; Mia 0; Mia 1; 3 more")])
def test_rows_that_get_no_points_are_counted_and_some_are_named(more, names, tmp_path):
    rows = (f'Participant {90 + k},"Mia {k}",m{k}@x.edu,,-,"100.00",\n' for k in range(more))
    (tmp_path / "worksheet.csv").write_text("".join([MOODLE, *rows]), encoding="utf-8")
    (said,) = filling_of(Moodle(), tmp_path / "worksheet.csv").plan(SCORES[:1], {})
    assert said.endswith(f"({1 + more}): {names}.")


@pytest.mark.parametrize(
    "platform, sheet, said, file, name",
    [
        (Moodle(), MOODLE, [], "", "Jane Doe_77_assignsubmission_file_/feedback.html"),
        (Canvas(), CANVAS, ["Poe, Mia."], "doejane_LATE_77_9001_03_hiding-1.ipynb", "doejane_77_9001_feedback.html"),
    ],
    ids=["Moodle", "Canvas"],
)
def test_pages_go_back_under_the_names_that_the_platform_knows(platform, sheet, said, file, name, tmp_path):
    (tmp_path / "sheet.csv").write_text(sheet, encoding="utf-8")
    lay(tmp_path / "out", {"feedback/jane.html": b"page"})
    filling = filling_of(platform, tmp_path / "sheet.csv")
    assert [sentence.rpartition(": ")[2] for sentence in filling.plan(SCORES, {})] == said
    known, unknown = (Namespace(student=student) for student in (replace(JANE, file=file), Student("jim", "Jim")))
    told = list(filling.write(tmp_path / "out", [("jane", known, None), ("jim", unknown, None)]))
    with zipfile.ZipFile(tmp_path / f"out/{platform.option}-feedback.zip") as found:
        assert found.namelist() == [name]
        assert found.read(name) == b"page"
    assert f"{platform.option}-feedback.zip" in told[0]


# --- what somebody else put there -------------------------------------------------------------------------------------


def with_points(jane):
    """Canvas's file with something in Jane's field."""
    return CANVAS.replace('C",,', f'C",{jane},').encode()


@pytest.mark.parametrize("there", ["8.5", "EX", "ex", "N/A", "0"])
def test_what_somebody_put_into_a_field_stays_and_is_named(there):
    filled = Canvas().fill(with_points(there), [(JANE, 9, 9)])
    assert filled.content == with_points(there) and not filled.changes
    assert f"Canvas has {there} where grading gives 18" in filled.remarks[0]


def test_what_the_grader_put_there_is_brought_up_to_date_and_named():
    filled = Canvas().fill(with_points("8.50"), [(JANE, 9, 9)], last={"jane": "8.5"})
    assert filled.content == with_points("18") and filled.changes == [("Jane Doe", "8.50", "18")]
    again = Canvas().fill(with_points("18.00"), [(JANE, 9, 9)])
    assert again.content == with_points("18.00") and not again.changes and not again.remarks


def test_with_overwrite_points_are_replaced_but_nothing_else():
    filled = Canvas().fill(with_points("8.5"), [(JANE, 9, 9)], overwrite=True)
    assert filled.content == with_points("18") and filled.changes == [("Jane Doe", "8.5", "18")]
    assert Canvas().fill(with_points("EX"), [(JANE, 9, 9)], overwrite=True).content == with_points("EX")


def test_a_name_is_matched_only_where_it_reads_one_way():
    text = 'Student,ID,A (5)\n    Points Possible,,9\n,,\n"Kim, Lee",1,\n'
    for name in ("Kim Lee", "42", "!", "李", "a__1__2"):  # Lee Kim stands there, and a row without a name
        filled, remarks = fill(Canvas(), text.encode(), [(Student("k", name), 9, 9)])
        assert filled == text.encode() and "no row" in remarks[0], name
    filled, _ = fill(Canvas(), text.encode(), [(Student("k", "Lee Kim"), 9, 9)])
    assert b'"Kim, Lee",1,9' in filled


def test_accents_are_the_same_however_they_are_stored():
    text = 'Student,ID,A (5)\n    Points Possible,,9\n"Muñoz, José",1,\n'
    for form in ("NFC", "NFD"):
        name = unicodedata.normalize(form, "José Muñoz")
        assert b",1,9" in fill(Canvas(), text.encode(), [(Student("k", name), 9, 9)])[0]


def test_rows_of_settings_are_nobodys():
    """Canvas writes one for how grades are posted, above the points."""
    text = CANVAS.replace("    Points", ",,,,,Manual Posting,\r\n    Points", 1)
    filled, remarks = fill(Canvas(), text.encode(), SCORES)
    assert b'C",18,' in filled and not remarks and b",,,,,Manual Posting," in filled


@pytest.mark.parametrize("most, points", [("1,000.00", "1000"), ("1.000,00", "1000"), ("10,00", "10")])
def test_highest_points_are_read_as_people_write_them(most, points):
    text = MOODLE.replace('"100.00"', f'"{most}"')
    assert f'late",{points},'.encode() in fill(Moodle(), text.encode(), [(JANE, 9, 9)])[0]
    with pytest.raises(Unusable, match="no number"):
        Moodle().fill(MOODLE.replace("100.00", "Scale").encode(), [(JANE, 9, 9)])


def test_a_file_as_excel_saves_unicode_keeps_its_encoding():
    content = CANVAS.removeprefix("\ufeff").replace(",", "\t").encode("utf-16")
    filled, _ = fill(Canvas(), content, [(JANE, 9, 9)])
    assert filled.decode("utf-16") != content.decode("utf-16") and "\t18\t" in filled.decode("utf-16")


@pytest.mark.parametrize(
    "content, platform",
    [
        (b"", Canvas()),
        (MOODLE.encode(), Canvas()),
        (CANVAS.encode(), Moodle()),
        (b"\x89PNG\0\1", Moodle()),
        (b'Identifier,Grade,Maximum grade\n"open, quote\n', Moodle()),
        (b"Identifier,Full name,Grade,Scale\nParticipant 5,Max Roe,,Good\n", Moodle()),  # no highest points to scale to
    ],
)
def test_another_file_is_refused(content, platform):
    with pytest.raises(Unusable):
        platform.fill(content, SCORES)
