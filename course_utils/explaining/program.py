"""A learner's answer as a text: found behind the object, changed, made again, and watched while it runs.

Nothing here knows a right answer, so it may run inside the sandbox.
"""

import ast
import itertools
import linecache
import math
import sys
import time
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from course_utils.judging import calls, errors, side_effects

WATCHED_NODES = (
    ast.BinOp, ast.BoolOp, ast.UnaryOp, ast.Compare, ast.Call, ast.Subscript, ast.Attribute, ast.Name, ast.IfExp,
    ast.ListComp, ast.GeneratorExp, ast.List, ast.Tuple,
)  # fmt: skip
NEEDS_PARENT = (ast.BinOp, ast.UnaryOp, ast.Attribute, ast.Compare)  # around a piece that cannot be read without them
CONTEXT = (ast.expr, ast.keyword, ast.Slice)  # a number or a name is shown with what it is a part of
MOST_SECONDS = 3  # of computing for one list of changes; those that are left then are not tried
MOST_STEPS = 4000
LARGEST = 20_000  # numbers of a value that is written down
DEEPEST = 50  # entries of a list that is written down
USUAL_NAMES = {"torch": torch, "nn": nn, "F": nn.functional, "math": math}  # what changes may use
MODULES = {*USUAL_NAMES, "np", "nn.functional", "torch.nn.functional"}  # as code names them
LOOP_LIMIT = "counted_iterations"
MOST_ITERATIONS, MOST_AXES = 50_000, 8  # of all loops together, and of a tensor in a loop
# what happens to lie in memory explains nothing
ZERO_FILLED = {"empty": "zeros", "empty_like": "zeros_like", "new_empty": "new_zeros"}
RECORD = "watched_value"  # no name that begins with two underscores: classes change those


@dataclass(frozen=True)
class Fix:
    """A change that may make an answer right.

    number: of the node that it replaces. new: Python for an expression or statements in its place. kind: of the mistake
    that it repairs, as reports count it.
    """

    number: int
    new: str
    kind: str


class Program:
    """The text of an answer: one definition, and what else its cell defines.

    tree: these definitions. nodes: every expression and statement in them, each at its number. names: what the answer's
    code finds around itself. file: the name under which its lines are known. own: the names that they set.
    """

    def __init__(self, text, name, names, file):
        self.text, self.name, self.file = text, name, file
        self.tree = definitions(ast.parse(text))
        self.nodes = numbered(self.tree)
        self.own = {node.id for node in self.nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        # no change may fall back on one of its own
        self.names = {each: value for each, value in names.items() if each not in self.own}
        self.numbers = {id(node): number for number, node in enumerate(self.nodes)}
        self.parents = parents(self.tree)
        self.bound = {*self.bound_names()}
        self.scratch_tree = definitions(ast.parse(text))  # for `with_fix`; parsing is faster than copying
        self.scratch_nodes = numbered(self.scratch_tree)
        LimitLoops().visit(self.scratch_tree)
        self.scratch_parents = parents(self.scratch_tree)

    def read_names(self):
        """{name: the numbers of the nodes that read it} of all names, those of arguments included."""
        found = {node.arg: [] for node in ast.walk(self.tree) if isinstance(node, ast.arg) and node.arg != "self"}
        for number, node in enumerate(self.nodes):
            if name := name_of(node):
                found.setdefault(name, []).extend([number] if isinstance(node.ctx, ast.Load) else [])
        return found

    def bound_names(self):
        """(function, name) for every name that belongs to a function: its arguments, and what it sets."""
        for function in self.statements(lambda each: isinstance(each, ast.FunctionDef)):
            yield from ((function, each.arg) for each in function.args.args if each.arg != "self")
        for node in self.nodes:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                around = next(self.enclosing(node, ast.FunctionDef), None)
                parts = ast.walk(around) if around else ()  # in the body of a class, there is none
                outer = [name for part in parts if isinstance(part, ast.Nonlocal) for name in part.names]
                yield from [] if node.id in outer else [(around, node.id)]

    def scope_of(self, name, node):
        """The function to which a name belongs where a node stands; None for what belongs to no function."""
        return next((each for each in self.enclosing(node, ast.FunctionDef) if (each, name) in self.bound), None)

    def definition(self, call):
        """The function of the program's own that a call calls; None where it calls something else."""
        if not isinstance(call, ast.Call):
            return None
        name = getattr(call.func, "attr" if isinstance(call.func, ast.Attribute) else "id", None)
        own = [node for node in self.nodes if isinstance(node, ast.FunctionDef) and node.name == name]
        of_object = isinstance(call.func, ast.Attribute) and not hasattr(torch.Tensor, name)  # of a class of its own
        return own[0] if own and (of_object or name_of(call.func) in (name, f"self.{name}")) else None

    def code_of(self, node):
        """An expression or a statement as it is written; what holds others, or fills several lines, in one line."""
        if node.lineno == node.end_lineno:
            return ast.get_source_segment(self.text, node)
        return ast.unparse(node).splitlines()[0] if hasattr(node, "body") else ast.unparse(node)

    def before_and_after(self, fix):
        """The smallest pieces of the text that can be read by themselves, without a fix and with it."""
        tree = definitions(ast.parse(self.text))
        nodes, above = numbered(tree), parents(tree)
        piece = victim = nodes[fix.number]
        small = isinstance(victim, (ast.Constant, ast.Name, ast.UnaryOp))  # says nothing without what is around it
        while isinstance(up := above[id(piece)], NEEDS_PARENT + CONTEXT * small) or getattr(up, "func", None) is piece:
            piece = up
            small = small and not isinstance(piece, (ast.Call, ast.Subscript, ast.BinOp, ast.Compare))
        old = ast.unparse(piece)
        if isinstance(victim, ast.stmt):
            return old, fix.new
        new = ast.parse(fix.new, mode="eval").body
        return old, ast.unparse(new if piece is victim else Replace(victim, new).visit(piece))

    def text_with(self, fix):
        """The text with a fix in it, laid out anew."""
        tree = ast.parse(self.text)
        victim = numbered(definitions(tree))[fix.number]
        mode = "exec" if isinstance(victim, ast.stmt) else "eval"
        return ast.unparse(Replace(victim, ast.parse(fix.new, mode=mode).body).visit(tree))

    def with_text(self, text):
        """The Program with another text, in the same cell."""
        return Program(text, self.name, self.names, self.file)

    def state_changes(self):
        """The statements outside `__init__` that set or change parts of `self`: what a layer keeps between calls."""
        methods = [each for each in self.nodes if isinstance(each, ast.FunctionDef) and each.name != "__init__"]
        parts = [part for method in methods for part in ast.walk(method) if isinstance(part, ast.stmt)]
        targets = [
            (part, each) for part in parts for target in getattr(part, "targets", []) for each in ast.walk(target)
        ]
        names = [(name_of(each), part) for part, each in targets]
        names += [(changed_name(part), part) for part in parts]
        return [part for name, part in names if (name or "").startswith("self.")]

    def outer_changes(self):
        """The statements that change what the cell defines outside its functions: it lives on from call to call."""
        outer = [node for node in ast.parse(self.text).body if isinstance(node, ast.Assign)]
        names = {name_of(target) for node in outer for target in node.targets} - self.own - {None}
        return self.statements(lambda node: changed_name(node) in names)

    def product_around(self, number):
        """The number of the product, quotient or negative around a node; None where something else is."""
        around = self.parents[id(self.nodes[number])]
        fits = isinstance(getattr(around, "op", None), (ast.Mult, ast.Div, ast.USub))
        return self.numbers[id(around)] if fits and isinstance(around, ast.expr) else None

    def statement_of(self, node):
        """The statement that a node is part of; itself where it is one."""
        return node if isinstance(node, ast.stmt) else next(self.enclosing(node))

    def assignments_to(self, names):
        """The statements that assign to these attributes of `self`, or to these names."""
        wanted = {f"self.{name}" for name in names} | {*names}
        found = [node for node in self.nodes if isinstance(node, ast.Assign)]
        return [node for node in found if wanted & {name_of(part) for each in node.targets for part in ast.walk(each)}]

    def statements(self, such):
        """The statements for which `such` holds."""
        return [node for node in self.nodes if isinstance(node, ast.stmt) and such(node)]

    def enclosing(self, node, kind=ast.stmt):
        """The statements of a kind around a node, the nearest first."""
        while (node := self.parents.get(id(node))) is not None:
            if isinstance(node, kind):
                yield node

    def answer_from(self, tree, **more):
        """The answer that this tree makes. Raises whatever its definitions raise."""
        names = USUAL_NAMES | self.names | more
        exec(compile(tree, self.file, "exec"), names)
        return names[self.name]

    def replies_with_fixes(self, fixes, requests):
        """For each fix, what the answer with it replies to some calls; [] where that defines no answer.

        After MOST_SECONDS of computing, the other fixes are left out. PyTorch's own attention runs in its plain
        form: its fast one writes past its memory where sizes do not agree.
        """
        with sdpa_kernel(SDPBackend.MATH), side_effects.without_side_effects():
            end = time.process_time() + MOST_SECONDS
            answers = map(self.with_fix, itertools.takewhile(lambda fix: time.process_time() < end, fixes))
            return [[calls.reply_to(answer, call) for call in requests] if answer else [] for answer in answers]

    def with_fix(self, fix):
        """The answer with a fix; None where that is no Python, or defines nothing."""
        victim = self.scratch_nodes[fix.number]
        parent = self.scratch_parents[id(victim)]
        before = {field: [*value] if isinstance(value, list) else value for field, value in ast.iter_fields(parent)}
        try:
            mode = "exec" if isinstance(victim, ast.stmt) else "eval"
            new = LimitLoops().visit(ast.parse(fix.new, mode=mode)).body
            for part in new if isinstance(new, list) else [new]:
                located(part, victim)
            Replace(victim, new).generic_visit(parent)
            return self.answer_from(self.scratch_tree, **{LOOP_LIMIT: LoopLimit()})
        except Exception:  # whatever a learner's definitions raise once they are changed
            return None
        finally:
            for field, value in before.items():
                setattr(parent, field, value)


class Replace(ast.NodeTransformer):
    """Puts one expression, or statements, in the place of another."""

    def __init__(self, old, new):
        self.old, self.new = old, new

    def visit(self, node):
        return self.new if node is self.old else self.generic_visit(node)


def program_of(answer, name):
    """The Program behind a function or class; None where its text cannot be had."""
    if not (functions := errors.functions(answer)):
        return None
    file, names = functions[0].__code__.co_filename, functions[0].__globals__
    return parse_program("".join(linecache.getlines(file)), name, names, file)


def parse_program(text, name, names, file):
    """The Program in the text of a cell that defines `name`; None where there is none."""
    try:
        program = Program(text, name, dict(names), file)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return program if any(node.name == name for node in program.tree.body) else None


def definitions(tree):
    """The functions and classes of a tree."""
    return ast.Module([node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))], [])


def parents(tree):
    """{id of a node: the node around it}."""
    return {id(child): node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}


def numbered(tree):
    """The expressions and statements of a tree, each at its number."""
    return [node for node in ast.walk(tree) if isinstance(node, (ast.expr, ast.stmt))]


class LoopLimit:
    """Ends the loops of an answer after MOST_ITERATIONS of all together."""

    def __init__(self):
        self.left, self.turn = MOST_ITERATIONS, -1

    def count_iteration(self, frame=None):
        """True, for one iteration more. RuntimeError when there were too many, or when a tensor has too many axes."""
        self.left -= 1
        values = (frame or sys._getframe(1)).f_locals.values()
        if self.left < 0 or any(isinstance(value, torch.Tensor) and value.ndim > MOST_AXES for value in values):
            raise RuntimeError("loops without end")
        return True

    def in_turn(self, values):
        """The next of some values, which an expression should give turn by turn; after the last the first."""
        self.turn += 1
        return values[self.turn % len(values)]

    def limited(self, entries):
        """The entries, each counted as an iteration."""
        for entry in entries:
            self.count_iteration(sys._getframe(1))
            yield entry


class LimitLoops(ast.NodeTransformer):
    """Makes every loop count its iterations, since a change can make one that never ends."""

    def visit_For(self, node):
        self.generic_visit(node)
        node.iter = located(limit_call("limited", node.iter), node.iter)
        return node

    visit_comprehension = visit_For

    def visit_While(self, node):
        self.generic_visit(node)
        node.test = located(ast.BoolOp(ast.And(), [limit_call("count_iteration"), node.test]), node.test)
        return node


def limit_call(method, *arguments):
    """A call of a method of the answer's LoopLimit."""
    return ast.Call(ast.Attribute(ast.Name(LOOP_LIMIT, ast.Load()), method, ast.Load()), list(arguments), [])


def located(new, old):
    """A new node that has a place in the text, that of the old one."""
    return ast.fix_missing_locations(ast.copy_location(new, old))


def watched(program, call):
    """[(number of a node, its value)] in the order in which the values came about.

    Watched is one call of the answer. Values are copies: tensors, numbers, truth values and lists of these; everything
    else is None. How the call ended stands in no step.
    """
    steps = []

    def keep(number, value):
        if len(steps) < MOST_STEPS:
            steps.append((number, copy_of_value(value)))
        return value

    tree = definitions(ast.parse(program.text))
    RecordValues(program.numbers, program.tree, tree).visit(tree)
    try:
        answer = program.answer_from(ast.fix_missing_locations(tree), **{RECORD: keep})
    except Exception:  # what the cell's definitions raise, they raised before
        return []
    with side_effects.without_side_effects():
        calls.reply_to(answer, call)
    return steps


def copy_of_value(value, depth=0):
    """A value as it is now; None for what has no numbers to look at, or too many."""
    if isinstance(value, torch.Tensor):
        small = not value.is_meta and value.numel() <= LARGEST and not value.is_complex()
        plain = small and not torch._C._functorch.is_functorch_wrapped_tensor(value)
        return value.detach().as_subclass(torch.Tensor).cpu().clone() if plain else None
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return copy_of_value(torch.from_numpy(np.array(value)), depth)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (bool, int, float)):
        return value if isinstance(value, float) or abs(value) < 2**60 else None
    if isinstance(value, (list, tuple, range)) and len(value) <= DEEPEST and depth < 2:
        return [copy_of_value(entry, depth + 1) for entry in value]
    return None


class RecordValues(ast.NodeTransformer):
    """Passes every value of an expression in a function's body, and what a statement has changed, to RECORD."""

    def __init__(self, numbers, original, tree):
        self.numbers = {id(new): numbers.get(id(old)) for old, new in zip(ast.walk(original), ast.walk(tree))}
        self.inside = False

    def visit(self, node):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Module)):
            around, self.inside = self.inside, self.inside or isinstance(node, ast.FunctionDef)
            found = map(self.visit, node.body)
            node.body = [new for each in found for new in (each if isinstance(each, list) else [each])]
            self.inside = around
            return node
        if not self.inside:
            return node
        number, changed = self.numbers.get(id(node)), changed_name(node)
        turn = [part for part in ast.walk(node.target) if name_of(part)] if isinstance(node, ast.For) else []
        turn = [ast.Expr(record(self.numbers[id(part)], ast.parse(name_of(part), mode="eval").body)) for part in turn]
        if isinstance(node, (ast.Return, ast.Assign)) and isinstance(node.value, ast.Constant) and not changed:
            node.value = record(self.numbers[id(node.value)], node.value)
            return node
        if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
            if isinstance(node.func, ast.Attribute):
                node.func.attr = ZERO_FILLED.get(node.func.attr, node.func.attr)
                node.func.value = self.visit(node.func.value)
            node.args = [self.visit(argument) for argument in node.args]
            node.keywords = [self.visit(keyword) for keyword in node.keywords]
        else:
            self.generic_visit(node)
        if turn:
            node.body[:0] = turn
        if changed:
            return [node, ast.copy_location(ast.Expr(record(number, ast.parse(changed, mode="eval").body)), node)]
        stays = getattr(getattr(node, "func", node), "id", "") == "super"  # `super` must stay where it is, and its call
        stays = stays or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
        return record(number, node) if isinstance(node, WATCHED_NODES) and not stays else node


def record(number, node):
    """A call that records the value of a node and returns it."""
    return ast.copy_location(ast.Call(ast.Name(RECORD, ast.Load()), [ast.Constant(number), node], []), node)


def changed_name(node):
    """The name whose value a statement may change without assigning to it, such as "scores" or "self.mask"; or None."""
    match node:
        case ast.AugAssign(part) | ast.Assign([ast.Subscript() as part, *_]) | ast.Expr(ast.Call(ast.Attribute(part))):
            while isinstance(part, (ast.Subscript, ast.Call)):
                part = part.func if isinstance(part, ast.Call) else part.value
            return name_of(part)
    return None


CUTS_GRADIENTS = {"detach", "no_grad", "inference_mode", "item", "tolist", "numpy", "data", "tensor", "from_numpy"}


def cuts_gradients(statement):
    """Whether a statement makes a value that PyTorch cannot follow back."""
    heads = getattr(statement, "decorator_list", []) + getattr(statement, "items", [])
    parts = heads if hasattr(statement, "body") else [statement]
    inside = [each for part in parts for each in ast.walk(part)]
    floats = any(isinstance(each, ast.Call) and name_of(each.func) == "float" for each in inside)
    return floats or any(getattr(each, "attr", "") in CUTS_GRADIENTS for each in inside)


def changes_in_place(statement):
    """Whether a statement writes on a tensor that is there already."""
    if isinstance(statement, ast.AugAssign):
        return True
    if isinstance(statement, ast.Assign):
        return any(isinstance(each, (ast.Subscript, ast.Attribute)) for each in statement.targets)
    called = (part.func for part in ast.walk(statement) if isinstance(part, ast.Call))
    names = [each.attr for each in called if isinstance(each, ast.Attribute)]
    return not hasattr(statement, "body") and any(name.endswith("_") and not name.startswith("_") for name in names)


def name_of(node):
    """ "scores" or "self.mask" for a name, or for an attribute of one; None for anything else."""
    if isinstance(node, ast.Name):
        return node.id if node.id not in MODULES | {"super"} else None
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        return f"self.{node.attr}"
    return None
