"""Why an answer is wrong: the smallest input that shows it, where it goes wrong, and the change that mends it."""

import contextlib
from dataclasses import replace

from course_utils.explaining import examples, puzzle_lines, sentences
from course_utils.explaining import program as programs
from course_utils.explaining.trouble import first_trouble
from course_utils.explaining.words import Words, hints_on
from course_utils.judging import errors, judge
from course_utils.judging.calls import run_calls
from course_utils.judging.judge import wrong_cases
from course_utils.judging.result import NOT_YET


class LocalRunner:
    """Runs an answer in this process, once more."""

    def __init__(self, answer, program):
        self.answer, self.program = answer, program

    def reply(self, calls):
        """What the answer replies to the calls."""
        return run_calls(self.answer, calls)

    def watch(self, call, text=None):
        """The steps of one call, as `watched` gives them. text: of the cell, where it is not the answer's own."""
        return programs.watched(self.program.with_text(text) if text else self.program, call)

    def try_fixes(self, changes, calls):
        """For each Fix, what the answer with it replies to the calls."""
        return self.program.replies_with_fixes(changes, calls)


def explain_locally(exercise, answer, data, result):
    """`explain_result`, for an answer in this process."""
    if result.status != NOT_YET:
        return result
    program = programs.program_of(answer, exercise.name)
    return explain_result(exercise, program, LocalRunner(answer, program), data, result)


def explain_result(exercise, program, runner, data, result):
    """The result of a wrong answer with a small example, a place and a question in its message, and with hints.

    program: the answer's Program; None where its text cannot be had. runner: runs the answer again, as `LocalRunner`
    does. data: what the answer replied, as it came back.
    """
    if exercise.open_ended:
        with contextlib.suppress(Exception):
            return puzzle_lines.with_lines(exercise, program, runner, data, result)
        return result
    small = None
    with contextlib.suppress(Exception):  # a sentence more is no reason to lose the result
        number, trouble = first_trouble(exercise, data)
        if number is None:  # right in each call by itself: the trouble lies between them
            return result
        with contextlib.suppress(Exception):  # what a stranger's code can do has no end
            if small := smallest_failing(exercise, runner, number, trouble, data):
                message = errors.presentable(judge.describe_wrong_case(*small))
                result = replace(result, message=message, maps=judge.maps_to_draw(*small))
        if program:
            return with_explanation(Words(exercise, program, runner, number, trouble, small), result)
    return result


def smallest_failing(exercise, runner, number, trouble, data):
    """(the exercise that asks only for it, its Case): the smallest input that fails as call `number` does, or None."""
    if trouble.breaks_contract or trouble.unplaced_parts:
        return None
    before = wrong_cases(exercise, [number], [data[number]], False)[0]

    def fails(calls):
        for call, reply in zip(calls, runner.reply(calls)):
            try:
                case = next(iter(wrong_cases(exercise.asking(call), [0], [reply], False)), None)
            except Exception:  # an input that makes no sense stops the worked answer, too
                case = None
            yield case is not None and kind_of_problem(exercise, case) == kind_of_problem(exercise, before)

    asked = examples.smallest_failing(exercise, exercise.calls[number], fails)
    return asked and (asked, wrong_cases(asked, [0], runner.reply(asked.calls), False)[0])


def kind_of_problem(exercise, case):
    """What two examples of the same problem have in common."""
    if case.reply.error:
        return case.reply.error.type, case.reply.error.line
    comparable = judge.same_shape(case)
    entries = bool(case.value) if isinstance(case.value, list) else None
    return comparable, bool(comparable and (case.got != case.got).any()), judge.mask_words(exercise, case), entries


def with_explanation(search, result):
    """The result with the place and a question in its message, and with hints on this answer."""
    if cause := search.proven_cause():
        message = f"{result.message}\n{search.cause_words(cause)}"
        return replace(result, message=message, mistake=cause.kind, hints=hints_on(search.program, cause))
    words = search.place_words()
    message = f"{result.message}\n{words}".rstrip()
    most = sentences.MOST_WORDS + (sentences.MOST_ON_MASKS if search.exercise.mask else 0)
    if sentences.words_in(message) > most and "\n" in words:  # what a line works with can be left out
        message = message.rpartition("\n")[0]
    return replace(result, message=message)
