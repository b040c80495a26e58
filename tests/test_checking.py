"""What a learner gets from check, hint, solution, answer and progress, whatever their code does."""

import json
import linecache
import multiprocessing
import random
import subprocess
import sys
import time

import numpy as np
import pytest
import torch

from course_tools.repository import ROOT
from course_utils import files
from course_utils.checking import answer, check, commands, hint, progress, progress_file, solution
from course_utils.exercises import EXERCISES
from course_utils.judging import result, serialize
from course_utils.judging.calls import call_from_plain, call_to_plain, run_calls
from tests.support.answers import Answer


@pytest.fixture(autouse=True)
def kept(tmp_path, monkeypatch):
    """A progress file of this test's own."""
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))
    monkeypatch.setattr(progress_file, "in_memory", {})
    commands.hints_on_answers.clear()
    return tmp_path / "progress.json"


def right(scores):
    T = scores.shape[-1]
    return torch.softmax(scores.masked_fill(torch.ones(T, T).triu(1).bool(), -torch.inf), dim=-1)


# --- whatever the code does -------------------------------------------------------------------------------------------


def endless(scores):
    return endless(scores)


def leaves(scores):
    raise SystemExit(0)


def writes_on_its_input(scores):
    hidden = torch.ones(scores.shape[-2:]).triu(1).bool()
    return scores.masked_fill_(hidden, -torch.inf).softmax(-1)


def needs_more(scores, something):
    return scores


def huge(scores):
    return torch.zeros(1).expand(10**6, 10**6)


class NoWords(Exception):
    def __str__(self):
        raise RuntimeError("no words")


def fails_without_words(scores):
    raise NoWords


def fails_with_half_a_letter(scores):
    raise ValueError("\ud800 here")


@pytest.mark.parametrize(
    "code, words",
    [
        (lambda scores: scores @ torch.ones(7, 7), ["line", "RuntimeError", "cannot be multiplied"]),
        (
            lambda scores: eval("undefined_name"),
            [  # noqa: F821
                "NameError",
                "undefined_name",
            ],
        ),
        (endless, ["calls itself endlessly"]),
        (leaves, ["SystemExit"]),
        (needs_more, ["TypeError", "something"]),
        (writes_on_its_input, ["changes one of its arguments"]),
        (lambda scores: print(scores), ["returned None", "return"]),
        (lambda scores: [1.0, 2.0], ["a list", "a tensor of shape"]),
        (lambda scores: (scores, scores), ["a list or tuple of length 2", "a tensor of shape"]),
        (lambda scores: scores.tolist(), ["a list"]),
        (fails_without_words, ["line", "NoWords"]),
        (fails_with_half_a_letter, ["ValueError: ? here"]),
        (eval("lambda scores: undefined_name"), ["line 1: NameError"]),
        (lambda scores: scores.numpy(force=True), ["ndarray"]),
        (lambda scores: "0.5", ["a text"]),
        (huge, ["too large"]),
        (lambda scores: torch.empty(2, 4, 4, device="meta"), ["meta"]),
        (lambda scores: right(scores).flatten(1), ["2 dimensions", "expected 3"]),
        (lambda scores: right(scores)[:, :, :2], ["shape (1, 3, 2)", "expected (1, 3, 3)"]),
        (lambda scores: right(scores) > 0.5, ["True and False", "decimal numbers"]),
        (lambda scores: right(scores).to(torch.complex64), ["another kind"]),
        (lambda scores: right(scores) + 0.01, ["You return `[[[1.01, 0.01]", "expected `[[[1, 0]"]),
        (lambda scores: right(scores.detach()), ["no gradient"]),
    ],
)
def test_a_wrong_answer_gets_a_few_readable_lines(code, words):
    result = check("3.2", code)
    assert (result.status, result.points, result.max_points) == ("not yet", 0, 2)
    assert all(word in result.message for word in words), result.message
    assert len(result.message.splitlines()) <= 4 and len(result.message) < 700


def test_what_stood_after_pythons_c_is_nobodys_code(monkeypatch):
    monkeypatch.setitem(linecache.cache, "<string>", (12, None, ["import sys\n"], "<string>"))  # as Python 3.13 does
    assert "line 1: NameError" in check("3.2", eval("lambda scores: undefined_name")).message


class WholeLayer(torch.nn.Module):
    def __init__(self, d_in, d_k, d_out):
        super().__init__()
        self.W_query, self.W_key = (torch.nn.Linear(d_in, d_k, bias=False) for _ in range(2))
        self.W_value = torch.nn.Linear(d_in, d_out, bias=False)

    def forward(self, x):
        return torch.nn.functional.scaled_dot_product_attention(self.W_query(x), self.W_key(x), self.W_value(x))


def test_a_class_is_attempted_if_the_class_that_it_inherits_from_does_something():
    class Inherits(WholeLayer):
        pass

    class Empty(torch.nn.Module):
        pass

    assert check("2.4", Inherits).status == "right"
    assert check("2.4", Empty).status == "not attempted"


def test_a_function_that_only_hands_on_what_stands_around_it_is_attempted():
    around = torch.ones(2)
    assert check("3.2", lambda scores: around).status == "not yet"


ODD = pytest.mark.every_setting("results of other kinds")


@pytest.mark.parametrize("id", EXERCISES)
@pytest.mark.parametrize(
    "odd",
    [
        {"a": [None]},
        *(pytest.param(each, marks=ODD) for each in [torch.ones(3, 3), torch.ones(3, 3) > 0, [torch.ones(2)] * 3]),
    ],
)
def test_nothing_stumbles_over_a_result_of_another_kind(id, odd):
    assert check(id, lambda *arguments: odd).status == "not yet"


def test_an_input_is_told_where_there_is_one_and_a_value_for_it():
    assert "Input: `scores` = `[[[-2, 3]" in check("3.2", lambda scores: scores).message
    assert "Input: `scores`" in check("3.2", needs_more).message, "of what stopped, too"
    assert "Input" not in check("3.1", lambda: [torch.ones(5, 2)] * 3).message


def test_a_call_that_stops_decides_over_one_whose_sizes_fit_by_chance():
    def counts_the_wrong_axis(scores):
        T = len(scores)
        return torch.softmax(scores.masked_fill(torch.ones(T, T).triu(1).bool(), 0), dim=-1)

    result = check("3.2", counts_the_wrong_axis)
    assert "Your code stopped" in result.message


def test_an_error_points_into_the_learners_own_code():
    def my_causal_weights(scores):
        T = scores.shape[-1]
        return torch.softmax(scores, dim=-1).view(T, -1, 100)

    message = check("3.2", my_causal_weights).message
    line = my_causal_weights.__code__.co_firstlineno + 2
    assert f"line {line}, `return torch.softmax(scores, dim=-1).view(T, -1, 100)`" in message


def test_answers_in_other_dtypes_and_orders_of_memory_are_accepted():
    assert check("3.2", lambda scores: right(scores).double()).status == "right"
    assert check("3.2", lambda scores: right(scores).mT.contiguous().mT).status == "right"


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_16_bits_are_no_result_and_the_message_says_so(dtype):
    message = check("3.2", lambda scores: right(scores).to(dtype)).message
    assert f"Your result is in {dtype}, which rounds to two or three digits." in message


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_16_bits_are_no_result_of_dropout_either(dtype):  # which no expected values are held against
    class MyDropout(torch.nn.Dropout):
        def forward(self, x):
            return super().forward(x).to(dtype)

    assert check("4.1", torch.nn.Dropout).status == "right"
    assert check("4.1", MyDropout).status == "not yet"


def test_a_layer_gives_back_the_dtype_that_came_in():
    class MyDropout(torch.nn.Dropout):
        def forward(self, x):
            return super().forward(x).double()

    assert "torch.float64; the input has torch.float32" in check("4.1", MyDropout).message


def test_a_check_leaves_no_trace_in_the_learners_session(capsys):
    def meddling(scores):
        torch.manual_seed(1), random.seed(1), np.random.seed(1)
        torch.set_default_dtype(torch.float64), torch.set_grad_enabled(False), torch.set_default_device("meta")
        print("x" * 10_000_000)
        return right(scores)

    states = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].copy()
    check("3.2", meddling)
    assert torch.equal(torch.get_rng_state(), states[0])
    assert random.getstate() == states[1] and (np.random.get_state()[1] == states[2]).all()
    assert torch.get_default_dtype() == torch.float32 and torch.is_grad_enabled()
    assert torch.ones(1).device.type == "cpu"
    assert capsys.readouterr() == ("", "")


def test_a_check_is_the_same_under_another_default_device():
    code = "import torch; torch.set_default_device('meta'); from course_utils.checking import check; "
    code += "print(check('1.2', lambda scores: torch.softmax(scores, dim=0)), torch.ones(1).device)"
    said = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, encoding="utf-8")
    assert said.stdout.startswith("✓ 1.2 right") and said.stdout.endswith("meta\n"), said


def test_stopping_an_endless_loop_is_answered(monkeypatch):
    def interrupted(scores):
        raise KeyboardInterrupt

    assert "You stopped the check" in check("3.2", interrupted).message


@pytest.mark.parametrize("thing", [None, 3, torch.ones(2)])
def test_what_is_no_function_is_named(thing):
    assert "check('3.2', my_causal_weights)" in check("3.2", thing).message


def test_an_unknown_exercise_is_named():
    assert "Choose one of these: 3.1, 3.2" in check("3.99", right).message
    assert "number of the exercise comes first" in check(right, "3.2").message
    assert all("Choose one of these: 9.1" in repr(say("9.9")) for say in (hint, solution))
    assert all("comes first" in repr(say([])) for say in (hint, solution, lambda id: check(id, right)))
    assert "There is no chapter 99" in repr(progress(99)) and repr(progress("3")) == repr(progress(3))


def test_the_courses_own_code_is_no_answer():
    from course_utils.attention import MultiHeadAttention

    assert "the course's own" in check("3.2", MultiHeadAttention).message


# --- the rich form ----------------------------------------------------------------------------------------------------


def test_yours_and_expected_stand_side_by_side():
    page = check("3.2", lambda scores: scores.softmax(-2)).html()
    assert page.count("<table") == 2 and "yours" in page and "expected" in page
    assert "<script" not in page
    assert "<table" not in check("3.2", right).html()
    assert "<table" not in check("2.2", lambda linear: linear.weight.T + 1).html()  # no map of weights


def test_nothing_of_a_learners_text_becomes_html():
    assert "<b>bold" not in check("3.2", lambda scores: [][0 if "<b>bold" else 1]).html()


# --- hints, solutions, questions --------------------------------------------------------------------------------------


def test_hints_come_one_by_one_and_then_all():
    hints = EXERCISES["3.2"].hints
    said = [repr(hint("3.2")) for _ in range(len(hints) + 1)]
    assert all(text in words for text, words in zip(hints, said))
    assert all(text in said[-1] for text in hints)


SUMS_COLUMNS = (
    "def my_causal_weights(scores):\n    T = scores.shape[-1]\n    hidden = torch.ones(T, T).triu(1).bool()\n"
)
SUMS_COLUMNS += "    return scores.masked_fill(hidden, -torch.inf).softmax(dim=-2)\n"


def test_hints_after_a_failed_check_are_about_this_answer_and_lead_to_the_change():
    check("3.2", Answer("3.2", SUMS_COLUMNS).object())
    slip, change, after = (repr(hint("3.2")) for _ in range(3))
    assert "line 4" in slip and "wrong dimension" in slip and "dim=-1" not in slip and "1 more hint" in slip
    assert "write `scores.masked_fill(hidden, -torch.inf).softmax(dim=-1)` instead of" in change and "No more" in change
    assert EXERCISES["3.2"].hints[0] in after
    check("3.2", right)
    assert EXERCISES["3.2"].hints[1] in repr(hint("3.2")), "nothing is left of an answer that is mended"


def test_a_solution_opens_after_three_different_attempts():
    assert "opens after three" in repr(solution("3.2"))
    for answered in (lambda scores: ..., *[lambda scores: scores] * 3, lambda scores: scores + 1):
        check("3.2", answered)
    assert "(you have made 2)" in repr(solution("3.2")), "what is left as it is and what is the same does not count"
    check("3.2", lambda scores: scores + 2)
    shown = repr(solution("3.2"))
    assert "def my_causal_weights" in shown and "masked_fill" in shown and "SOLUTION" not in shown


def test_a_solution_opens_after_all_hints_or_a_right_answer():
    for _ in EXERCISES["3.2"].hints:
        assert "opens after three" in repr(solution("3.2"))
        hint("3.2")
    assert "masked_fill" in repr(solution("3.2"))
    check("1.2", lambda scores: torch.softmax(scores, dim=0))
    assert "def my_softmax" in repr(solution("1.2"))


def test_each_choice_has_its_own_explanation():
    said = {choice: repr(answer("Q3.1", choice)) for choice in ["a", "b", "c", "?", "z", 7]}
    assert said["b"].startswith("✓") and said["a"].startswith("✗") and said["c"].startswith("✗")
    assert len(set(said.values())) == 5  # "z" and 7 hear the same
    assert said["z"] == said[7] and "a, b, c" in said["z"]
    assert repr(answer("Q3.1", " B ")) == said["b"] and repr(answer("Q3.1", ["a"])) == said["z"]


def test_a_reply_to_a_choice_has_the_bar_that_a_check_has():
    right, wrong, none = (result.COLOUR[status] for status in (result.RIGHT, result.NOT_YET, result.NOT_ATTEMPTED))
    for choice, colour in [("b", right), ("a", wrong), ("?", none), ("z", "transparent")]:
        assert f"border-left:4px solid {colour};" in answer("Q3.1", choice)._repr_html_()


# --- progress ---------------------------------------------------------------------------------------------------------


def test_progress_survives_a_restart(monkeypatch):
    check("3.2", right)
    check("3.1", right)
    monkeypatch.setattr(progress_file, "in_memory", {})
    assert "✓ 3.2" in repr(progress()) and "✗ 3.1" in repr(progress()) and "○ 3.3" in repr(progress())
    check("3.2", lambda scores: scores)
    assert "✓ 3.2" in repr(progress(3)), "who was right stays right"
    assert check("3.1", lambda: None).status == "not attempted"
    assert "✗ 3.1" in repr(progress(3)), "who has tried has tried"


@pytest.mark.parametrize("content", ["", "{", "[]", '{"3.2": 4}', '{"3.2": {"status": 7, "hints": "x"}}', "\x00" * 100])
def test_a_damaged_file_breaks_nothing(kept, content):
    kept.write_text(content, encoding="utf-8")
    assert check("3.2", right).status == "right"
    assert "Hint 1" in repr(hint("3.1"))
    assert "✓ 3.2" in repr(progress())


def test_a_place_where_nothing_can_be_written_breaks_nothing(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "file" / "progress.json"))
    assert check("3.2", right).status == "right"
    assert "✓ 3.2" in repr(progress())


def many_notes(path, name):
    """Note a hundred exercises, as a kernel of its own."""
    import os

    os.environ["COURSE_PROGRESS"] = path
    for k in range(100):
        progress_file.update(f"{name}.{k}", status="right", points=1)


@pytest.mark.every_setting("two kernels at once")
def test_two_kernels_at_once_lose_nothing(kept):
    spawn = multiprocessing.get_context("spawn")
    kernels = [spawn.Process(target=many_notes, args=(str(kept), name)) for name in "AB"]
    for kernel in kernels:
        kernel.start()
    for kernel in kernels:
        kernel.join()
    assert len(json.loads(kept.read_text(encoding="utf-8"))) == 200


def test_a_notebook_that_holds_the_file_for_good_keeps_no_other_waiting(kept, monkeypatch):
    monkeypatch.setattr(progress_file, "MOST_SECONDS_TO_WAIT", 0.01)
    with files.locked(kept.with_name(f".{kept.name}.lock")):
        progress_file.update("3.2", status="right")
    assert progress_file.solution_is_open("3.2") and not kept.exists()


def test_without_a_file_everything_works_from_memory(monkeypatch, tmp_path):
    monkeypatch.setenv("COURSE_PROGRESS", "")
    monkeypatch.chdir(tmp_path)
    check("3.2", right)
    assert "✓ 3.2" in repr(progress()) and list(tmp_path.iterdir()) == []


# --- on the way to another process ------------------------------------------------------------------------------------


def strides(calls):
    """How the numbers of calls' tensors lie in memory."""
    arguments = [argument for call in calls for argument in (*call.arguments, *sum(getattr(call, "inputs", []), []))]
    return [argument.stride() for argument in arguments if isinstance(argument, torch.Tensor)]


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=list(EXERCISES))
def test_calls_and_replies_survive_the_way_to_another_process(exercise):
    sent = serialize.unpack(serialize.pack([call_to_plain(call) for call in exercise.calls]))
    calls = [call_from_plain(data) for data in sent]
    assert repr(calls) == repr(exercise.calls)
    assert strides(calls) == strides(exercise.calls), "the order in memory decides whether view works"
    replies = run_calls(lambda *arguments: arguments[0], calls)
    assert repr(serialize.unpack(serialize.pack(replies))) == repr(replies)


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"x",
        b"\xff" * 100,
        serialize.pack([torch.ones(3)])[:-1],
        serialize.pack([1]) + b"1",
        (42).to_bytes(8, "big") + b'{"tensor": ["float32", [99999999], [0]]}  ',
        (42).to_bytes(8, "big") + b'{"tensor": ["float32", [1, 1], [0, 0]]}   ' + bytes(4),
        (42).to_bytes(8, "big") + b'{"tensor": ["bool", [99999999], [0]]}     ' + b"1",  # one for all of them
        b"\0\0\0\0\0\0\0\x02{}",
    ],
)
def test_what_is_no_message_is_refused(message):
    with pytest.raises(ValueError, match="not a message"):
        serialize.unpack(message)


def packed_lists(number):
    """What `pack` makes of so many empty lists in a list, without making them."""
    header = b"[" + b"[], " * (number - 1) + b"[]]"
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "big") + header


def test_a_reply_built_to_fill_the_memory_is_not_read():
    assert packed_lists(2) == serialize.pack([[], []])
    with pytest.raises(ValueError, match="too large"):
        serialize.unpack(packed_lists(2_000_000), serialize.LARGEST_REPLY_HEADER)


def test_many_tensors_before_many_numbers_cost_no_copy_each():
    many = serialize.pack([torch.ones(1, dtype=torch.bool)] * 20_000)
    start = time.monotonic()
    with pytest.raises(ValueError, match="after its end"):
        serialize.unpack(many + bytes(60_000_000))
    assert time.monotonic() - start < 10
