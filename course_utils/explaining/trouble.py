"""What is wrong in the first call of an answer that goes wrong."""

from dataclasses import dataclass

from course_utils.judging import contract, differences, judge
from course_utils.judging.judge import wrong_cases


@dataclass(frozen=True)
class Trouble:
    """What is wrong in the first call that goes wrong.

    line: where it stopped, or 0. error: the type of the error that stopped it, or "NoneType". breaks_contract: its
    values are right. changed: an argument was. gradients: none come back. random: another seed changes what should not
    be random. unplaced_parts: of a layer, in which weights found no place. part: the place of the wrong value where
    several are returned, or None. first_input: the first of a layer's several inputs already goes wrong.
    """

    line: int = 0
    error: str = ""
    breaks_contract: bool = False
    changed: bool = False
    gradients: bool = False
    random: bool = False
    unplaced_parts: tuple[str, ...] = ()
    part: int | None = None
    first_input: bool = False


def first_trouble(exercise, data):
    """(number of the call that the message is about, its Trouble); (None, None) where it is not wrong by itself."""
    told = judge.told_case(wrong_cases(exercise, range(len(data)), data))
    number = next(number for number, call in enumerate(exercise.calls) if call is told.call)
    for case in wrong_cases(exercise, [number], [data[number]])[:1]:
        line, error = (case.reply.error.line, case.reply.error.type) if case.reply.error else (0, "")
        error = "NoneType" if "NoneType" in case.error else error
        right_values = not line and case.value is not None
        breaks_contract = right_values and case.problem in (judge.changed_arguments(case), judge.broken_contract(case))
        gradients = breaks_contract and bool(contract.check_gradients(case.call, case.reply, case.reference))
        changed = breaks_contract and case.problem == judge.changed_arguments(case)
        unplaced = tuple(name.partition(".")[0] for name in case.reply.unplaced_weights)
        random = not line and contract.draws_at_random(case.reply) and not contract.draws_at_random(case.reference)
        inputs = getattr(case.call, "inputs", [])
        first = right_values and not breaks_contract and len(inputs) > 1 and case.arguments is inputs[0]
        first = first and bool(differences.problem(case.want, case.value))
        several = isinstance(case.value, list) and isinstance(case.want, (list, tuple))
        pairs = zip(case.want, case.value) if several and len(case.value) == len(case.want) else ()
        part = next((k for k, (wanted, found) in enumerate(pairs) if differences.problem(wanted, found)), None)
        return number, Trouble(line, error, breaks_contract, changed, gradients, random, unplaced, part, first)
    return None, None
