"""The lines of an answer to a puzzle that its reply is about: those that make the numbers that have to change."""

import ast
from dataclasses import replace

from course_utils.explaining.examples import MOST_RIGHT_ANSWERS
from course_utils.explaining.known_values import Known
from course_utils.explaining.lines import Makers, is_plain, with_code
from course_utils.explaining.sentences import lines_of, say
from course_utils.judging.calls import run_calls


def with_lines(exercise, flow, case, result):
    """The result of a wrong answer to a puzzle, with its lines in the message. flow: of its call. case: the wrong one.

    Only the matrices with which the answer goes wrong count, if it returns several.
    """
    end = flow.result()
    if end is None or case.value is None:
        return result
    parts = getattr(flow.node(end), "elts", None)
    numbers = [flow.program.numbers[id(each)] for each in parts or ()]
    places = [flow.last([number], end) for number in numbers]
    if isinstance(flow.node(end), ast.Tuple) and len(places) == len(case.value) > 1:
        places = [places[part] for part in wrong_parts(exercise, case)]
    else:
        places = [end]
    places = [flow.origin(each) for each in places]
    tests = {test for each in flow.behind(places) for test in flow.deciding(each)}
    places += [each for each in tests if not is_plain(flow.program, flow.node(each))]
    makers = Makers(flow, Known([]))
    lines = {line for each in places for line in [flow.node(each).lineno, *makers.lines(each)]}
    sentence = say("look_at", place=lines_of(with_code(flow.program, lines)))
    return replace(result, message=f"{result.message}\n{sentence}")


def wrong_parts(exercise, case):
    """The places of the matrices, among those returned, of which another one would do; if there are none, of all."""
    found = []
    for answer in exercise.right_answers[:MOST_RIGHT_ANSWERS]:
        right = run_calls(answer, [case.call])[0]["values"][0]
        for part in range(len(case.value)):
            value = [*case.value]
            value[part] = right[part]
            changed = replace(case, value=value)
            if not any(check(changed) for check in exercise.properties):
                found.append(part)
    return sorted({*found}) or [*range(len(case.value))]
