"""`grade --quiz` and `--oral`: questions with true keys on each student's own code, on paper and for Moodle."""

import argparse
import json
import re
from xml.etree import ElementTree

import pytest

from course_tools.commands import grade
from course_tools.grading import quiz_pages
from course_tools.grading.reports import Report, ReportStore, Student, printable, report_from_json, report_to_json
from course_utils.exercises import EXERCISES
from course_utils.quizzing.questions import CodeQuestion
from tests.support.handed_in import NAME, RIGHT, WRONG, lay, notebook, packed
from tests.support.own_code import OwnCode
from tests.test_private_seed import that_knows_the_first_call

MASK = """def my_mask(is_padding):
    T = is_padding.shape[-1]
    future = torch.ones(T, T).triu(1).bool()
    return (future | is_padding[:, None, :]) & ~torch.eye(T).bool()
"""
MARKUP = RIGHT.replace("scores):", "scores):  # ]]></text><script>alert('~=1{}')</script> &amp; \x07")
FORGING = """def my_causal_weights(scores):
    import gc
    for each in gc.get_objects():
        if type(each) is list and each and type(each[0]) is tuple:
            each.clear()
    return scores.softmax(-1)
"""


@pytest.fixture
def here(capsys, monkeypatch, tmp_path):
    """Run the command in this process on the class of tmp_path: what it said."""
    monkeypatch.setattr(grade.environment, "run_with_environment", lambda *arguments: None)

    def run(*arguments):
        with pytest.raises(SystemExit) as end:
            grade.main([str(tmp_path / "class"), "--out", str(tmp_path / "grades"), "--chapters", "3", *arguments])
        return "".join([*capsys.readouterr(), str(end.value)])

    return run


@pytest.fixture
def handed(tmp_path):
    """A class of four, of whom one has handed in nothing that can be asked about."""
    of = {
        "right": {"3.2": RIGHT, "3.4": MASK},
        "wrong": {"3.2": WRONG},
        "markup": {"3.2": MARKUP},
        "forging": {"3.2": FORGING},
        "untouched": {},
    }
    return lay(tmp_path / "class", {f"{who}/{NAME}": packed(notebook(answers)) for who, answers in of.items()})


def kept(tmp_path, who):
    """The questions about a student's answers that were kept."""
    return ReportStore(tmp_path / "grades").get(Student(who, who)).quiz


def test_each_student_gets_true_questions_about_their_own_code_and_a_second_run_keeps_them(handed, tmp_path, here):
    said = here("--quiz", "5", "--oral", "--workers", "1")
    assert "quiz.html asks" in said and "No questions for" in said and "untouched" in said
    for who in ("right", "wrong", "markup"):
        quiz = kept(tmp_path, who)
        assert 1 <= len(quiz) <= 5
        for each in quiz:
            question = CodeQuestion(each["kind"], each["call"], each["prompt"], tuple(each["options"]), each["right"])
            own = OwnCode(EXERCISES[each["exercise"]], each["code"])
            found = [own.is_true(question, option) for option in question.options]
            assert found == [place == each["right"] for place in range(len(found))], each
    assert {each["exercise"] for each in kept(tmp_path, "right")} == {"3.2", "3.4"}
    printed, key = ((tmp_path / "grades" / name).read_text(encoding="utf-8") for name in ("quiz.html", "quiz_key.html"))
    assert printed.count("<section>") == printed.count("</section>") == key.count("<tr>") - 1
    assert "<script>" not in printed and "&lt;script&gt;" in printed and "break-after: page" in printed
    letters = "".join(f"{k}{'abcd'[each['right']]} " for k, each in enumerate(kept(tmp_path, "right"), start=1))
    assert letters in key and letters not in printed
    before = (tmp_path / "grades/quiz.html").read_bytes()
    here("--quiz", "5", "--oral", "--workers", "1")
    assert (tmp_path / "grades/quiz.html").read_bytes() == before
    talk = (tmp_path / "grades/oral.html").read_text(encoding="utf-8")
    assert talk.count("A good answer:") == talk.count("A memorised answer:") >= 3
    root = ElementTree.fromstring((tmp_path / "grades/quiz_moodle.xml").read_bytes())
    choices = [each for each in root.findall("question") if each.get("type") == "multichoice"]
    assert len(choices) == sum(len(kept(tmp_path, who)) for who in ("right", "wrong", "markup", "forging"))
    for each in choices:
        assert [answer.get("fraction") for answer in each.findall("answer")].count("100") == 1
        assert "<script" not in each.find("questiontext/text").text
    assert not re.search(r"[\x00-\x08]", (tmp_path / "grades/quiz.txt").read_text(encoding="utf-8"))


def test_a_file_that_somebody_else_wrote_is_never_replaced(handed, tmp_path, here):
    (tmp_path / "grades").mkdir()
    (tmp_path / "grades/quiz.html").write_text("mine", encoding="utf-8")
    assert "quiz.html" in here("--quiz", "3", "--workers", "1")
    assert (tmp_path / "grades/quiz.html").read_text(encoding="utf-8") == "mine"


def test_it_needs_a_number_that_fits_on_a_page(handed, here):
    assert "from 1 to 20" in here("--quiz", "400") and "from 1 to 20" in here("--quiz", "-1")


@pytest.mark.every_setting("another seed of a quiz")
def test_a_new_seed_asks_other_questions_and_is_named_as_the_reason_for_other_points(tmp_path, here):
    answers = {"table": {"3.2": that_knows_the_first_call()}, "right": {"3.2": RIGHT, "3.4": MASK}}
    lay(tmp_path / "class", {f"{who}/{NAME}": packed(notebook(own)) for who, own in answers.items()})
    here("--quiz", "4", "--workers", "1")
    before = kept(tmp_path, "right")
    (tmp_path / "assignment.toml").write_text('seed = "autumn"', encoding="utf-8")
    said = here("--quiz", "4", "--workers", "1")
    assert "table: 2 of 9 -> 0 of 9, seed or one of your exercises changed" in said
    assert kept(tmp_path, "right") != before


HOSTILE = "</pre></section><script>alert(1)</script> ]]></text> `<i>` =HYPERLINK(1) {x} $course$ \x1b[31m \x00 \ud800"


def test_what_a_student_writes_into_a_question_or_is_called_stays_text_on_every_page(tmp_path):
    question = dict.fromkeys(("title", "code", "call", "prompt", "kind", "good", "memorised"), HOSTILE)
    question |= {"exercise": "3.2", "options": [HOSTILE, f"{HOSTILE} other", "`a`"], "right": 1}
    sent = report_to_json(Report(Student("k", "k"), [], [], "", "", quiz=[question]))
    report = report_from_json(json.loads(json.dumps(sent)))
    options = argparse.Namespace(quiz=1, oral=True, out=tmp_path)
    names = {"k": printable(f"a/b {HOSTILE}")}
    assert len(list(quiz_pages.write(options, [report], names))) == 2
    for name in quiz_pages.file_names(options):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert "\x1b" not in text and "\x00" not in text, name
        if name.endswith(".html"):
            assert "<script" not in text and "<i>" not in text and text.count("</section>") == text.count("<section>")
    root = ElementTree.fromstring((tmp_path / "quiz_moodle.xml").read_bytes())
    assert [each.get("type") for each in root] == ["category", "multichoice"]
    assert root.find("question/category/text").text.startswith("$course$/Own code/a//b <//pre>")
    shown = [root[1].find("questiontext/text").text, *(each.find("text").text for each in root[1].findall("answer"))]
    assert len(shown) == 4 and not any("<script" in each or "<i>" in each for each in shown)


def test_a_text_in_a_students_code_that_comes_into_an_option_is_shown_as_it_is(tmp_path, here):
    hostile = RIGHT.replace("triu(1)", "triu(len('<img src=x>') - 10)")
    lay(tmp_path / "class", {f"hostile/{NAME}": packed(notebook({"3.2": hostile}))})
    here("--quiz", "9", "--workers", "1")
    asked = [[each["prompt"], *each["options"]] for each in kept(tmp_path, "hostile")]
    assert any("<img src=x>" in text for texts in asked for text in texts), asked
    for name in ("quiz.html", "quiz_key.html"):
        assert "<img" not in (tmp_path / "grades" / name).read_text(encoding="utf-8")
