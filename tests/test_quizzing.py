"""Questions about an answer's own code: every key is true, every other option is false, for answers of all chapters."""

import pytest
import torch

from course_tools.grading import own_code
from course_tools.grading.more_questions import KINDS, MoreEvidence
from course_tools.grading.own_code import describe_kind
from course_utils.exercises import CHAPTERS, EXERCISES
from course_utils.explaining.explain import LocalRunner
from course_utils.explaining.program import program_of
from course_utils.quizzing.changes import changes_of
from course_utils.quizzing.evidence import OTHER_VALUES, SAME, effect
from course_utils.quizzing.questions import in_turn, questions_on
from tests.support import answers
from tests.support.own_code import OwnCode

MOST_CHECKED = 12  # questions on one answer


def questions(answer, seed=0):
    """The questions on an answer."""
    exercise, made = EXERCISES[answer.exercise], answer.object()
    program = program_of(made, exercise.name)
    return list(questions_on(program, exercise.calls, LocalRunner(made, program), seed, KINDS, MoreEvidence))


MORE = pytest.mark.every_setting("more answers asked about")
ALL = pytest.mark.in_matrix("questions on all answers")


@pytest.mark.parametrize("step", [100, pytest.param(40, marks=MORE), pytest.param(1, marks=ALL)], ids="every {}".format)
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_one_option_is_true_and_all_others_are_false(chapter, step):
    given = [
        answer
        for id, exercise in EXERCISES.items()
        if exercise.chapter == chapter
        for answer in [*answers.right(id), *answers.wrong(id)]
    ]
    chosen = given[step // 2 :: step]
    asked = 0
    for number, answer in enumerate(chosen):
        own = OwnCode(EXERCISES[answer.exercise], answer.code)
        for question in questions(answer, seed=number)[:MOST_CHECKED]:
            found = [own.is_true(question, option) for option in question.options]
            wanted = [place == question.right for place in range(len(question.options))]
            assert found == wanted, (answer.code, question, found)
            asked += 1
    assert asked >= 2 * len(chosen)


def test_each_kind_says_in_a_line_what_it_is_for_and_what_answers_sound_like():
    for kind in KINDS:
        words = describe_kind(kind.__name__)
        assert words["purpose"].startswith("Shows whether students") and "{key}" in words["good"]
        assert len(" ".join(words.values()).split()) < 80
    assert len(KINDS) >= 8


def test_nothing_is_asked_that_the_cell_says():
    code = """
def my_attention(queries, keys, values):
    scores = queries @ keys.T  # (3, 5)
    weights = scores.softmax(-1)
    return weights @ values
"""
    asked = [question for seed in range(5) for question in questions(answers.Answer("1.3", code), seed)]
    assert {"shape"} == {question.kind for question in asked if "(3, 6)" in question.options[question.right]}
    assert not any("`scores`" in question.prompt for question in asked if question.kind == "shape")
    assert not any("(3, 5)" in question.options[question.right] for question in asked)


def test_a_mask_is_asked_how_much_it_hides_and_which_change_shows_it():
    code = """
def my_causal_weights(scores):
    T = scores.shape[-1]
    future = torch.ones(T, T).triu(1).bool()
    weights = scores.softmax(-1).masked_fill(future, 0)
    return weights / weights.sum(-1, keepdim=True)
"""
    answer = answers.Answer("3.2", code)
    own = OwnCode(EXERCISES["3.2"], code)
    asked = [question for seed in range(3) for question in questions(answer, seed)]
    assert "How many entries are True in `future` in line 4?" in {question.prompt for question in asked}
    hiding = [question for question in asked if question.kind == "hides"]
    assert hiding and all(own.is_true(question, question.options[question.right]) for question in hiding)


def test_what_draws_random_numbers_is_asked_nothing_that_hangs_on_them():
    code = """
def my_attention(queries, keys, values):
    noise = torch.rand(2, 3)
    return (queries @ keys.T).softmax(-1) @ values + noise.sum()
"""
    assert {question.kind for question in questions(answers.Answer("1.3", code))} <= {"shape"}


def test_a_change_that_makes_a_loop_without_end_is_not_asked():
    code = """
def my_attention(queries, keys, values):
    t, rows = 0, []
    while t < len(queries):
        row = (queries[t] @ keys.T).softmax(-1)
        rows.append(row @ values)
        t = t + 1
    return torch.stack(rows)
"""
    words = str(questions(answers.Answer("1.3", code)))
    assert "becomes" in words and "`t + 1` becomes `t + 0`" not in words and "`t = t + 1`, is removed" not in words


@pytest.mark.parametrize("id", ["11.2", "11.3", "11.4"])
def test_nothing_is_asked_that_depends_on_a_random_model(id):
    exercise = EXERCISES[id]
    asked = []
    for answer in answers.right(id):
        made = answer.object()
        runner = LocalRunner(made, program_of(made, exercise.name))
        asked += own_code.about(exercise, answer.code, runner, "seed")
    assert {question["kind"] for question in asked} <= {"shape", "sums", "zeros"} and (asked or id == "11.4")
    vocabulary = exercise.calls[0].arguments[0]["language_model"][0]
    assert not [question for question in asked if f"{vocabulary})" in question["options"][question["right"]]]


def test_a_line_that_is_alone_in_its_block_is_not_removed():
    """As told, that would be a syntax error."""
    code = """
def my_causal_weights(scores):
    T = scores.shape[-1]
    hidden = torch.ones(T, T).triu(1).bool()
    if scores.dim() > 2:
        hidden = hidden[None]
    hidden = hidden | hidden
    return scores.masked_fill(hidden, -torch.inf).softmax(-1)
"""
    program = program_of(answers.Answer("3.2", code).object(), "my_causal_weights")
    removed = [each.words for each in changes_of(program) if each.words.endswith("is removed")]
    assert removed == ["line 7, `hidden = hidden | hidden`, is removed"]


def test_a_layer_inside_is_left_out_and_what_it_is_given_stays():
    code = """
class MyCausalAttention(nn.Module):
    def forward(self, x):
        return self.dropout(x) @ x
"""
    program = program_of(answers.Answer("4.4", code).object(), "MyCausalAttention")
    assert "in line 4, `self.dropout(x) @ x` becomes `x @ x`" in [each.words for each in changes_of(program)]


def test_a_number_that_is_infinite_in_one_of_two_results_makes_them_differ():
    finite, infinite = torch.tensor([1.0, 2.0]), torch.tensor([1.0, torch.inf])
    assert effect(finite, infinite) == effect(infinite, finite) == OTHER_VALUES
    assert effect(infinite, infinite.clone()) == SAME


def test_no_question_is_made_before_it_is_asked_for():
    made = []

    def questions_of(kind):
        for number in range(2):
            made.append((kind, number))
            yield kind, number

    found = in_turn([questions_of("a"), questions_of("b")])
    assert next(found) == ("a", 0) and made == [("a", 0)]
    assert list(found) == [("b", 0), ("a", 1), ("b", 1)]
