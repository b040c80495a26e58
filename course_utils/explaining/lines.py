"""The lines of an answer that a sentence names: how they are quoted, and which ones a value was made in."""

import ast

import torch

from course_utils.explaining import fixes, locate
from course_utils.explaining.known_values import is_uninformative
from course_utils.explaining.program import changed_name, name_of

MOVING = {  # functions and methods that only move numbers
    "cat", "stack", "view", "reshape", "flatten", "unflatten", "transpose", "permute", "squeeze", "unsqueeze", "repeat",
    "repeat_interleave", "expand", "tensor",
}  # fmt: skip
REGROUPING = ("view", "reshape", "unflatten", "flatten")  # after which the same numbers may stand elsewhere
EMPTY = (ast.List, ast.Constant)  # what a table or a list begins with, such as [] or 0
UNWATCHED = (ast.Set, ast.SetComp, ast.Dict, ast.DictComp)


class Makers:
    """Finds the lines in which names got the values that they have in a step of a Flow.

    known: what right answers make for the same input.
    """

    def __init__(self, flow, known):
        self.flow, self.program, self.known = flow, flow.program, known
        self.found = {}  # what `lines` gave; without it, time doubles with each turn of a loop behind a value

    def lines(self, place, only_unknown=False, level=1, node=None):
        """The lines, besides its own, in which the names in an expression got the values that they have in a step.

        level: 2 for what is behind these, 3 for what others only collected. node: the expression, if not the step's.
        """
        asked = place, only_unknown, level, node or self.flow.node(place)
        if asked not in self.found:
            self.found[asked] = frozenset()  # a caller that adds to what it got changes nothing here
            self.found[asked] = frozenset(self.lines_anew(*asked))
        return self.found[asked]

    def lines_anew(self, place, only_unknown, level, node):
        """What `lines` gives, worked out anew."""
        lines = {*self.lines_of_own(node)}
        for own in self.own_functions(node) if level != 2 else []:  # what they find around themselves
            ends = [
                getattr(each, "iter", getattr(each, "value", None))
                for each in ast.walk(own)
                if isinstance(each, (ast.Return, ast.For))
            ]
            lines |= {line for each in ends if each for line in self.lines(place, True, 2, each)}
        for name in {name_of(part) for part in ast.walk(node)} - {None, "self"}:
            makers = self.flow.makers_at(node, name)
            at = self.flow.last(makers, place)
            value = None if at is None else self.flow.steps[at][1]
            if name.startswith("self.") and type(value) not in (int, float):  # no layer, and no tensor that it keeps
                continue
            lines |= self.flow.lines_through(name)
            lines |= {self.flow.node(each).lineno for each in self.flow.written_through(at, place)}
            regrouped = any(fixes.called(self.program.nodes[each]) in REGROUPING for each in makers)
            sliced = any(map(has_worked_out_slice, map(self.program.nodes.__getitem__, makers)))
            unsure = len(makers) > 1 or regrouped and not self.known.contains_exact(value)
            picked = level != 3 and name != changed_name(node) and self.is_picked(node, makers)
            idle = [self.program.nodes[k] for k in makers if k not in self.flow.places]
            lines |= self.lines_of_loops(idle, place, node, 1)
            if not picked and not sliced and not self.is_told(value, level, only_unknown and not unsure):
                continue
            lines |= {each.lineno for each in idle}  # and the conditions that kept them from running
            lines |= {line for each in idle for line in self.lines_of_tests(self.program.statement_of(each))}
            for number, ran in self.last_made(name, makers, place, level, node):
                lines |= self.lines_of_maker(number, ran, place, level, node)
                if picked and ran < place:  # what says where
                    lines |= self.lines(ran, True, 3, self.program.nodes[number])
        return lines - {self.program.statement_of(node).lineno}

    def is_told(self, value, level, only_unknown):
        """Whether the lines that made a value are named."""
        if value is None or isinstance(value, list):  # nothing is known of it, or of its order
            return True
        counted = getattr(value, "dtype", None) is torch.int64  # a token may be the right one elsewhere
        if only_unknown and not is_uninformative(value) and self.known.contains_unordered(value) and not counted:
            return False
        empty = getattr(value, "numel", lambda: 1)() == 0
        return level != 2 or empty or not is_uninformative(value)

    def is_picked(self, node, makers):
        """Whether an expression writes, and a loop over values, or a number that is worked out, says where."""
        made = [self.program.statement_of(self.program.nodes[each]) for each in makers]
        loops = [each for each in made if runs_over_values(each) and fixes.called(each.iter) != "enumerate"]
        numbers = [each for each in made if isinstance(each, ast.Assign) and not is_plain(self.program, each)]
        places = [each for each in numbers if not changed_name(each)]
        return bool(changed_name(node)) and bool(loops or places)

    def last_made(self, name, makers, place, level, node):
        """[(number of a node, its last step)] of what gave a name its value before a step, since it was made anew.

        What it begins with is left out, but not where that is set before a loop in which the expression stands.
        """
        nodes = {k: self.program.nodes[k] for k in makers}
        made = {k: self.flow.last([k], place) for k in nodes}
        anew = [each for k, each in made.items() if each is not None and self.makes_anew(name, nodes[k])]
        made = {k: each for k, each in made.items() if each is not None and each >= max(anew, default=0)}
        made |= {k: place for k in nodes if isinstance(nodes[k], UNWATCHED)}
        if len(made) > 1 or level == 3:
            loop = next(self.program.enclosing(node, (ast.For, ast.While)), None)
            grows = loop is None or self.program.statement_of(node) in map(self.program.statement_of, nodes.values())
            inside = [] if grows else [*ast.walk(loop)]
            begun = [k for k in made if isinstance(nodes[k], EMPTY) and (grows or nodes[k] in inside)]
            begun = [] if len(begun) == len(made) == 1 and isinstance(nodes[begun[0]], ast.Constant) else begun
            made = {k: each for k, each in made.items() if k not in begun}
        return made.items()

    def lines_of_maker(self, number, ran, place, level, node):
        """The line of a node that gave a name in an expression its value, and what it was made from."""
        maker = self.program.nodes[number]
        statement = self.program.statement_of(maker)
        over_values = runs_over_values(statement)
        counts = type(self.flow.steps[place][1]) is float or self.is_factor(maker, node)
        is_size = not counts and is_plain(self.program, statement)
        if is_size and not (over_values and (level == 3 or changed_name(node))):
            return set()
        around = [*self.program.enclosing(node)]
        lines = {statement.lineno, *self.lines_of_own(statement, around), *self.lines_of_tests(statement, around)}
        lines |= self.lines_of_loops([maker], ran, node, 2) if level != 2 else set()
        if ran < place and (collects(statement) or over_values):  # the numbers come from somewhere else
            return lines | self.lines(ran, level=3, node=maker if over_values else None)
        return lines | self.lines(ran, True, 2, maker) if level != 2 else lines

    def lines_of_tests(self, statement, but=()):
        """The lines of the conditions around a statement, and of those that leave its loops before it; not of `but`."""
        around = [*self.program.enclosing(statement, (ast.For, ast.While, ast.FunctionDef))]
        tests = [test for each in around for test in locate.leaving(each) if test.lineno < statement.lineno]
        tests = [*map(self.program.statement_of, tests), *self.program.enclosing(statement, ast.If)]
        return {part.lineno for each in tests if each not in but for part in with_way_out(each)}

    def lines_of_loops(self, nodes, place, but, level):
        """The lines of the innermost loop around each node, and of what it runs over; not of loops around `but`."""
        around = [*self.program.enclosing(but)]
        loops = {next(self.program.enclosing(node, (ast.For, ast.While)), None) for node in nodes} - {None, *around}
        ends = [getattr(each, "iter", getattr(each, "test", None)) for each in loops]
        found = {line for each in ends for line in self.lines(place, level == 2, level, each)}
        return found | {each.lineno for each in loops}

    def is_factor(self, maker, node):
        """Whether an expression computes with the size that a node gives."""
        names = self.flow.names_made_by(self.program.numbers[id(maker)])
        parts = [part for part in ast.walk(node) if name_of(part) in names]
        assigned = isinstance(self.program.statement_of(maker), ast.Assign)
        around = [self.program.parents[id(part)] for part in parts]
        numbers = (each for each in around if isinstance(each, ast.BinOp) and not isinstance(each.left, ast.List))
        return assigned and any(numbers)

    def makes_anew(self, name, node):
        """Whether a node gives a name a new value, whatever it had before."""
        plain = isinstance(node, ast.expr) and isinstance(self.program.statement_of(node), ast.Assign)
        return plain and name not in map(name_of, ast.walk(node))

    def lines_of_own(self, node, around=()):
        """The lines of the functions of the answer's own that a piece of it names. around: functions to leave out."""
        own = [each for each in self.own_functions(node) if each not in around]
        parts = [part for each in own for part in ast.walk(each) if part is not each]
        texts = [each for each in parts if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)]
        return [each.lineno for each in parts if isinstance(each, ast.stmt) and each not in texts]

    def own_functions(self, node):
        """The functions of the answer's own that a piece of it names."""
        head = isinstance(node, ast.stmt) and getattr(node, "iter", getattr(node, "test", None))
        parts = [*ast.walk(head or node)]  # of a loop, not what it runs
        called = {*map(name_of, parts)}
        own = self.program.statements(lambda each: isinstance(each, ast.FunctionDef) and each.name in called)
        return own + [*filter(None, map(self.program.definition, parts))]


def with_code(program, lines):
    """(line, code, last line) of the statements in these lines, in order; without what stands under a condition."""
    found = {node.lineno: node for node in reversed(program.statements(lambda node: True))}
    found = {line: found[line] for line in sorted(lines) if line in found}
    ends = {line: line if hasattr(node, "body") else node.end_lineno for line, node in found.items()}
    return [(line, program.code_of(node), ends[line]) for line, node in found.items()]


def with_way_out(statement):
    """A statement; of a condition, also the `break` or `continue`, or the only assignment, under it."""
    body = statement.body if isinstance(statement, ast.If) else []
    kinds = (ast.Break, ast.Continue, *([ast.Assign] if len(body) == 1 else []))
    return [statement, *(each for each in body[-1:] if isinstance(each, kinds))]


def is_plain(program, node):
    """Whether a node's statement only asks for sizes, or is a loop over all there is, not up to another's variable."""
    statement = program.statement_of(node)
    if isinstance(program.parents.get(id(node)), ast.comprehension):
        return True
    if isinstance(statement, ast.For):
        sizes = [part for each in ast.walk(statement.iter) if locate.asks_for_size(each) for part in ast.walk(each)]
        others = [each for each in ast.walk(statement.iter) if each not in sizes]
        counts = fixes.called(statement.iter) == "range"
        outer = [name_of(part) for each in program.enclosing(statement, ast.For) for part in ast.walk(each.target)]
        limited = counts and (len(statement.iter.args) > 1 or {*outer} & {*map(name_of, others)} - {None})
        return not limited and not any(isinstance(each, (ast.Constant, ast.BinOp, ast.Slice)) for each in others)
    values = getattr(statement.value, "elts", [statement.value]) if isinstance(statement, ast.Assign) else []
    return bool(values) and all(map(locate.asks_for_size, values))


def has_worked_out_slice(node):
    """Whether an expression takes a part whose bounds are worked out in it, such as `x[: t + 1]`."""
    slices = [part for part in ast.walk(node) if isinstance(part, ast.Slice)]
    return any(isinstance(part, (ast.BinOp, ast.Call)) for each in slices for part in ast.walk(each))


def runs_over_values(statement):
    """Whether a statement is a loop over more than numbers that count."""
    return isinstance(statement, ast.For) and fixes.called(statement.iter) != "range"


def collects(statement):
    """Whether a statement only puts together, or hands on, what others made, such as `rows.append(row)`."""
    value = getattr(statement, "value", None)
    names = all(map(name_of, getattr(statement, "targets", ())))
    if not names or not isinstance(value, ast.Call):
        return names and bool(name_of(value))
    parts = [part for each in value.args for part in ast.walk(each)]
    kinds = (ast.Name, ast.List, ast.Tuple, ast.Constant, ast.UnaryOp, ast.expr_context, ast.unaryop)
    return fixes.called(value) in {"append", "extend"} | MOVING and all(isinstance(part, kinds) for part in parts)
