"""The effects of changes to an answer on its result, for one small call.

Everything is tested with two sets of numbers. What does not hold for both depends on the numbers, and is not asked.
"""

import ast
import random
import re
from dataclasses import replace
from functools import cached_property

import torch

from course_utils.explaining.program import Fix
from course_utils.judging import untrusted_replies
from course_utils.judging.calls import LayerCall, is_decimal
from course_utils.quizzing.changes import changes_of

STOPS, SAME, OTHER_VALUES = "It stops with an error.", "The result stays the same.", "Only the values change."
DRAWS = re.compile("rand|multinomial|bernoulli|dropout|empty")
LAYER_DRAWS = re.compile("empty")  # uninitialised memory; a layer's other random draws show with another seed
FUSED = "scaled_dot_product_attention"  # stops here if sizes do not fit, and elsewhere may read beyond its memory
ENDLESS = "loops without end"  # the message of LimitLoops on a change that loops
EQUAL, DIFFERENT = 1e-5, 1e-3  # relative: closer values are the same; between the two, it is unclear
MOST_CHANGES = 24


class Evidence:
    """Evidence about an answer. calls: those of its exercise. runner: runs it, as `explain.LocalRunner` does."""

    def __init__(self, program, calls, runner, seed):
        self.program, self.runner, self.random = program, runner, random.Random(seed)
        if any(isinstance(node, ast.Assign) for node in ast.parse(program.text).body):
            raise ValueError("data that a cell keeps outside its functions may change from call to call")
        self.call = plainest(calls)
        self.calls = [self.call, with_other_numbers(self.call)]
        self.no_change = Fix(0, ast.unparse(program.nodes[0]), "")
        found = changes_of(program)
        self.changes = self.random.sample(found, min(len(found), MOST_CHANGES))

    @cached_property
    def results(self):
        """The answer's result in both runs: STOPS, or a value; None if random numbers or the cell decide it."""
        drawn = LAYER_DRAWS if isinstance(self.call, LayerCall) else DRAWS
        if drawn.search(self.program.text):
            return [None, None]
        again = replace(self.call, seed=self.call.seed + 1) if isinstance(self.call, LayerCall) else self.call
        asked = [*self.calls, again]
        found = [*map(result, untrusted_replies.read(self.runner.reply(asked), asked))]
        pairs = zip(found, [*self.tried[0], found[0]])  # tried without the other cells, as changes are
        same = all(before is after is STOPS or effect(before, after) == SAME for before, after in pairs)
        return found[:2] if same else [None, None]

    @cached_property
    def tried(self):
        """Results without a change and with each, from one run, as runs are costly; if one ends it, only the first."""
        fixes = [self.no_change, *(change.fix for change in self.changes)]
        return self.results_with(fixes, self.calls) or self.results_with(fixes[:1], self.calls)

    @cached_property
    def effects(self):
        """[(Change, its effect in words)]: STOPS, SAME, OTHER_VALUES, or the shape that results."""
        if None in self.results:
            return []
        pairs = []
        for change, results in zip(self.changes, self.tried[1:]):
            effects = {effect(before, after) for before, after in zip(self.results, results)}
            told = effects - ({None, STOPS} if FUSED in self.program.text else {None})
            pairs += [(change, effect) for effect in told if len(effects) == 1]
        return pairs

    def results_with(self, fixes, calls):
        """For each Fix, the results of the changed answer for the calls: STOPS, a value, or None if unclear."""
        replies = self.runner.try_fixes(fixes, calls) if fixes else []
        nothing = [None] * len(calls)  # from a change that defines no answer
        return [[*map(result, untrusted_replies.read(found, calls))] if found else nothing for found in replies]


def plainest(calls):
    """The first call in evaluation mode, or else the first, with one input."""
    found = next((call for call in calls if not getattr(call, "training", False)), calls[0])
    found = replace(found, check_contract=False)
    return replace(found, inputs=found.inputs[:1]) if isinstance(found, LayerCall) else found


def inputs_of(call):
    """The arguments of a function, or of a layer's `forward`."""
    return call.inputs[0] if isinstance(call, LayerCall) else call.arguments


def with_inputs(call, values):
    """The call with other inputs."""
    return replace(call, inputs=[values]) if isinstance(call, LayerCall) else replace(call, arguments=values)


def with_other_numbers(call):
    """The call with other decimal numbers: zeros, infinities and signs stay where they are."""
    draw = torch.Generator().manual_seed(7)

    def other(value):
        if isinstance(value, (list, dict)):
            return list(map(other, value)) if isinstance(value, list) else {key: other(value[key]) for key in value}
        return value * (1 + torch.rand(value.shape, generator=draw)).to(value.dtype) if is_decimal(value) else value

    return with_inputs(call, other(inputs_of(call)))


def result(reply):
    """The result in a Reply: STOPS, its one value, or None if unclear, as from an endless loop."""
    if reply.error:
        return None if ENDLESS in reply.error.message else STOPS
    return reply.values[0] if not reply.cut_short and len(reply.values) == 1 else None


def effect(before, after):
    """The effect of a change on a result, in words; None if unclear."""
    if before is None or after is None or before is STOPS or after is STOPS:
        return STOPS if after is STOPS and before is not STOPS else None
    if shape_words(before) != shape_words(after):
        return f"The result is {shape_words(after)}."
    distance = largest_difference(before, after)
    return SAME if distance <= EQUAL else OTHER_VALUES if distance >= DIFFERENT else None


def shape_words(value):
    """The kind of a value, with its shape if it has one."""
    if isinstance(value, torch.Tensor):
        return f"of shape {tuple(value.shape)}" + (", of dtype bool" if value.dtype == torch.bool else "")
    if isinstance(value, list):
        return f"a list or tuple of {len(value)}: {', '.join(map(shape_words, value))}"
    return {bool: "True or False", int: "one number", float: "one number"}.get(type(value), "of another kind")


def largest_difference(before, after):
    """The largest relative difference of two values of the same shape; 1 if only one has an inf or nan."""
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
