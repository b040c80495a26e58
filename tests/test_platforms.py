"""Files of learning platforms: one column is filled, and every other byte stays."""

import unicodedata
import zipfile
from argparse import Namespace
from dataclasses import replace

import pytest

from course_tools.grading.platforms import PLATFORMS
from course_tools.grading.platforms.canvas import Canvas
from course_tools.grading.platforms.gradebook import Gradebook, UnusableGradebook
from course_tools.grading.platforms.gradescope import Gradescope
from course_tools.grading.platforms.moodle import Moodle
from course_tools.grading.reports import Student
from course_tools.grading.submissions import owner_in
from tests.support.handed_in import lay

# Moodle knows them by their numbers, Canvas by their names
JANE, JOHN = Student("jane", "Jane Doe", ("77",), "Moodle"), Student("john", "John Roe", ("78",), "Moodle")
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
GRADEBOOKS = pytest.mark.parametrize(
    "platform", [each for each in PLATFORMS if isinstance(each, Gradebook)], ids=lambda each: each.name
)


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


@GRADEBOOKS
def test_a_gradebook_has_all_that_is_asked_of_one(platform):
    absent = [name for name in Gradebook.__annotations__ if not hasattr(platform, name)]
    methods = ("owner", "column", "most_points", "feedback_name")
    absent += [name for name in methods if getattr(type(platform), name) is getattr(Gradebook, name)]
    assert not absent, f"{platform.name}: give it {', '.join(absent)}; platforms/gradebook.py says what each is"


@GRADEBOOKS
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
    with pytest.raises(UnusableGradebook, match="Identifier"):
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
        Student("k", *Canvas().owner("someone_77_9001_x")),
        Student("k", "Jane Q.", ("x1", "jane@x.edu")),
        Student("k", "jane"),
        Student("k", "X1"),
        Student("k", "Jane Doe"),
        Student("k", "Doe, Jane"),
    ],
    ids=["ID", "student number", "login", "SIS ID", "name", "name as in Canvas"],
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


# Ben has the number 1002 on the platform itself, Jane has it at the institution
NUMBERS = {
    "Canvas": (Canvas(), 'Student,ID,SIS User ID,A (5)\n"Roe, Ben",1002,7,\n"Doe, Jane",5,1002,\n'),
    "Canvas's logins": (Canvas(), 'Student,ID,SIS Login ID,A (5)\n"Roe, Ben",1002,7,\n"Doe, Jane",5,1002,\n'),
    "Canvas's integration": (Canvas(), 'Student,ID,Integration ID,A (5)\n"Roe, Ben",1002,7,\n"Doe, Jane",5,1002,\n'),
    "Moodle": (
        Moodle(),
        "Identifier,Full name,ID number,Maximum grade,Grade\n"
        "Participant 1002,Ben Roe,7,9,\nParticipant 5,Jane Doe,1002,9,\n",
    ),
    "Moodle's logins": (
        Moodle(),
        "Identifier,Full name,Username,Maximum grade,Grade\n"
        "Participant 1002,Ben Roe,7,9,\nParticipant 5,Jane Doe,1002,9,\n",
    ),
}
ON_CANVAS, ON_MOODLE = Canvas().owner("max_1002_9001_x"), Moodle().owner("Max_1002_assignsubmission_file_")
(ON_GRADESCOPE,) = Gradescope().owners(b"a: {':submitters': [{':name': max, ':sid': '1002', ':email': m@x}]}")["a"]


@pytest.mark.parametrize("case", NUMBERS)
@pytest.mark.parametrize(
    "owner",
    [ON_CANVAS, ON_MOODLE, ON_GRADESCOPE, ("1002",)],
    ids=["Canvas's number", "Moodle's number", "student number", "name of a folder"],
)
def test_a_number_is_one_of_its_own_platform_or_of_the_institution_and_nobody_elses(owner, case):
    platform, text = NUMBERS[case]
    filled, remarks = fill(platform, text.encode(), [(Student("k", *owner), 9, 9)])
    of_another_platform = {ON_CANVAS: Moodle, ON_MOODLE: Canvas}.get(owner)
    if of_another_platform and isinstance(platform, of_another_platform):
        assert filled == text.encode() and "max (1002): no row" in remarks[0].casefold()
    else:
        whose = "Roe" if owner in (ON_CANVAS, ON_MOODLE) else "Doe"
        (row,) = [line for line in filled.decode().splitlines() if line.endswith(",9")]
        assert whose in row and remarks == []


@pytest.mark.parametrize("owner", [ON_GRADESCOPE, ("1002",)], ids=["student number", "name of a folder"])
@pytest.mark.parametrize("case", ["Canvas", "Moodle"])
def test_a_student_number_that_only_the_platforms_own_column_knows_is_nobodys(owner, case):
    platform, text = NUMBERS[case]
    text = text.replace(",1002,", ",8,")
    filled, remarks = fill(platform, text.encode(), [(Student("k", *owner), 9, 9)])
    assert filled == text.encode() and "no row" in remarks[0]


def test_columns_that_know_different_students_by_one_word_fill_nothing():
    text = 'Student,ID,SIS User ID,SIS Login ID,A (5)\n"Roe, Ben",1,1002,b,\n"Doe, Jane",2,x,1002,\n'
    filled, remarks = fill(Canvas(), text.encode(), [(Student("1002", "1002"), 9, 9)])
    assert filled == text.encode() and "1002: 2 rows" in remarks[0]


def test_a_row_that_is_too_short_is_named_and_left():
    short = CANVAS.replace(',x2,john, A ,"",50', "")
    filled, remarks = fill(Canvas(), short.encode(), [(Student("k", "jane"), 9, 9), SCORES[1]])
    assert filled.decode() == short.replace('C",,', 'C",18,')
    assert remarks == ["John Roe: the row in Canvas's file is too short, so it was not changed."]


def test_where_two_claim_a_row_neither_is_filled_and_both_are_named():
    scores = [(Student("b", "jane"), 0, 9), *SCORES]
    for claims in (scores, scores[::-1]):
        filled, remarks = fill(Canvas(), CANVAS.encode(), claims)
        assert filled.decode() == CANVAS.replace(' A ,"",50', ' A ,"8",50')
        assert len(remarks) == 1 and "jane" in remarks[0] and "Jane Doe (77)" in remarks[0]


VIC, EVE = '"Vo, Tim",1,v,votim,A,,', '"{}",77,e,eve,A,,'


def class_of(name):
    """Canvas's file for Tim Vo, whose number is 1, and for somebody of this name, whose number is 77."""
    return "\r\n".join([*CANVAS.splitlines()[:2], VIC, EVE.format(name), ""])


@pytest.mark.parametrize(
    "name, file",
    [
        ("a__1__2", "a_1_2_77_9001_hw"),
        ("votim_1", "votim_1_77_9001_hw"),
        ("votim__1__5000", "votim_1_5000_77_9001_hw"),
    ],
)
@pytest.mark.parametrize("victim", [True, False], ids=["with the victim", "alone"])
def test_a_name_that_reads_as_another_students_takes_no_row(name, file, victim):
    """Canvas takes what stands in _3_ out of a name, so that a__1__2 becomes a_1_2."""
    owners = [Canvas().owner("votim_1_5000_03_hiding")] * victim + [Canvas().owner(file)]
    scores = [(Student("-".join(owner.ids), *owner), 9, 9) for owner in owners]
    filled, remarks = fill(Canvas(), class_of(name).encode(), scores)
    assert filled.decode() == class_of(name).replace(VIC, VIC.replace(",A,,", ",A,18,") if victim else VIC)
    assert len(remarks) == 1 and remarks[0].startswith(f"{owners[-1].name} (1 ")
    assert " 77): 2 rows" in remarks[0]


@pytest.mark.parametrize("file", ["eve_77_9001_2026_05_01_hw", "x_999_2_77_9001_hw", "student_12_77_9001_3_2_hw"])
def test_a_name_with_more_numbers_is_filled_where_one_alone_is_known(file):
    owner = Canvas().owner(file)
    filled, remarks = fill(Canvas(), class_of("Eve").encode(), [(Student("k", *owner), 9, 9)])
    assert filled.decode() == class_of("Eve").replace("eve,A,,", "eve,A,18,") and remarks == []


@pytest.mark.parametrize(
    "file, owner, late",
    [
        ("doejane_77_9001_03_hiding_the_future", ("doejane", ("77",), "Canvas"), False),
        ("doejane_LATE_77_9001_10_what_a_long_text_costs-1", ("doejane", ("77",), "Canvas"), True),
        ("doejane_late_77_9001_99_notes", ("doejane", ("77",), "Canvas"), True),  # as older versions wrote it
        ("van_der_berg_LATE_77_9001_hw", ("van_der_berg", ("77",), "Canvas"), True),
        ("_LATE_77_9001_hw", ("77", ("77",), "Canvas"), True),  # of a name without a letter
        ("कुमार_LATE_77_9001_hw", ("कुमार", ("77",), "Canvas"), True),
        ("doejane_77_9001_", ("doejane", ("77",), "Canvas"), False),  # a file called .ipynb
        ("doejane_77_9001_a-b_2_3_x", ("doejane", ("77",), "Canvas"), False),  # no name holds a hyphen
        ("a_1_2_LATE_77_9001_hw", ("a", ("1", "77"), "Canvas"), True),
        ("x_999_2_LATE_77_9001_03_hiding", ("x", ("999", "77"), "Canvas"), True),
        ("x_1_77_9001_hw", ("x", ("1", "77"), "Canvas"), False),
        ("a_١_٢_LATE_77_9001_hw", ("a_١_٢", ("77",), "Canvas"), True),
        ("anon_aB3dE_9001_03_hiding_the_future", ("anon_aB3dE", (), "Canvas"), False),
        ("LATE_anon_aB3dE_9001_hw", ("anon_aB3dE", (), "Canvas"), True),
        ("anon_12345_9001_2_3_x", ("anon_12345", (), "Canvas"), False),  # five digits are no number of Canvas
        ("anon_aB3dE_5_LATE_77_9001_hw", ("anon_aB3dE", (), "Canvas"), True),  # what somebody may be called
    ],
)
def test_a_name_of_canvas_is_read_in_every_way_that_canvas_may_have_written_it(file, owner, late):
    assert (Canvas().owner(file), Canvas().is_late(file)) == (owner, late)


@pytest.mark.parametrize("name", ["jane doe_3_2_x", "bob-hw_1_2_x", "doejane_77_text", "alice", "hw_03_04_x"])
def test_other_names_are_not_canvass(name):
    assert Canvas().owner(name) is None and not Canvas().is_late(name)


def test_of_several_assignments_one_must_be_named():
    two = CANVAS.replace("Section,", "Other (502),")
    with pytest.raises(UnusableGradebook, match=r"--column.*'Other \(502\)', 'Attention \(501\)'"):
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
    assert filling.full_names([replace(JANE, key="k"), Student("n", "nobody")]) == names


@pytest.mark.parametrize("more, names", [(0, "John Roe"), (5, "John Roe; Mia 0; Mia 1; 3 more")])
def test_rows_that_get_no_points_are_counted_and_some_are_named(more, names, tmp_path):
    rows = (f'Participant {90 + k},"Mia {k}",m{k}@x.edu,,-,"100.00",\n' for k in range(more))
    (tmp_path / "worksheet.csv").write_text("".join([MOODLE, *rows]), encoding="utf-8")
    (said,) = filling_of(Moodle(), tmp_path / "worksheet.csv").planned_changes(SCORES[:1], {})
    assert said.endswith(f"({1 + more}): {names}.")


@pytest.mark.parametrize(
    "platform, sheet, file, name",
    [
        (Moodle(), MOODLE, "Jane Doe_77_assignsubmission_file_", "Jane Doe_77_assignsubmission_file_/feedback.html"),
        (Canvas(), CANVAS, "doejane_LATE_77_9001_03_hiding-1.ipynb", "doejane_77_9001_feedback.html"),
        (Canvas(), CANVAS, "doejane_77_9001_2026_hw.ipynb", "doejane_77_9001_feedback.html"),
        (Canvas(), CANVAS, "LATE_anon_aB3dE_9001_hw.ipynb", "anon_aB3dE_9001_feedback.html"),
        (Canvas(), CANVAS, "x_999_2_77_9001_hw.ipynb", None),
        (Canvas(), CANVAS, "roejohn_78_2_77_9001_hw.ipynb", None),
        (Canvas(), CANVAS, "Jane Doe_77_assignsubmission_file_", None),
        (Moodle(), MOODLE, "doejane_77_9001_hw.ipynb", None),
    ],
    ids=lambda value: str(getattr(value, "name", value))[:20],
)
def test_pages_go_back_under_the_names_that_the_platform_itself_knows(platform, sheet, file, name, tmp_path):
    (tmp_path / "sheet.csv").write_text(sheet, encoding="utf-8")
    lay(tmp_path / "out", {"feedback/jane.html": b"page"})
    filling = filling_of(platform, tmp_path / "sheet.csv")
    list(filling.planned_changes(SCORES, {}))
    jane = Student("jane", *owner_in(file), file=file)
    known, unknown = (Namespace(student=student) for student in (jane, Student("jim", "Jim")))
    told = list(filling.write(tmp_path / "out", [(known, None), (unknown, None)]))
    place = tmp_path / f"out/{platform.option}-feedback.zip"
    assert place.exists() == (place.name in told[0]) == (name is not None)
    if name:
        with zipfile.ZipFile(place) as found:
            assert found.namelist() == [name]
            assert found.read(name) == b"page"


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
    with pytest.raises(UnusableGradebook, match="not a number"):
        Moodle().fill(MOODLE.replace("100.00", "Scale").encode(), [(JANE, 9, 9)])


def test_a_file_as_excel_saves_unicode_keeps_its_encoding():
    content = CANVAS.removeprefix("\ufeff").replace(",", "\t").encode("utf-16")
    filled, _ = fill(Canvas(), content, [(Student("k", "jane"), 9, 9)])
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
    with pytest.raises(UnusableGradebook):
        platform.fill(content, SCORES)


SPLIT = (
    "LastName,FirstName,ID,SIS User ID,SIS Login ID,Section,Attention (501)\r\n"
    "    Points Possible,,,,,,18\r\n"
    "Doe,Jane,77,x1,jane,A,\r\n"
    "Roe,John,78,x2,john,A,\r\n"
    "Roe,Ada,79,x3,ada,A,\r\n"
)


def test_a_gradebook_of_canvas_with_split_names_is_filled_and_gives_full_names():
    filled, remarks = fill(Canvas(), SPLIT.encode(), SCORES)  # Canvas knows these two by their names alone
    assert remarks == [] and filled.decode() == SPLIT.replace("jane,A,", "jane,A,18").replace("john,A,", "john,A,8")
    sheet = Canvas().sheet(SPLIT.encode())
    assert [Canvas().full_name(sheet, row) for row in Canvas().students(sheet)] == [
        "Doe, Jane",
        "Roe, John",
        "Roe, Ada",
    ]


@pytest.mark.parametrize(
    "file, owner, late",
    [
        ("doejane_77_link.html", ("doejane", ("77",), "Canvas"), False),
        ("doejane_LATE_77_text.html", ("doejane", ("77",), "Canvas"), True),
        ("LATE_anon_aB3dE_link.html", ("anon_aB3dE", (), "Canvas"), True),
        ("x_1_9001_link.html", ("x", ("1", "9001"), "Canvas"), False),  # or a file of theirs that is called link.html
    ],
)
def test_an_address_or_a_text_typed_into_canvas_is_somebodys(file, owner, late):
    assert (Canvas().owner(file), Canvas().is_late(file)) == (owner, late)
    assert Canvas().feedback_name(Student("k", owner[0], owner[1], "Canvas", file)) in (None, "x_1_9001_feedback.html")


def test_a_term_of_assignments_goes_into_one_gradebook_one_after_the_other():
    book = CANVAS.replace("Final Score", "Masks (502)").replace("(read only)", "10").replace("50", "")
    first = fill(Canvas(), book.encode(), SCORES, wanted="Attention")[0]
    both, remarks = fill(Canvas(), first, [(JANE, 1, 2)], wanted="Masks")
    assert b'C",18,5\r\n' in both and remarks == []
