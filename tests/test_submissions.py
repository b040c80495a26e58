"""Who handed in what: every form of download is understood; no file leads out of the folder or fills the memory."""

import os
import re
import sys
import threading
from types import SimpleNamespace

import pytest

from course_tools.grading import submitted_files
from course_tools.grading.submissions import READ_AS_ONE, submissions
from course_tools.grading.unpacking import MOST_NOTEBOOKS, unpack_submission
from tests.support.handed_in import NAME, lay, zipped

BOOK = b'{"cells": []}'


def opened(submission):
    """([(name, bytes) of each notebook], remarks) of a submission."""
    files, remarks = submission.read()
    handed = unpack_submission(files)
    return handed.notebooks, [*remarks, *handed.remarks]


def seen(start):
    """{(name, ids): names of the notebooks} for all submissions."""
    return {
        (found.student.name, found.student.ids): [name.rpartition("/")[2] for name, _ in opened(found)[0]]
        for found in submissions(start)
    }


FORMS = {
    "a folder a student": (
        {f"alice/{NAME}": BOOK, f"bob/deep/er/{NAME}": BOOK, "bob/notes.pdf": b""},
        {("alice", ()): [NAME], ("bob", ()): [NAME]},
    ),
    "a folder beside a zip of its name": (
        {f"Jane/{NAME}": BOOK, "Jane.zip": zipped({NAME: BOOK})},
        {("Jane", ()): [NAME, NAME]},
    ),
    "a name in both forms of Unicode": (
        {"Zoe\u0308/a.ipynb": BOOK, "Zo\u00eb/b.ipynb": BOOK, f"bob/{NAME}": BOOK},
        {("Zo\u00eb", ()): ["a.ipynb", "b.ipynb"], ("bob", ()): [NAME]},
    ),
    "flat names": (
        {
            "alice.ipynb": BOOK,
            f"bob_{NAME}": BOOK,
            f"{NAME[:-6]} - carol.ipynb": BOOK,
            f"alice_{NAME[:-6]} (1).ipynb": BOOK,
        },
        {
            ("alice", ()): ["alice.ipynb", f"alice_{NAME[:-6]} (1).ipynb"],
            ("bob", ()): [f"bob_{NAME}"],
            ("carol", ()): [f"{NAME[:-6]} - carol.ipynb"],
        },
    ),
    "Canvas": (
        {
            f"doejane_LATE_123_4567_{NAME}": BOOK,
            "doejane_123_4568_work.zip": zipped({"x.ipynb": BOOK}),
            f"roe_9_1_{NAME}": BOOK,
        },
        {("doejane", ("123",)): ["x.ipynb", f"doejane_LATE_123_4567_{NAME}"], ("roe", ("9",)): [f"roe_9_1_{NAME}"]},
    ),
    "Canvas, anonymous": (
        {
            "LATE_anon_aB3dE_4567_a.ipynb": BOOK,
            "LATE_anon_aB3dE_4568_b.ipynb": BOOK,
            f"anon_12345_4569_{NAME}": BOOK,
        },
        {
            ("anon_aB3dE", ()): ["LATE_anon_aB3dE_4567_a.ipynb", "LATE_anon_aB3dE_4568_b.ipynb"],
            ("anon_12345", ()): [f"anon_12345_4569_{NAME}"],
        },
    ),
    "Canvas, with numbers in names": (  # the second is x_1, or hands in 9001_hw: nothing of it is mixed with x's
        {"x_1_5000_a.ipynb": BOOK, "x_1_77_9001_hw.ipynb": BOOK, "x_1_77_9002_more.ipynb": BOOK},
        {
            ("x", ("1",)): ["x_1_5000_a.ipynb"],
            ("x", ("1", "77")): ["x_1_77_9001_hw.ipynb", "x_1_77_9002_more.ipynb"],
        },
    ),
    "zips with a colon in them": (
        {
            "alice.zip": zipped({f"HW 3: attention/{NAME}": BOOK}),
            "bob.zip": zipped({"HW 3: attention.ipynb": BOOK, "Q: why.ipynb": BOOK}),
        },
        {("alice", ()): [NAME], ("bob", ()): ["HW 3: attention.ipynb", "Q: why.ipynb"]},
    ),
    "Moodle's folders": (
        {f"Jané Doe_77_assignsubmission_file_/{NAME}": BOOK, f"X Y_78_assignsubmission_file/{NAME}": BOOK},
        {("Jané Doe", ("77",)): [NAME], ("X Y", ("78",)): [NAME]},
    ),
    "Moodle's flat names": (
        {f"Jané Doe_77_assignsubmission_file_{NAME}": BOOK},
        {("Jané Doe", ("77",)): [f"Jané Doe_77_assignsubmission_file_{NAME}"]},
    ),
    "Gradescope": (
        {
            f"assignment_5_export/submission_11/{NAME}": BOOK,
            "assignment_5_export/submission_metadata.yml": b"submission_11:\n  :submitters:\n  - :name: Jane Doe\n"
            b"    :sid: '42'\n    :email: j@x.edu\n",
        },
        {("Jane Doe", ("42", "j@x.edu")): [NAME]},
    ),
    "wrapped in one folder": (
        {f"downloads/class/alice/{NAME}": BOOK, f"downloads/class/bob/{NAME}": BOOK},
        {("alice", ()): [NAME], ("bob", ()): [NAME]},
    ),
    "names that browsers changed": (
        {"alice/x.ipynb.txt": BOOK, "alice/Y.IPYNB": BOOK, "bob/x.ipynb.json": BOOK},
        {("alice", ()): ["Y.IPYNB", "x.ipynb.txt"], ("bob", ()): ["x.ipynb.json"]},
    ),
    "traces of tools": (
        {
            f"alice/{NAME}": BOOK,
            "alice/.ipynb_checkpoints/a.ipynb": BOOK,
            "alice/env/b.ipynb": BOOK,  # a folder of her own
            "alice/venv/lib/python3.12/idlelib/a.ipynb": BOOK,
            "alice/venv/lib/site-packages/a.ipynb": BOOK,
            "__MACOSX/alice/._a.ipynb": BOOK,
            "b/c.ipynb": BOOK,
        },
        {("alice", ()): [NAME, "b.ipynb"], ("b", ()): ["c.ipynb"]},
    ),
    "a zip a student": (
        {"alice.zip": zipped({f"hw/{NAME}": BOOK}), "bob.zip": zipped({"inner.zip": zipped({NAME: BOOK})})},
        {("alice", ()): [NAME], ("bob", ()): [NAME]},
    ),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["folder", "zip", "zip beside a gradebook"])
def test_every_form_of_download_is_understood(form, kind, tmp_path):
    files, expected = FORMS[form]
    start = lay(tmp_path / "class", files)
    if kind == "zip":
        start = lay(tmp_path, {"class.zip": zipped(files)}) / "class.zip"
    elif kind == "zip beside a gradebook":
        start = lay(tmp_path / "both", {"class.zip": zipped(files), "exported.csv": b"Student,ID\n"})
    assert seen(start) == expected
    late = {found.student.name for found in submissions(start) if found.late}
    assert late == {"Canvas": {"doejane"}, "Canvas, anonymous": {"anon_aB3dE"}}.get(form, set())


def test_one_students_own_folder_is_one_submission(tmp_path):
    files = {NAME: BOOK, "04_dropout_and_the_causal_class.ipynb": BOOK}
    assert seen(lay(tmp_path / "submission", files)) == {("submission", ()): sorted(files)}
    assert seen(lay(tmp_path / "class", {f"alice/{name}": BOOK for name in files})) == {("alice", ()): sorted(files)}
    assert seen(lay(tmp_path / "one", {"alice/homework.ipynb": BOOK})) == {("alice", ()): ["homework.ipynb"]}
    alone = {f"Jane Doe_77_assignsubmission_file_/{name}": BOOK for name in ("a.ipynb", "b.ipynb")}
    assert seen(lay(tmp_path / "moodle", alone)) == {("Jane Doe", ("77",)): ["a.ipynb", "b.ipynb"]}
    in_folders = lay(tmp_path / "bob", {f"{name.removesuffix('.ipynb')}/{name}": BOOK for name in files})
    assert seen(in_folders) == {("bob", ()): sorted(files)}


def test_what_is_taken_for_the_folder_of_a_class_is_named_unless_platforms_name_its_students(tmp_path, capsys):
    files = {f"{folder}/{NAME}": BOOK for folder in ("hw3", "hw4")}
    in_folder = lay(tmp_path / "class", {f"jane/{name}": content for name, content in files.items()})
    for start in (in_folder, lay(tmp_path / "downloads", {"jane.zip": zipped(files), "exported.csv": b""})):
        assert len(seen(start)) == 2
        assert "jane was read as the folder of a class with 2 students" in capsys.readouterr().err
    assert list(seen(lay(in_folder, {"note.txt": b""}))) == [("jane", ())]
    assert "folder of a class" not in capsys.readouterr().err
    flat = {f"doe_{number}_4567_{NAME}": BOOK for number in (1, 2)}
    assert len(seen(lay(tmp_path / "canvas", {"submissions.zip": zipped(flat)}))) == 2
    assert len(seen(lay(tmp_path / "plain", files))) == 2
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "names, alike",
    [
        ([f"Jane/{NAME}", "Jane.zip"], ["Jane", "Jane.zip"]),
        ([f"Zoe\u0308/{NAME}", f"Zo\u00eb/{NAME}"], ["Zoe\u0308", "Zo\u00eb"]),
        (
            [f"Zoe\u0308_{NAME}", "Zo\u00eb_05_multi_head_attention.ipynb"],
            [f"Zoe\u0308_{NAME}", "Zo\u00eb_05_multi_head_attention.ipynb"],
        ),
        ([f"Jane_{NAME}", "Jane.ipynb"], []),
        ([f"Jane/{NAME}", "Jane/Jane.zip"], []),
        ([NAME, f"{NAME[:-6]}.zip"], []),
    ],
)
def test_names_that_become_one_student_and_may_be_two_are_named(names, alike, tmp_path):
    files = {name: zipped({NAME: BOOK}) if name.endswith(".zip") else BOOK for name in names}
    others = {} if NAME in names else {f"bob/{NAME}": BOOK}  # beside a chapter's own name there is one student alone
    (found,) = (each for each in submissions(lay(tmp_path / "class", files | others)) if each.student.name != "bob")
    said = [remark for remark in found.read()[1] if "read as one" in remark]
    assert said == ([READ_AS_ONE.format(" and ".join(alike))] if alike else [])


def test_a_file_beside_the_students_is_nobodys_and_is_named(tmp_path, capsys):
    assert list(seen(lay(tmp_path / "submission", {NAME: BOOK, "data.csv": b""}))) == [("submission", ())]
    assert "data.csv" in capsys.readouterr().err
    files = {f"alice/{NAME}": BOOK, f"roe_9_1_{NAME}": BOOK, "doe_8_2_work.pdf": b"", "exported.csv": b""}
    assert list(seen(lay(tmp_path / "class", files))) == [("alice", ()), ("doe", ("8",)), ("roe", ("9",))]


@pytest.mark.parametrize("content", [b"{", b"3", b"submission_11: {}", b"submission_11: {':submitters': [3]}"])
def test_a_list_of_students_that_is_none_is_refused(content, tmp_path):
    lay(tmp_path / "class", {f"submission_11/{NAME}": BOOK, "submission_metadata.yml": content})
    with pytest.raises(SystemExit, match="(?s)not in Gradescope's format .* Export it again"):
        submissions(tmp_path / "class")


def test_names_from_a_mac_or_from_dos_are_read_as_they_were_written(tmp_path):
    made = zipped({f"José/{NAME}": BOOK, f"b/{NAME}": BOOK}).replace("José".encode(), "José".encode())
    flagged = bytearray(made)
    for mark, flags in [(b"PK\x03\x04", 6), (b"PK\x01\x02", 8)]:  # take away the flag that says "this is UTF-8"
        place = flagged.find(mark)
        flagged[place + flags : place + flags + 2] = b"\0\0"
    old = zipped({f"Jos~/{NAME}": BOOK, f"b/{NAME}": BOOK}).replace(b"Jos~", b"Jos\x82")  # as DOS wrote it
    lay(tmp_path, {"mac.zip": flagged, "dos.zip": old})
    assert ("José", ()) in seen(tmp_path / "mac.zip") and ("José", ()) in seen(tmp_path / "dos.zip")


def test_every_students_files_get_a_name_of_their_own_that_stays_in_the_folder(tmp_path):
    names = ["ANA", "Ana", "ana", "con", "Émile", "x" * 200, "a;b&c", "a..."]
    start = lay(tmp_path / "class", {f"{name}_{k}_assignsubmission_file_/{NAME}": BOOK for k, name in enumerate(names)})
    lay(start, {f"{name}/{NAME}": BOOK for name in ["con", "x" * 79 + " y", "x" * 79 + " z", "a&b", "a;b"]})
    keys = [found.student.key for found in submissions(start)]
    assert len({key.casefold() for key in keys}) == len(names) + 5
    for key in keys:
        assert (tmp_path / key).parent == tmp_path and key.strip(". ") and len(key.encode()) < 100 and key != "con"
        assert re.fullmatch(r"[\w .@+~-]+", key)
        (tmp_path / f"{key}.html").write_text("", encoding="utf-8")


def test_a_students_files_keep_their_name_whoever_else_hands_in(tmp_path):
    """Kim Lee is the name of three; where no number tells two apart, what is unlike in their names does."""
    two = {f"Kim Lee_{number}_assignsubmission_file_/{NAME}": BOOK for number in (5, 9)}
    more = two | {f"Kim Lee_3_assignsubmission_file_/{NAME}": BOOK, f"Kim Lee/{NAME}": BOOK, f"Kim Lee-5/{NAME}": BOOK}
    before, after = (
        {
            (found.student.name, found.student.ids): found.student.key
            for found in submissions(lay(tmp_path / name, files))
        }
        for name, files in [("before", two), ("after", more)]
    )
    assert before == {("Kim Lee", ("5",)): "Kim Lee-5", ("Kim Lee", ("9",)): "Kim Lee-9"}
    assert after["Kim Lee", ("9",)] == "Kim Lee-9" and after["Kim Lee", ("3",)] == "Kim Lee-3"
    assert after["Kim Lee", ()] == "Kim Lee" and len(set(after.values())) == 5
    assert "Kim Lee-5" not in after.values(), "what two could be called neither is, so nothing of one goes to the other"


def test_a_student_whose_file_begins_with_a_number_keeps_the_same_name_after_handing_in_again(tmp_path):
    """Canvas gives each file another number, which may be read as the student's."""
    for attachment in ("9001", "9002"):
        (found,) = submissions(lay(tmp_path / attachment, {f"doe_77_{attachment}_2026_homework.ipynb": BOOK}))
        assert found.student.key == "doe-77" and found.student.ids == ("77", attachment)


def test_one_number_of_two_platforms_is_two_students(tmp_path):
    files = {f"doe_77_9001_{NAME}": BOOK, f"doe_77_assignsubmission_file_/{NAME}": BOOK}
    found = [each.student for each in submissions(lay(tmp_path / "class", files))]
    assert [student.numbered_by for student in found] == ["Canvas", "Moodle"] and found[0].key != found[1].key


# --- nothing leads out of the folder, nothing fills the memory --------------------------------------------------------


def remarks(start):
    """{student: ([bytes that were read], all remarks in one text)}."""
    read = {found.student.name: opened(found) for found in submissions(start)}
    return {name: ([content for _, content in notebooks], " ".join(said)) for name, (notebooks, said) in read.items()}


@pytest.mark.skipif(os.name == "nt", reason="Windows asks for a privilege to make links")
def test_links_are_not_followed_and_are_named(tmp_path):
    lay(tmp_path, {"secret/key.ipynb": b"secret", f"class/bob/{NAME}": BOOK})
    lay(tmp_path / "class", {"alice/x": b""})
    (tmp_path / "class/alice/a.ipynb").symlink_to(tmp_path / "secret/key.ipynb")
    (tmp_path / "class/alice/folder").symlink_to(tmp_path / "secret")
    (tmp_path / "class/carol").symlink_to(tmp_path / "secret")
    os.mkfifo(tmp_path / "class/bob/pipe.ipynb")
    found = remarks(tmp_path / "class")
    assert found["alice"][0] == [] and found["alice"][1].count("links are not followed") == 2
    assert found["carol"][0] == [] and "link" in found["carol"][1]
    assert found["bob"][0] == [BOOK] and "pipe.ipynb is not a regular file" in found["bob"][1]


@pytest.mark.skipif(os.name == "nt", reason="Windows asks for a privilege to make links")
def test_a_file_that_becomes_a_link_after_it_was_found_is_not_followed(tmp_path):
    lay(tmp_path, {"secret": b"secret", f"class/alice/{NAME}": BOOK})
    (found,) = submissions(tmp_path / "class")
    (tmp_path / "class/alice" / NAME).unlink()
    (tmp_path / "class/alice" / NAME).symlink_to(tmp_path / "secret")
    notebooks, said = opened(found)
    assert notebooks == [] and f"{NAME} cannot be read: " in said[0]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pipes among its files")
def test_a_file_that_becomes_a_pipe_after_it_was_found_keeps_nobody_waiting(tmp_path):
    (found,) = submissions(lay(tmp_path / "class", {f"alice/{NAME}": BOOK}))
    path = tmp_path / "class/alice" / NAME
    path.unlink()
    os.mkfifo(path)
    rescued = []

    def rescue():
        rescued.append(os.close(os.open(path, os.O_WRONLY)))  # whoever waits for a writer goes on

    rescuer = threading.Timer(5, rescue)
    rescuer.start()
    assert opened(found)[0] == [(NAME, b"")] and not rescued
    rescuer.cancel()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names are Unicode")
def test_a_name_of_bytes_that_are_no_text_is_shown_as_far_as_it_goes(tmp_path):
    folder = os.fsencode(tmp_path) + b"/class/al\xffce"
    os.makedirs(folder)
    with open(folder + b"/03.ipynb", "wb") as file:
        file.write(BOOK)
    assert remarks(lay(tmp_path / "class", {f"bob/{NAME}": BOOK})) == {"al\\xffce": ([BOOK], ""), "bob": ([BOOK], "")}
    os.renames(folder, folder.replace(b"\xff", b"\xfe"))
    os.makedirs(folder)
    assert len({found.student.key for found in submissions(tmp_path / "class")}) == 3, "two names, two students"


def test_names_that_differ_in_what_nobody_sees_are_students_of_their_own(tmp_path):
    """Whatever names one of two is a name that they share."""
    names = ["Jane", "Jane ", "Jane\xa0", "Jane\u200b", "Jane_", "Jané\n"]
    (tmp_path / "class.zip").write_bytes(zipped({f"{name}/{NAME}": BOOK for name in names}))
    found = [each.student for each in submissions(tmp_path / "class.zip")]
    assert len({student.key for student in found}) == len(names)
    assert sorted(student.name for student in found) == ["Jane", "Jane", "Jane\\u200b", "Jane\\xa0", "Jane_", "Jané\\n"]


def test_what_is_not_read_for_a_reason_is_not_read_by_anybody(tmp_path):
    lay(tmp_path, {NAME: BOOK})
    with pytest.raises(submitted_files.UnreadableFile, match="some reason"):
        submitted_files.SubmittedFile((NAME,), tmp_path / NAME, problem="some reason").read()


def test_a_submission_of_very_many_or_very_large_notebooks_is_read_in_part(tmp_path, monkeypatch):
    start = lay(tmp_path / "class", {f"{who}/{k}.ipynb": BOOK for who in ("alice", "bob") for k in range(5)})
    lay(start, {f"bob/0{k}.py": b"" for k in range(5)})
    monkeypatch.setattr("course_tools.grading.unpacking.MOST_NOTEBOOKS", 3)
    assert remarks(start)["bob"] == ([BOOK] * 3, "Only the first 3 of 5 notebooks were read.")
    with monkeypatch.context() as patch:
        patch.setattr("course_tools.grading.submissions.MOST_FILES", 2)
        assert remarks(start)["bob"] == ([BOOK] * 2, "Only the first 2 of 10 files were read.")
    monkeypatch.setattr(submitted_files, "LARGEST_SUBMISSION", 2 * len(BOOK))
    assert remarks(start)["bob"][0] == [BOOK] * 2 and "2.ipynb was not read: one submission" in remarks(start)["bob"][1]


def test_a_colon_in_a_name_leads_nowhere(tmp_path):
    """Names on macOS and Linux may hold one; Windows writes it after the letter of a disk."""
    names = [f"HW 3: attention/alice/{NAME}", "HW 3: attention/bob/part 1: masks.ipynb", f"HW 3: attention/C: x/{NAME}"]
    lay(tmp_path, {"class.zip": zipped(dict.fromkeys(names, BOOK))})
    assert remarks(tmp_path / "class.zip") == {"alice": ([BOOK], ""), "bob": ([BOOK], ""), "C: x": ([BOOK], "")}


@pytest.mark.parametrize("name", [f"../{NAME}", f"/etc/{NAME}", f"..\\..\\{NAME}", f"C:\\{NAME}", f"a/../../{NAME}"])
def test_names_in_a_zip_that_lead_out_of_it_are_refused_and_nothing_else(name, tmp_path):
    lay(tmp_path / "class", {"alice.zip": zipped({name: b"bad", f"good/{NAME}": BOOK}), f"bob/{NAME}": BOOK})
    found = remarks(tmp_path / "class")
    assert found["alice"][0] == [BOOK] and "points outside it" in found["alice"][1]
    assert found["bob"] == ([BOOK], "")
    assert sorted(path.name for path in tmp_path.rglob("*")) == sorted(["class", "alice.zip", "bob", NAME])


def test_a_zip_of_names_that_stay_in_their_folder_is_read_however_they_say_so(tmp_path):
    """So does tar on Windows and macOS."""
    names = {".": b"", "./": b"", "./././": b"", f"./good/{NAME}": BOOK}
    lay(tmp_path / "class", {"alice.zip": zipped(names), f"bob/{NAME}": BOOK})
    assert remarks(tmp_path / "class") == {"alice": ([BOOK], ""), "bob": ([BOOK], "")}


def test_links_and_files_that_cannot_be_opened_in_a_zip_are_named(tmp_path):
    locked, packed = (bytearray(zipped({"a.ipynb": BOOK})) for _ in range(2))
    for mark, flags in [(b"PK\x03\x04", 6), (b"PK\x01\x02", 8)]:
        locked[locked.find(mark) + flags] |= 1
        packed[packed.find(mark) + flags + 2] = 97  # a way to pack that zipfile does not know
    lay(tmp_path / "class", {"alice.zip": zipped({"a.ipynb": None}), "bob.zip": locked, "carol.zip": packed})
    found = remarks(tmp_path / "class")
    assert found["carol"][0] == [] and "a.ipynb cannot be read: That compression method" in found["carol"][1]
    assert found["alice"][0] == [] and "is a link" in found["alice"][1]
    assert found["bob"][0] == [] and "locked with a password" in found["bob"][1]


def test_a_zip_bomb_costs_its_owner_only(tmp_path, monkeypatch):
    monkeypatch.setattr(submitted_files, "LARGEST_SUBMISSION", 10**6)
    bomb = zipped({"a.ipynb": b"0" * (10**6 + 1)})
    lay(tmp_path / "class", {"alice.zip": bomb, "bob.zip": zipped({"b.ipynb": BOOK})})
    found = remarks(tmp_path / "class")
    assert found["alice"][0] == [] and "is limited to 1 MB" in found["alice"][1]
    assert found["bob"] == ([BOOK], "")


def test_a_zip_in_a_zip_without_end_comes_to_an_end(tmp_path):
    inner = zipped({"x.ipynb": BOOK})
    for _ in range(2 * submitted_files.DEEPEST):
        inner = zipped({"next.zip": inner})
    lay(tmp_path / "class", {"alice.zip": inner, f"bob/{NAME}": BOOK})
    found = remarks(tmp_path / "class")
    assert found["alice"][0] == [] and "too many nested" in found["alice"][1]


def test_folders_in_folders_without_end_come_to_an_end(tmp_path):
    lay(tmp_path / "class", {f"alice/{'x/' * submitted_files.DEEPEST}{NAME}": BOOK, f"bob/{NAME}": BOOK})
    found = remarks(tmp_path / "class")
    assert found["alice"][0] == [] and "too many nested folders" in found["alice"][1]


def test_zips_in_a_zip_share_one_limit_of_bytes(monkeypatch):
    many = zipped({f"{k}.zip": zipped({f"{j}.ipynb": BOOK for j in range(9)}) for k in range(9)})
    assert len(unpack_submission([(("a.zip",), many)]).notebooks) == MOST_NOTEBOOKS
    monkeypatch.setattr(submitted_files, "LARGEST_SUBMISSION", 3 * len(zipped({f"{j}.ipynb": BOOK for j in range(9)})))
    found = unpack_submission([(("a.zip",), many)])
    assert 0 < len(found.notebooks) < 36 and found.remarks


@pytest.mark.parametrize(
    "content",
    [b"", b"not a zip", zipped({"a.ipynb": BOOK})[:40], zipped({"a.ipynb": b"1" * 99}).replace(b"PK\1\2", b"PK\1\3")],
)
def test_a_damaged_zip_costs_its_owner_only(content, tmp_path):
    lay(tmp_path / "class", {"alice.zip": content, f"bob/{NAME}": BOOK})
    found = remarks(tmp_path / "class")
    assert found["alice"][0] == [] and "damaged" in found["alice"][1]
    assert found["bob"] == ([BOOK], "")
    (whole,) = remarks(tmp_path / "class/alice.zip").values()  # as if it held the class
    assert whole[0] == [] and "damaged" in whole[1]


def test_a_folder_that_cannot_be_listed_and_a_file_that_vanishes_are_named(tmp_path, monkeypatch):
    lay(tmp_path / "class", {f"alice/{NAME}": BOOK, f"bob/{NAME}": BOOK})

    def listed(folder):
        if folder.name == "alice":
            raise PermissionError(13, "Permission denied")
        return [*os.listdir(folder), *["gone.ipynb"] * (folder.name == "bob")]

    monkeypatch.setattr(submitted_files, "os", SimpleNamespace(**vars(os) | {"listdir": listed}))
    found = remarks(tmp_path / "class")
    assert found["alice"][0] == [] and "cannot be listed: Permission denied" in found["alice"][1]
    assert found["bob"] == ([BOOK], "gone.ipynb cannot be read: No such file or directory.")


def test_an_empty_folder_and_an_archive_of_another_kind_are_students_too(tmp_path):
    (tmp_path / "class/alice").mkdir(parents=True)
    lay(tmp_path / "class", {f"bob/{'long ' * 40}work.rar": b"Rar!", f"carol/{NAME}": BOOK})
    found = remarks(tmp_path / "class")
    assert "No notebook was found" in found["alice"][1]
    assert "long work.rar is not a zip, the only kind of archive that is read here" in found["bob"][1]
    assert len(found["bob"][1]) < 300, "of a name that is too long the end is shown"


def test_who_hands_in_a_link_to_colab_is_told_how_to_hand_in_the_notebook(tmp_path, capsys):
    lay(tmp_path, {"doejane_77_link.html": b"<a href='https://colab.research.google.com/x'>", f"roe_78_1_{NAME}": BOOK})
    jane, _ = submissions(tmp_path)
    notebooks, remarks = opened(jane)
    assert (
        notebooks == [] and "choose File, Download, Download .ipynb" in remarks[0] and "doejane_77_link" in remarks[0]
    )
    assert "nobody's" not in capsys.readouterr().err
