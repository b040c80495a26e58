"""`quiz`, as a learner calls it: three questions about a right answer, and what is missed comes back."""

from datetime import date, timedelta

import pytest

from course_utils.checking import check, own_code, progress_file, quiz, review
from tests.support import answers


@pytest.fixture(autouse=True)
def fresh(monkeypatch, tmp_path):
    """No progress, and no answer checked before."""
    monkeypatch.setenv(progress_file.PATH_VARIABLE, str(tmp_path / "progress.json"))
    monkeypatch.setattr(progress_file, "in_memory", {})
    monkeypatch.setattr(own_code, "right_attempts", {})


def checked():
    """The result of the worked answer to 1.3."""
    return check("1.3", answers.right("1.3")[0].object())


def keys():
    """The letters of the true options of the questions that are asked now."""
    return [own_code.LETTERS[question.right] for question in own_code.questions("1.3")[1]]


def test_a_right_answer_is_offered_a_quiz_in_one_line():
    assert checked().message.endswith('\n`quiz("1.3")` asks three questions about your code.')
    wrong = answers.wrong("1.3")[0].object()
    assert "quiz" not in check("1.3", wrong).message


def test_without_a_right_answer_it_says_what_to_do():
    assert 'check("1.3", my_attention)' in quiz("1.3").text
    assert "There is no '1.33'" in quiz("1.33").text


def test_it_asks_three_questions_beside_the_numbered_code_and_the_same_until_they_are_answered():
    checked()
    asked = quiz("1.3")
    assert [line[:2] for line in asked.text.split("\n") if line[0].isdigit()] == ["1.", "2.", "3."]
    assert asked.code.startswith("  1  def my_attention(queries, keys, values):")
    assert quiz("1.3").text == asked.text
    quiz("1.3", *keys())
    assert quiz("1.3").text != asked.text


def test_all_right_is_not_asked_again_and_a_miss_comes_back_until_it_was_right_on_several_days():
    checked()
    assert quiz("1.3", *keys()).text.startswith("You have 3 of 3 right.")
    assert "Nothing is due" in review().text
    missed = ["b" if keys()[0] == "a" else "a", *keys()[1:]]
    assert quiz("1.3", *missed).text.startswith("You have 2 of 3 right.") and 'quiz("1.3")' in review().code
    quiz("1.3", *keys())
    assert "Nothing is due" in review().text
    yesterday = (date.today() - timedelta(days=1)).isoformat()
    progress_file.update("quiz 1.3", on=yesterday)
    assert 'quiz("1.3")' in review().code


@pytest.mark.parametrize("choices", [["a"], ["a", "b", "z"], ["a", "b", 3], ["", "", ""], ["?", "?", "?"]])
def test_what_is_no_choice_is_not_counted(choices):
    checked()
    assert "Answer each with one letter" in quiz("1.3", *choices).text
    assert "Nothing is due" in review().text
