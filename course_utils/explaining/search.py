"""The search for the place and the cause of a mistake in an answer.

Changes are tried out on the answer itself, and its values on the way are compared with those of right answers. A change
counts as the cause only where it is proven (`Search.is_proven`). Everything else is a place to look at.
"""

import ast
import functools
import time
from dataclasses import replace

import torch

from course_utils.explaining import candidates, examples, fixes, locate, sentences
from course_utils.explaining.known_values import is_uninformative, tensors_in
from course_utils.explaining.lines import MOVING, is_plain, with_way_out
from course_utils.explaining.program import MODULES, Fix, name_of
from course_utils.judging import judge, untrusted_replies
from course_utils.judging.calls import FunctionCall
from course_utils.judging.judge import wrong_cases
from course_utils.judging.result import RIGHT

MOST_TRIED, MOST_TRIED_LAYERS = 800, 360  # fixes; a layer takes longer, and its contract again as long
MOST_VALUES = 500  # right values that are tried in the place of the answer's
MOST_RIGHT = 5  # changes that make one call right and are tried in all calls
MOST_SECONDS = 2.5  # of computing for one answer, after which no more changes and values are tried out
TURNED = ("inverted", "wrong sign")  # kinds of what can be turned round in any of the lines on the way


class Search:
    """The search for the place and the cause of what is wrong in one call of an answer."""

    def __init__(self, exercise, program, runner, number, trouble, small):
        self.exercise, self.program, self.runner, self.trouble = exercise, program, runner, trouble
        self.end = time.process_time() + MOST_SECONDS
        self.known, self.small = exercise.known_values(number), small
        self.asking, self.number, self.call = exercise, number, exercise.calls[number]
        if trouble.first_input:  # the steps of several would be mixed up
            self.call = replace(self.call, inputs=self.call.inputs[:1])
            self.asking, self.number = exercise.asking(self.call), 0
        self.asked = self.call if trouble.breaks_contract else replace(self.call, check_contract=False)
        layer = not isinstance(self.call, FunctionCall)
        self.is_slow = layer or any(isinstance(each, dict) for each in self.call.arguments)
        if trouble.line and self.is_right_anew:  # it stops later
            self.asked = self.call
            del self.is_right_anew
        self.flow = self.flow_of(self.asked)
        self.result = self.flow.result(trouble.part)  # the step that made it, or None
        # what is told are the values for the input that is shown
        self.shown = self.flow_of(small[0].calls[0]) if small else self.flow

    @functools.cached_property
    def is_right_anew(self):
        """Whether the answer is right once it is made anew: then something from earlier calls makes this one wrong."""
        no_change = Fix(0, ast.unparse(self.program.nodes[0]), "")
        return self.is_right(*self.runner.try_fixes([no_change], [self.asked]))

    @property
    def starts_right(self):
        """Whether a layer is right for the first of its inputs alone."""
        if isinstance(self.call, FunctionCall):
            return False
        first = replace(self.call, check_contract=False, inputs=self.call.inputs[:1])
        return not wrong_cases(self.exercise.asking(first), [0], self.runner.reply([first]), False)

    def flow_of(self, call, text=None):
        """The Flow of the answer, or of the answer with another text, in one call."""
        if not self.trouble.line:
            call = replace(call, check_contract=self.trouble.gradients)
        steps = self.runner.watch(call, text)
        program = self.program.with_text(text) if text else self.program
        return locate.Flow(program, untrusted_replies.steps(steps, len(program.nodes)))

    def is_right(self, data=()):
        """Whether what came back for the call is right."""
        return right_in(self.asking, self.number, data, self.asked.check_contract)

    @functools.cached_property
    def right(self):
        """The numbers of expressions whose values right answers make, in each turn."""
        judged = candidates.judged_values(self.program, self.flow, self.known, self.flow.places)
        told = ((number, own) for number, own, _, is_known in judged if is_known and not is_uninformative(own))
        found = {number for number, own in told if own.numel() > 1}  # one number may be right by accident
        nodes = {each: self.program.nodes[each] for each in found}
        made = {each: getattr(self.program.statement_of(node), "targets", [None])[0] for each, node in nodes.items()}
        # several names that get values at once may be in the wrong order
        found = {each for each in found if not isinstance(made[each], ast.Tuple) and not name_of(nodes[each])}
        return {each for each in found if not isinstance(nodes[each], ast.BinOp) or not self.changes_nothing(each)}

    def changes_nothing(self, number):
        """Whether an expression gives the very value that one of its operands has."""
        place = self.flow.places[number][-1]
        own, *given = (self.value_of(self.flow, each) for each in (place, *self.flow.operands(place)))
        return any(each is not None and candidates.is_close(own, each) for each in given)

    @functools.cached_property
    def shown_known(self):
        """What right answers make on their way for the input that is shown."""
        return self.small[0].values_on_the_way(0) if self.small else self.known

    @functools.cached_property
    def all_mendable(self):
        """What `mendable` finds among all expressions but the result, also for the input that is shown."""
        wanted = self.wanted_in(self.asking, self.number)
        if wanted is None or wanted.dtype is torch.bool and not wanted.ndim:  # another number mends these by accident
            return {}
        numbers = [each for each in self.flow.places if each in self.shown.places]
        found = self.mendable(self.flow, self.known, self.asking, self.number, numbers)
        if found and self.small:
            found = self.mendable(self.shown, self.shown_known, *self.shown_case, [*found])
        elif found and not self.is_slow:
            found = self.mendable_anew(found)
        result = None if self.result is None else self.program.definition(self.flow.node(self.result))
        inside = [] if result is None else self.flow.returned(result)  # these may be right for what they were given
        found = {k: turns for k, turns in found.items() if self.flow.origin(self.flow.places[k][-1]) != self.result}
        found = {k: turns for k, turns in found.items() if k not in inside}
        begins = {k for k, turns in found.items() if not turns[0][0].isfinite().any()}  # as the largest so far does
        found = {k: turns for k, turns in found.items() if k not in begins or not turns[1][0].isfinite().any()}
        return {k: turns for k, turns in found.items() if not self.may_come_later(k, *turns, wanted)}

    def may_come_later(self, number, own, right, wanted):
        """Whether the mistake may lie behind a mendable expression, which it only makes up for."""
        loop, got = self.program.parents[id(self.program.nodes[number])], self.value_of(self.flow, self.result)
        if isinstance(loop, ast.For) and (is_plain(self.program, loop) or sentences.relation(own[0], right[0], "it")):
            return True
        written_on = [k for name in self.flow.names_made_by(number) for k in self.flow.makers[name]]
        around = [*self.program.enclosing(self.program.nodes[number])]
        loops = [
            each for k in written_on for each in self.program.enclosing(self.program.nodes[k], (ast.For, ast.While))
        ]
        if any(each not in around for each in loops):  # a loop gives it new values
            return True
        if any(isinstance(self.program.nodes[k], ast.stmt) and k in self.flow.places for k in written_on):
            return True  # what it held later counts
        if got is None:
            return False
        if isinstance(self.flow.node(self.result), ast.BinOp) and is_same(own, got):  # which only hands it on
            return True
        return len(own) > 1 and own.dtype is not torch.int64 and is_moved(got, wanted) and is_moved(own, right)

    @functools.cached_property
    def new_calls(self):
        """A few calls like the one that goes wrong, with other numbers."""
        return examples.new_calls(self.exercise, replace(self.call, check_contract=False))

    def mendable_anew(self, found):
        """The rows of `mendable` that hold for a new input as well, if one is found and the answer fails on it."""
        for call in self.new_calls:
            asked = self.exercise.asking(call)
            if wrong_cases(asked, [0], self.runner.reply([call]), False):
                again = self.mendable(self.flow_of(call), asked.values_on_the_way(0), asked, 0, [*found])
                return {k: turns for k, turns in found.items() if k in again}
        return found

    def mendable(self, flow, known, exercise, call, numbers):
        """{number of an expression: (its values, right ones), turn by turn}: with these alone, a call is right."""
        judged = candidates.judged_values(self.program, flow, known, numbers)
        ends = self.value_of(flow, flow.result(self.trouble.part)), self.wanted_in(exercise, call)
        tried = [(number, own, each) for number, own, right, is_known in judged if not is_known for each in right]
        tried = [each for each in tried if not skips_rest(*each[1:], *ends) and not self.adds_numbers(flow, *each[::2])]
        tried = tried[: MOST_VALUES // 2 if self.is_slow else MOST_VALUES]
        fixes = (candidates.value_fix(flow, number, each) for number, _, each in tried)
        asked = [replace(exercise.calls[call], check_contract=False)]
        replies = self.runner.try_fixes([*fixes], asked) if time.process_time() < self.end else []
        found, undecided = {}, set()
        for (number, *turns), reply in zip(tried, replies):
            again = number in found
            if (not again or turns[0].dtype is torch.int64) and right_in(exercise, call, reply, False):
                undecided.update([number] * again)  # several numbers would do, so none is told
                found.setdefault(number, turns)
        return {number: turns for number, turns in found.items() if number not in undecided}

    def adds_numbers(self, flow, number, right):
        """Whether a right value has numbers that its expression, which only moves numbers, did not get."""
        places = [flow.origin(at) for at in flow.places[number]]
        node = flow.node(places[0])
        if not isinstance(node, ast.Subscript) and fixes.called(node) not in MOVING:
            return False
        given = [k for at in places for k in [*flow.operands(at), *flow.before(filter(name_of, ast.walk(node)), at)]]
        given = [flow.steps[k][1] for k in given if k is not None and ast.unparse(flow.node(k)) not in MODULES]
        parts = [(each.double() * 1e3).round().flatten() for each in tensors_in([*given, right])]
        return None not in given and not torch.isin(parts[-1], torch.cat([torch.zeros(1), *parts[:-1]])).all()

    @functools.cached_property
    def block(self):
        """(the mendable expression with the fewest lines that may be wrong, or None for the result; their steps)."""
        found = {number: self.flow.behind(self.flow.places[number], self.right) for number in self.all_mendable}
        # no argument, and no size, is a mistake
        names = [k for k in found if name_of(self.program.nodes[k])]
        given = [k for k in names if not self.flow.makers_at(self.program.nodes[k]) or not self.lines_behind(found[k])]
        found = {k: at for k, at in found.items() if k not in given}
        if not found:
            return None, self.behind_result
        best = min(found, key=lambda each: (len(self.lines_behind(found[each], each)), self.flow.places[each][-1]))
        own, wanted = self.all_mendable[best]
        # what leaves right values as they are, but changes the answer's own, may be the mistake as well
        same = [k for k in found if candidates.is_close(self.all_mendable[k][1], wanted)]
        two = (ast.BinOp, ast.BoolOp)  # what joins two values may be it even if it leaves both as they are
        joined = [k for k in same if isinstance(self.program.nodes[k], two)]
        same = [*joined, *(k for k in same if not candidates.is_close(self.all_mendable[k][0], own))]
        best = max([best, *same], key=lambda number: self.flow.places[number][-1])
        while (around := self.program.product_around(best)) in found:  # its other part may have a factor
            if "times" not in sentences.relation(*(each[0] for each in self.all_mendable[best]), "it"):
                break
            best = around
        at = self.flow.places[best][-1]  # what only hands on a value, such as dropout in evaluation, is no mistake
        given = [] if isinstance(self.flow.node(at), two) else self.flow.operands(at)
        given = [(k, self.value_of(self.flow, k), self.value_of(self.flow, at)) for k in given]
        given = [
            k for k, value, own in given if value is not None and own is not None and candidates.is_close(own, value)
        ]
        made = [self.flow.steps[self.flow.origin(each)][0] for each in given]
        best = next((number for number in made if number in found), best)
        return best, found[best]

    @functools.cached_property
    def behind_result(self):
        """The steps behind the result that are not proven to be right."""
        return [] if self.result is None else self.flow.behind([self.result], self.right)

    def lines_behind(self, places, number=None):
        """The lines that may be wrong of steps, sizes and loops over all there is aside, and that of an expression."""
        made = [each for each in map(self.flow.node, places) if not isinstance(each, (ast.Name, ast.Attribute))]
        statements = [each for each in map(self.program.statement_of, made) if not is_plain(self.program, each)]
        found = {part.lineno for each in statements for part in with_way_out(each)}
        return sorted(found | ({self.program.nodes[number].lineno} if number else set()))

    def proven_cause(self):
        """The Fix that is proven to be the cause; None where there is none."""
        if self.is_right_anew or any(isinstance(each, ast.Try) for each in ast.walk(self.program.tree)):
            return None  # a change that makes something fail hides the mistake
        most = MOST_TRIED_LAYERS if self.is_slow else MOST_TRIED
        most //= 2 if self.asked.check_contract and most == MOST_TRIED_LAYERS else 1
        line, places = self.trouble.line, self.behind_result
        near = [k for k, node in enumerate(self.program.nodes) if isinstance(node, ast.expr) and node.lineno == line]
        places = self.flow.behind(self.flow.stopped(line)) if line else places
        near += [self.flow.steps[each][0] for each in places]
        tried = candidates.candidate_fixes(self.program, self.flow, near)[:most]
        attempts = zip(tried, self.runner.try_fixes(tried, [self.asked]))
        working = sorted((fix for fix, found in attempts if self.is_right(found)), key=self.preference)
        if self.trouble.error == "NameError":  # changes know the usual names: elsewhere they hide what stopped it
            working = [fix for fix in working if self.program.nodes[fix.number].lineno == line]
        for fix in working[:MOST_RIGHT]:
            if time.process_time() < self.end and self.makes_all_right(fix) and self.is_proven(fix):
                return fix
        return None

    def makes_all_right(self, fix):
        """Whether the answer with a fix is right in all calls."""
        if fix.kind == "dropout in evaluation" and not self.trouble.random:
            return False
        return judge.judge(self.exercise, self.runner.try_fixes([fix], self.exercise.calls)[0]).status == RIGHT

    def preference(self, fix):
        """What is tried first: a fix of one place, and one that adds little; a long one may only make up for a mistake.

        Where an argument was changed, one that leaves it alone comes first.
        """
        node = self.program.nodes[fix.number]
        whole = isinstance(node, (ast.FunctionDef, ast.ClassDef))
        added = int((len(fix.new) - len(ast.unparse(node))) / 4)
        turned = fix.kind in TURNED or fix.kind == "arguments swapped" and fixes.called(node) == "where"
        last = fix.kind == "order of names", whole, turned, added
        return self.trouble.changed and fix.kind != "changed in place", *last

    def is_proven(self, fix):
        """Whether a fix that makes all calls right does so in a proven line, on a known way, with new inputs, too."""
        sure = self.trouble.breaks_contract or fix.kind == "result thrown away"
        if not sure and (self.is_outside(fix) or not self.on_known_way(fix)):
            return False
        calls = [*self.new_calls, *(self.small[0].calls if self.small else ())]
        found = self.runner.try_fixes([fix], calls)[0] if calls else []
        pairs = zip(calls, found)
        return not any(wrong_cases(self.exercise.asking(call), [0], [reply], False) for call, reply in pairs)

    def is_outside(self, fix):
        """Whether a fix changes no line in which the mistake is proven to be."""
        number, places = self.block
        node = self.program.nodes[fix.number]
        if number is None or isinstance(node, ast.FunctionDef):
            return False
        statements = [self.program.statement_of(node), *self.program.enclosing(node, ast.If)]
        if fix.kind == "arguments swapped" and isinstance(node, ast.Call) and self.program.definition(node):
            return not {self.program.statement_of(self.flow.node(each)) for each in places} & {*statements}
        behind = {self.program.statement_of(self.flow.node(each)).lineno for each in places}  # sizes, too
        return not {each.lineno for each in statements} & behind

    def on_known_way(self, fix):
        """Whether right answers make every value on the way to the result of the answer with a fix."""
        if fix.kind == "loop left too early":  # sums of all turns, too
            return True
        flow = self.flow_of(self.call, self.program.text_with(fix))
        if self.stops_deciding(self.program.nodes[fix.number], flow):
            return False
        path = [] if flow.result() is None else flow.behind([flow.result()])
        told = [each for each in path if not is_uninformative(flow.steps[each][1]) and not is_literal(flow.node(each))]
        return all(flow.is_unfinished(place) or flow.is_known(place, self.known) for place in told)

    def stops_deciding(self, node, flow):
        """Whether a changed node makes the comparison around it give the same in every turn, as it did not before."""
        tests = [each for each in (node, *self.program.enclosing(node, ast.Compare)) if isinstance(each, ast.Compare)]
        number = self.program.numbers[id(tests[0])] if tests else None
        found = ([self.value_of(each, at) for at in each.places.get(number, [])] for each in (self.flow, flow))
        own, new = ({value.item() for value in each if value is not None and value.numel() == 1} for each in found)
        return len(new) < len(own) == 2

    @property
    def shown_case(self):
        """(the exercise, the number of its call) whose input is shown."""
        return (self.small[0], 0) if self.small else (self.asking, self.number)

    def wanted_in(self, exercise, call):
        """What the result should be in a call of an exercise, as a tensor; None where it is none, and no number."""
        values = exercise.reference[call].values
        several = self.trouble.part is not None and values and isinstance(values[0], list)
        found = values[0][self.trouble.part] if several else values[0] if values else None
        return torch.as_tensor(found) if isinstance(found, (torch.Tensor, float, bool)) else None

    @functools.cached_property
    def ends(self):
        """(the step that made the result, its value, what it should be) for the input that is shown."""
        end = self.shown.result(self.trouble.part)
        return end, self.value_of(self.shown, end), self.wanted_in(*self.shown_case)

    @staticmethod
    def value_of(flow, place):
        """The value of a step as a tensor; None where it is none, and no number."""
        value = flow.steps[place][1] if place is not None else None
        return torch.as_tensor(value) if isinstance(value, (torch.Tensor, float, int)) else None


def right_in(exercise, number, data, check_contract):
    """Whether what came back for one call of an exercise is right."""
    try:
        return bool(data) and not wrong_cases(exercise, [number], data, check_contract)
    except untrusted_replies.Unreadable:
        return False


def skips_rest(own, right, got, wanted):
    """Whether a right value is what the whole answer should give, and its own is not what the answer gives."""
    return got is not None and wanted is not None and is_same(right, wanted) and not is_same(own, got)


def is_same(value, other):
    """Whether two tensors hold the same numbers, in the same order."""
    return candidates.is_close(value.flatten(), other.flatten())


def is_moved(value, other):
    """Whether two tensors hold the same numbers, in any order."""
    return value.shape == other.shape and is_same(value.flatten().sort()[0], other.flatten().sort()[0])


def is_literal(node):
    """Whether an expression holds nothing but numbers, such as 1 / 2."""
    kinds = (ast.Constant, ast.operator, ast.unaryop, ast.BinOp, ast.UnaryOp)
    return all(isinstance(part, kinds) for part in ast.walk(node))
