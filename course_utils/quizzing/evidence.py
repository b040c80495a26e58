"""What running an answer shows, for one small call: its values on the way, and what changes of it do.

All of it is looked at for two sets of numbers. What does not hold for both hangs on the numbers, and is not asked.
"""

import ast
import random
import re
from dataclasses import dataclass, replace
from functools import cached_property

import torch

from course_utils.explaining.program import MOST_STEPS, Fix
from course_utils.judging import untrusted_replies
from course_utils.judging.calls import LayerCall
from course_utils.quizzing.changes import changes_of

STOPS, SAME, OTHER_VALUES = "It stops with an error.", "The result stays the same.", "Same shape, other values."
DRAWS = re.compile("rand|multinomial|bernoulli|dropout")
MEMORY = re.compile("empty")  # what happens to lie there
FUSED = "scaled_dot_product_attention"  # stops here where sizes do not fit, and elsewhere may read past its memory
IN_STEPS = re.compile(r"\b(median|sort|topk|kthvalue|argmax|argmin|relu|clamp|round|floor|quantile|mode)\b")  # stay put
MOVES = 0.7, -0.3  # of a number of the input, in the two runs
ENDLESS = "loops without end"  # what a LimitLoops says of a change that made one
EQUAL, DIFFERENT = 1e-5, 1e-3  # relative: values that are closer are the same; between the two, nothing is said
MOST_CHANGES, MOST_WATCHED, MOST_ENTRIES = 24, 2, 10


@dataclass(frozen=True)
class Assigned:
    """What a statement gave a name, or "the result". times: its value at each time, in both runs."""

    name: str
    statement: ast.stmt
    times: list


class Evidence:
    """What is known of an answer. calls: those of its exercise. runner: runs it, as `explain.LocalRunner` does."""

    def __init__(self, program, calls, runner, seed):
        self.program, self.runner, self.random = program, runner, random.Random(seed)
        if any(isinstance(node, ast.Assign) for node in ast.parse(program.text).body):
            raise ValueError("what a cell keeps beside its functions may change from call to call")
        self.call = plainest(calls)
        self.calls = [self.call, with_other_numbers(self.call)]
        self.no_change = Fix(0, ast.unparse(program.nodes[0]), "")
        found = changes_of(program)
        self.changes = self.random.sample(found, min(len(found), MOST_CHANGES))

    @cached_property
    def assigned(self):
        """[Assigned] of the answer as it is."""
        if None in self.results:
            return []
        first, second = (assigned_in(self.program, self.runner.watch(call)) for call in self.calls)
        both = zip(first, second) if len(first) == len(second) else ()
        pairs = [(one, list(zip(one.times, two.times))) for one, two in both if len(one.times) == len(two.times)]
        return [replace(one, times=times) for one, times in pairs if times]

    @cached_property
    def assigned_with_changes(self):
        """[Assigned] of a few changed answers, one list each; times: values in the first run only."""
        told = [change for change in self.changes if not change.words.endswith("left out")]
        texts = [self.program.text_with(change.fix) for change in told[:MOST_WATCHED]]
        return [assigned_in(self.program.with_text(text), self.runner.watch(self.call, text)) for text in texts]

    @cached_property
    def results(self):
        """What the answer gives in both runs: STOPS, or a value; None where random numbers or the cell decide it."""
        again = replace(self.call, seed=self.call.seed + 1) if isinstance(self.call, LayerCall) else self.call
        asked = [*self.calls, again]
        found = [*map(result, untrusted_replies.read(self.runner.reply(asked), asked))]
        apart = self.results_with([self.no_change], self.calls)[0]  # without the other cells, as changes are tried
        draws = (
            MEMORY.search(self.program.text) or not isinstance(self.call, LayerCall) and DRAWS.search(self.program.text)
        )
        steady = not draws and all(map(is_same, found, [*apart, found[0]]))
        return found[:2] if steady else [None, None]

    @cached_property
    def effects(self):
        """[(Change, its effect in words)]: STOPS, SAME, OTHER_VALUES, or the shape that results."""
        if None in self.results:
            return []
        found = self.results_with([change.fix for change in self.changes], self.calls)
        pairs = []
        for change, results in zip(self.changes, found):
            effects = {effect(before, after) for before, after in zip(self.results, results)}
            told = effects - ({None, STOPS} if FUSED in self.program.text else {None})
            pairs += [(change, effect) for effect in told if len(effects) == 1]
        return pairs

    def results_with(self, fixes, calls):
        """For each Fix, what the answer with it gives for the calls: STOPS, a value, or None for nothing clear."""
        replies = self.runner.try_fixes(fixes, calls) if fixes else []
        nothing = [None] * len(calls)  # from a change that defines no answer
        return [[*map(result, untrusted_replies.read(found, calls))] if found else nothing for found in replies]

    def rows_moved(self, fixes, entries):
        """For each Fix: {entry: the rows of the result that change with this number of the input, or None}."""
        pairs = zip(self.calls, MOVES)
        calls = [moved(call, entry, by) for call, by in pairs for entry in [None, *entries]]
        table = []
        for found in self.results_with(fixes, calls):
            (one, *first), (two, *second) = found[: len(found) // 2], found[len(found) // 2 :]
            rows = [(rows_that_differ(one, a), rows_that_differ(two, b)) for a, b in zip(first, second)]
            table.append({entry: a if a == b else None for entry, (a, b) in zip(entries, rows)})
        return table

    @cached_property
    def entries(self):
        """Places of numbers in the input: (number of the argument, index)."""
        found = []
        for k, each in enumerate(inputs_of(self.call)):
            if is_decimal(each) and each.ndim > 1:
                lead, (rows, columns) = (0,) * (each.ndim - 2), each.shape[-2:]
                found += [(k, (*lead, row, 0)) for row in range(rows)]
                found += [(k, (*lead, 1, 2))] if rows == columns > 2 else []
        return found[:MOST_ENTRIES]

    @cached_property
    def rows_of_entries(self):
        """{entry: the rows of the result that change with it}, of the answer as it is."""
        steady = None not in self.results and self.entries and not IN_STEPS.search(self.program.text)
        return self.rows_moved([self.no_change], self.entries)[0] if steady else {}


def plainest(calls):
    """The first of some calls that is in evaluation, or else the first, with one input."""
    found = next((call for call in calls if not getattr(call, "training", False)), calls[0])
    found = replace(found, check_contract=False)
    return replace(found, inputs=found.inputs[:1]) if isinstance(found, LayerCall) else found


def inputs_of(call):
    """What a function, or a layer's `forward`, is called with."""
    return call.inputs[0] if isinstance(call, LayerCall) else call.arguments


def with_inputs(call, values):
    """The call with other inputs."""
    return replace(call, inputs=[values]) if isinstance(call, LayerCall) else replace(call, arguments=values)


def is_decimal(value):
    """Whether this is a tensor of decimal numbers."""
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def with_other_numbers(call):
    """The call with other decimal numbers: zeros, infinities and signs stay where they are."""
    draw = torch.Generator().manual_seed(7)

    def other(value):
        if isinstance(value, (list, dict)):
            return list(map(other, value)) if isinstance(value, list) else {key: other(value[key]) for key in value}
        return value * (1 + torch.rand(value.shape, generator=draw)).to(value.dtype) if is_decimal(value) else value

    return with_inputs(call, other(inputs_of(call)))


def moved(call, entry, by):
    """The call with one number of its input changed; None: as it is."""
    if not entry:
        return call
    number, index = entry
    values = list(inputs_of(call))
    values[number] = values[number].clone()
    values[number][index] += by
    return with_inputs(call, values)


def result(reply):
    """What a Reply gives: STOPS, its one value, or None where nothing clear came back, as from a loop without end."""
    if reply.error:
        return None if ENDLESS in reply.error.message else STOPS
    return reply.values[0] if not reply.cut_short and len(reply.values) == 1 else None


def assigned_in(program, data):
    """[Assigned] of a run, from its steps as they came back; [] where there are so many that some are missing."""
    values = {}
    if len(data) >= MOST_STEPS:
        return []
    for number, value, _ in untrusted_replies.steps(data, len(program.nodes)):
        values.setdefault(number, []).append(value)
    found = []
    for statement in (node for node in program.nodes if isinstance(node, ast.stmt)):
        times = values.get(program.numbers.get(id(getattr(statement, "value", None))), [])
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)]):
                found.append(Assigned(name, statement, times))
            case ast.AugAssign(target=ast.Name(id=name)):
                found.append(Assigned(name, statement, values.get(program.numbers[id(statement)], [])))
            case ast.Assign(targets=[ast.Tuple(elts=names)]) if all(isinstance(each, ast.Name) for each in names):
                whole = [each for each in times if isinstance(each, list) and len(each) == len(names)]
                found += [Assigned(each.id, statement, [time[k] for time in whole]) for k, each in enumerate(names)]
            case ast.Return() if next(program.enclosing(statement, ast.FunctionDef)).name in (program.name, "forward"):
                found.append(Assigned("the result", statement, times))
    return found


def effect(before, after):
    """What a change does to a result, in words; None where that is not clear."""
    if before is None or after is None or before is STOPS or after is STOPS:
        return STOPS if after is STOPS and before is not STOPS else None
    if shape_words(before) != shape_words(after):
        return f"The result is {shape_words(after)}."
    distance = largest_difference(before, after)
    return SAME if distance <= EQUAL else OTHER_VALUES if distance >= DIFFERENT else None


def is_same(before, after):
    """Whether two results are clearly the same."""
    return before is after is STOPS or effect(before, after) == SAME


def shape_words(value):
    """What kind of thing a value is: with its shape, where it has one."""
    if isinstance(value, torch.Tensor):
        return f"of shape {tuple(value.shape)}" + (", all True or False" if value.dtype == torch.bool else "")
    if isinstance(value, list):
        return f"a list or tuple of {len(value)}: {', '.join(map(shape_words, value))}"
    return {bool: "True or False", int: "one number", float: "one number"}.get(type(value), "of another kind")


def largest_difference(before, after):
    """The largest relative difference of two values of the same shape; 1 where one has an inf or nan alone."""
    if isinstance(before, list):
        return max(map(largest_difference, before, after), default=0)
    if not isinstance(before, (torch.Tensor, int, float)):
        return float(before != after)
    one, two = (torch.as_tensor(each).double() for each in (before, after))
    finite = one.isfinite() & two.isfinite()
    if not torch.allclose(one[~finite], two[~finite], equal_nan=True):
        return 1
    distance, size = (one - two)[finite].abs(), one[finite].abs()
    return float(distance.max() / size.max().clamp(min=1e-9)) if finite.any() else 0


def rows_that_differ(before, after):
    """The rows, along the last axis but one, in which two results differ; None where that is not clear."""
    if not is_decimal(before) or not is_decimal(after) or before.ndim < 2 or before.shape != after.shape:
        return None
    distance = (before.double() - after.double()).abs().movedim(-2, 0).flatten(1).amax(dim=1)
    clear = ((distance == 0) | (distance >= DIFFERENT)).all()  # weights of almost 0 are no proof; nor is nan
    steps = torch.equal(before, before.round())  # truth values as numbers: a small move may not show
    return tuple(torch.nonzero(distance).flatten().tolist()) if clear and not steps else None
