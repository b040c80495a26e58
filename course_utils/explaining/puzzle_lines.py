"""The lines of an answer to a puzzle that its reply is about: those that make the numbers that have to change."""

import ast
from dataclasses import replace

from course_utils.explaining.examples import MOST_RIGHT_ANSWERS
from course_utils.explaining.fixes import called
from course_utils.explaining.known_values import Known
from course_utils.explaining.lines import Makers, is_plain, with_code
from course_utils.explaining.locate import Flow
from course_utils.explaining.sentences import lines_of, say
from course_utils.judging import untrusted_replies
from course_utils.judging.calls import run_calls
from course_utils.judging.judge import wrong_cases

FACTORS = (3, 10, 30)  # by which a matrix may be too small, or too large
MOST_NUMBERS = 2000  # of all matrices; with more, such as hundreds of heads, trying others takes too long


def with_lines(exercise, program, runner, data, result):
    """The result of a wrong answer to a puzzle, with the lines in its message that make what has to change.

    Of several matrices, these are only those with which the answer goes wrong. Arguments as of `explain_result`; raises
    for an answer without a value, or without a text.
    """
    case = wrong_cases(exercise, [0], data)[0]
    flow = Flow(program, untrusted_replies.steps(runner.watch(case.call), len(program.nodes)))
    places, makers = [flow.result()], Makers(flow, Known([]))
    parts = getattr(flow.node(places[0]), "elts", [])
    if isinstance(flow.node(places[0]), ast.Tuple) and len(parts) == len(case.value) > 1:
        places = flow.before([parts[part] for part in wrong_parts(exercise, case)], places[0])
    places = [flow.origin(each) for each in places]
    tests = {test for each in [*flow.behind(places), flow.returned_step()] for test in flow.deciding(each)}
    places += [each for each in tests if not is_plain(program, flow.node(each))]
    lines = {line for each in places for line in [flow.node(each).lineno, *makers.lines(each)]}
    zeros = program.statements(lambda each: isinstance(each, ast.Assign) and called(each.value) == "zeros")
    lines = lines - {each.lineno for each in zeros} or lines  # what is written on them counts
    return replace(result, message=f"{result.message}\n{say('look_at', place=lines_of(with_code(program, lines)))}")


def wrong_parts(exercise, case):
    """The places of the matrices, among those returned, of which another one would do; if there are none, of all."""
    found = []
    others = [run_calls(answer, [case.call])[0]["values"][0] for answer in exercise.right_answers[:MOST_RIGHT_ANSWERS]]
    others += [[matrix * times for matrix in case.value] for factor in FACTORS for times in (factor, 1 / factor)]
    for other in others if sum(each.numel() for each in case.value) <= MOST_NUMBERS else ():
        for part in range(len(case.value)):
            changed = replace(case, value=[*case.value[:part], other[part], *case.value[part + 1 :]])
            if not any(check(changed) for check in exercise.properties):
                found.append(part)
    return sorted({*found}) or [*range(len(case.value))]
