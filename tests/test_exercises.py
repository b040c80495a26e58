"""What holds for every exercise: right answers earn all points, wrong ones none, and stubs are no attempt.

A new exercise is tested by being there, with its right answers beside it and its wrong ones in tests/wrong_answers/.
"""

import ast
import itertools
import re
import tomllib

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from course_tools import repository
from course_tools.build import minutes
from course_tools.repository import ROOT
from course_utils.attention import hidden_keys
from course_utils.exercises import EXERCISES, QUESTIONS, solutions
from course_utils.judging import calls, differences
from course_utils.judging import judge as judging
from tests.support import answers, mutants, plain_loops, stored

each_exercise = pytest.mark.parametrize("exercise", EXERCISES.values(), ids=list(EXERCISES))
WITH_DROPOUT = ("4.1", "4.4", "5.4")  # in training their results are random, so properties decide
LONGEST_MESSAGE = 400  # characters; a phone shows about ten lines of forty
EQUIVALENT = tomllib.loads((ROOT / "tests/equivalent_mutants.toml").read_text(encoding="utf-8"))


def judged(exercise, answer):
    """The result of an answer, by the same two steps as in `check` and in the grader."""
    return judging.judge(exercise, calls.run_calls(answer, exercise.calls))


@each_exercise
def test_the_solution_earns_all_points(exercise):
    code, explanation = solutions.worked_answer(exercise.id)
    result = judged(exercise, solutions.answer_from_code(exercise, code))
    assert result.status == "right", result
    assert result.points == exercise.points > 0 and result.message == exercise.success_message
    assert len(explanation.split()) >= 15


# the results of these have no batch dimension
WITHOUT_BATCH = ("1.2", "2.2", "4.3", "6.5", "7.1", "7.2", "7.3", "8.4", "9.2", "10.3", "10.5", "11.3", "11.4", "11.5")


@pytest.mark.parametrize("id", [id for id in EXERCISES if id not in WITHOUT_BATCH and not EXERCISES[id].open_ended])
def test_a_batch_of_one_must_keep_its_dimension(id):
    worked = EXERCISES[id].worked

    def squeezed(value):
        several = isinstance(value, tuple)
        return tuple(map(squeezed, value)) if several else value.squeeze(0) if value.ndim > 1 else value

    class Layer(worked if isinstance(worked, type) else object):
        def forward(self, x):
            return squeezed(super().forward(x))

    answer = Layer if isinstance(worked, type) else lambda *given: squeezed(worked(*given))
    assert judged(EXERCISES[id], answer).status == "not yet"


@pytest.mark.parametrize("id", [id for id, exercise in EXERCISES.items() if not exercise.open_ended])
def test_what_is_expected_is_what_plain_loops_compute(id):
    assert id in plain_loops.WANTED, f"{id}: write what is wanted into tests/support/plain_loops.py"
    exercise = EXERCISES[id]
    for call, expected in zip(exercise.calls, exercise.expected):
        inputs = [(call, *given) for given in call.inputs] if isinstance(call, calls.LayerCall) else [call.arguments]
        for given, value in zip(inputs, expected, strict=True):
            if id in WITH_DROPOUT and call.training:
                assert value is None
            else:
                found = differences.difference(plain_loops.WANTED[id](*given), as_reply(value))
                assert found is None, f"{id}: its plain loops do not give what its worked answer gives. {found}"


def as_reply(value):
    """An expected value as an answer would give it."""
    if isinstance(value, list):
        return list(map(as_reply, value))
    return torch.as_tensor(value) if isinstance(value, np.ndarray) else value


@each_exercise
def test_right_answers_of_every_form_earn_all_points(exercise):
    place = f"course_utils/exercises/right_answers/chapter_{exercise.chapter}.toml"
    assert len(answers.right(exercise.id)) >= 4, f"{exercise.id}: write three right answers or more into {place}"
    for answer in answers.right(exercise.id):
        assert judged(exercise, answer.object()).status == "right", answer.code


OTHERS = pytest.mark.every_setting("two of three wrong answers")


@each_exercise
@pytest.mark.parametrize("part", [0, pytest.param(1, marks=OTHERS), pytest.param(2, marks=OTHERS)])
def test_wrong_answers_earn_none(exercise, part):
    place = f"tests/wrong_answers/chapter_{exercise.chapter}.toml"
    assert len(answers.wrong(exercise.id)) >= 5, f"{exercise.id}: write five wrong answers or more into {place}"
    for answer in answers.wrong(exercise.id)[part::3]:
        assert judged(exercise, answer.object()).status == "not yet", answer


@pytest.mark.parametrize(
    "shape, others",
    [((2, 3), [(1, 3)]), ((4, 2, 3), [(4, 1, 3), (8, 2, 3)]), ((4, 1, 3), [(8, 1, 3)]), ((1, 3), []), ((3,), [])],
)
def test_a_layer_has_to_take_a_shorter_sequence_and_a_larger_batch_too_and_the_first_after_them(shape, others):
    (reply,) = calls.run_calls(torch.nn.Identity, [calls.LayerCall([], [[torch.ones(shape)]])])
    assert [tuple(each.shape) for each in reply["other_sizes"]] == [*others, *[shape] * bool(others)]


class MaskOfTheFirst(torch.nn.Module):
    """Keeps a mask as long as the first sequence that it gets."""

    def __init__(self):
        super().__init__()
        self.mask = None

    def forward(self, x):
        self.mask = torch.ones(len(x), len(x)).tril() if self.mask is None else self.mask
        return self.mask[: len(x), : len(x)] @ x


def test_a_layer_that_keeps_too_short_a_mask_stops_at_the_longer_sequence():
    (reply,) = calls.run_calls(MaskOfTheFirst, [calls.LayerCall([], [[torch.ones(3, 2)]])])
    assert reply["error"]["type"] == "RuntimeError" and len(reply["values"]) == 1


# not to bool: where numbers stand for True and False, that is the correction
CASTS = (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int32, torch.int64)
# of a reply, all that come from calls of the answer
ROUNDS = ("values", "second_call", "other_seed", "flipped", "other_sizes")


def cast(value, dtype):
    """What a reply holds, its tensors in another dtype."""
    if isinstance(value, torch.Tensor):
        return value.to(dtype)
    return [cast(entry, dtype) for entry in value] if isinstance(value, list) else value


REST = pytest.mark.in_matrix("the wrong answers between every tenth, cast to another dtype")


@pytest.mark.parametrize(
    "exercise", [each for each in EXERCISES.values() if not each.open_ended], ids=lambda each: each.id
)
@pytest.mark.parametrize("every_tenth", [True, pytest.param(False, marks=REST)], ids=["every tenth", "the others"])
def test_no_wrong_answer_becomes_right_by_a_cast(exercise, every_tenth):
    for number, answer in enumerate(answers.wrong(exercise.id)):
        if (number % 10 == 0) == every_tenth:
            replies = calls.run_calls(answer.object(), exercise.calls)
            for dtype in CASTS:
                other = [
                    {part: cast(found, dtype) if part in ROUNDS else found for part, found in reply.items()}
                    for reply in replies
                ]
                assert judging.judge(exercise, other).status == "not yet", (dtype, answer)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("percent", [0, 2])
def test_a_factor_cannot_hide_in_16_bits(dtype, percent):
    right = answers.right("3.2")[0].object()
    answer = judged(EXERCISES["3.2"], lambda scores: (right(scores) * (1 + percent / 100)).to(dtype))
    assert answer.status == "not yet"


def test_a_text_goes_on_after_the_token_that_ends_texts_elsewhere():
    code, _ = solutions.worked_answer("11.2")
    last = "        ids = torch.cat([ids, new], dim=1)\n"
    stopping = code.replace(last, f"{last}        if (new == 2).all():\n            break\n")
    assert stopping != code
    exercise = EXERCISES["11.2"]
    assert judged(exercise, solutions.answer_from_code(exercise, stopping)).status == "not yet"


@each_exercise
def test_no_two_answers_to_an_exercise_are_written_the_same(exercise):
    given = [*answers.right(exercise.id), *answers.wrong(exercise.id)]
    texts = [ast.dump(ast.parse(answer.code)) for answer in given]
    assert len(texts) == len(set(texts))


@each_exercise
def test_the_stub_is_not_attempted_in_any_of_its_forms(exercise):
    cell = next(
        cell for cell in learners_cells(exercise.chapter) if cell.id == f"exercise-{exercise.id.replace('.', '-')}"
    )
    for body in ("...", "pass", "return None", "raise NotImplementedError()"):
        code = re.sub(r"(?m)^( +)\.\.\.$", rf"\1{body}", cell.source)
        assert code != cell.source or body == "..."
        result = judged(exercise, solutions.answer_from_code(exercise, code))
        assert (result.status, result.points) == ("not attempted", 0), (body, result)


BY_ITSELF = {  # what does all that an exercise asks for, and what its words call it
    "1.2": (lambda scores: torch.softmax(scores, dim=-1), "`torch.softmax`"),
    "4.1": (torch.nn.Dropout, "`nn.Dropout`"),
    "7.1": (lambda scores, tokens: cross_entropy(scores[:-1], tokens[1:], reduction="none"), "`F.cross_entropy`"),
    "10.2": (lambda *sizes: hidden_keys(*sizes), "`hidden_keys`"),
}


@pytest.mark.parametrize("id", BY_ITSELF)
def test_results_count_and_words_name_what_would_give_them_by_itself(id):
    answer, name = BY_ITSELF[id]
    assert judged(EXERCISES[id], answer).status == "right"
    cells = learners_cells(EXERCISES[id].chapter)
    assert name in next(cell.source for cell in cells if f"### Exercise {id} · " in cell.source)


def test_the_first_chapter_says_that_results_count():
    assert "In exercises like this one, `check` looks only at results" in " ".join(
        "\n".join(cell.source for cell in learners_cells(1)).split()
    )


@each_exercise
def test_no_mutant_of_the_solution_passes(exercise):
    code, _ = solutions.worked_answer(exercise.id)
    excused = EQUIVALENT.get(exercise.id, {})
    survivors = {}
    for name, mutant in mutants.of(code):
        try:
            answer = solutions.answer_from_code(exercise, mutant)
        except Exception:  # it does not even define the answer
            continue
        if judged(exercise, answer).status == "right":
            survivors[name] = excused.get(
                name, "passes: add a call that tells it apart, or list it in tests/equivalent_mutants.toml"
            )
    assert survivors == excused


@each_exercise
def test_hints_are_several_and_short(exercise):
    assert len(exercise.hints) >= 2 and all(len(hint) <= LONGEST_MESSAGE for hint in exercise.hints)


# --- the chapters -----------------------------------------------------------------------------------------------------


# the notes are no chapter
CHAPTERS = [int(path.name[:2]) for path in repository.sources() if "\n# # Chapter " in path.read_text(encoding="utf-8")]
each_chapter = pytest.mark.parametrize("chapter", CHAPTERS)


def learners_cells(chapter):
    """The cells of a chapter's notebook for learners."""
    return stored.read(stored.of_chapter(chapter, stored.LEARNERS)).cells


@each_chapter
def test_a_chapter_shows_the_exercises_that_its_file_holds(chapter):
    mine = [exercise for exercise in EXERCISES.values() if exercise.chapter == chapter]
    words = "\n".join(cell.source for cell in learners_cells(chapter) if cell.cell_type == "markdown")
    shown = re.findall(r"^### Exercise (\S+) · (.*)\n(.*)$", words, re.MULTILINE)
    assert shown == [(exercise.id, exercise.title, label(exercise)) for exercise in mine]
    assert len(mine) >= 4, f"chapter {chapter}: four exercises or more, in course_utils/exercises/chapter_{chapter}.py"


def label(exercise):
    """The line under an exercise's heading."""
    stars = "★" * exercise.difficulty + "☆" * (3 - exercise.difficulty)
    points = f"{exercise.points} point{'s' if exercise.points > 1 else ''}"
    return f"{points} · {stars} · {minutes.OF_EXERCISE[exercise.difficulty]} minutes"


@each_chapter
def test_a_chapter_asks_the_questions_that_its_file_answers(chapter):
    cells = learners_cells(chapter)
    mine = {id: question for id, question in QUESTIONS.items() if id.startswith(f"Q{chapter}.")}
    asked = {}
    for before, cell in itertools.pairwise(cells):
        if cell.id.startswith("question-"):
            id = f"Q{cell.id.removeprefix('question-').replace('-', '.')}"
            assert cell.source == f'answer("{id}", "?")'
            assert f"**Question {id[1:]}.**" in before.source
            asked[id] = re.findall(r"^\* \*\*(\w)\*\*", before.source, re.MULTILINE)
    assert asked == {id: list(question.explanations) for id, question in mine.items()}
    assert len(asked) >= 3, (
        f"chapter {chapter}: three questions or more, in course_utils/exercises/chapter_{chapter}.toml"
    )
    for question in mine.values():
        assert (
            question.right in question.explanations
            and len(question.explanations) == len(set(question.explanations.values())) >= 2
        )


def test_there_are_enough_exercises_and_their_names_are_their_own():
    names = [exercise.name for exercise in EXERCISES.values()]
    assert len(names) == len(set(names))
    assert sum(exercise.chapter <= 5 for exercise in EXERCISES.values()) >= 20
