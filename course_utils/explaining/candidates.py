"""What is tried out on a wrong answer: changes of its code, and right values in the place of its own."""

import ast
import contextlib
import math

import torch

from course_utils.explaining import fixes
from course_utils.explaining.known_values import holds_start_number, is_mask
from course_utils.explaining.locate import asks_for_size
from course_utils.explaining.program import LOOP_LIMIT, Fix, name_of

MOST_NUMBERS = 500  # of a right value that is tried


def candidate_fixes(program, flow, near):
    """Fixes to try, each once. near: the numbers of the nodes to begin with."""
    values = {number: value for number, value in reversed(flow.steps)}
    near = [*dict.fromkeys(k for number in near for k in relatives(program, number))]
    far = sorted(set(range(len(program.nodes))) - set(near))
    functions = [number for number, node in enumerate(program.nodes) if isinstance(node, ast.FunctionDef)]
    names = program.read_names()
    sizes = [*(name for name, reads in names.items() if not reads), *sizes_of(program, values)]
    made = (node.value for node in program.nodes if isinstance(node, (ast.Assign, ast.Return)) and node.value)
    whole = [program.numbers.get(id(part)) for value in made for part in (value, *ast.iter_child_nodes(value))]

    def at(numbers):
        return (fix for number in numbers for fix in fixes.fixes_at(program, number, values, names, sizes))

    def around(numbers):
        found = [k for k in numbers if k in values and not asks_for_size(program.parents[id(program.nodes[k])])]
        return (fix for k in found for fix in fixes.fixes_around(program, k, values[k], sizes))

    state = (Fix(program.numbers[id(node)], "pass", "extra step") for node in program.state_changes())
    first = [*state, *fixes.order_of_names_fixes(program)]
    found = dict.fromkeys([*first, *at([*functions, *near]), *around(near[:12]), *at(far), *around(whole)])
    return sorted(found, key=lambda fix: fix.kind != "result thrown away")


def relatives(program, number):
    """The numbers of a node, of all that it is made of, and of the expressions and statements that it is part of."""
    node = program.nodes[number]
    around = program.enclosing(node, (ast.expr, ast.stmt))
    outer = [each for each in around if not isinstance(each, (ast.FunctionDef, ast.ClassDef))]
    return [program.numbers[id(each)] for each in (*ast.walk(node), *outer) if id(each) in program.numbers]


def sizes_of(program, values):
    """Python for the sizes, and for what is left of the shares, that a program has at hand."""
    found = []
    for number, value in values.items():
        node = program.nodes[number]
        if type(value) is int and (name_of(node) or isinstance(node, ast.Subscript)):
            found.append(ast.unparse(node))
        if type(value) is float and 0 < value < 1 and name_of(node):
            found.append(f"1 - {ast.unparse(node)}")
        if getattr(value, "ndim", 0) and name_of(node):
            found += [f"{ast.unparse(node)}.shape[-1]", f"{ast.unparse(node)}.shape[-2]"][: value.ndim]
    return list(dict.fromkeys(found))[:8]


def judged_values(program, flow, known, numbers):
    """(number, own values, right ones of that form, whether its own are among them), a row a turn, of expressions."""
    for number in numbers:
        node, places = program.nodes[number], flow.places[number]
        compared = any(program.enclosing(node, ast.Compare))  # other numbers may decide in the same way
        out = isinstance(node, ast.stmt) or compared or asks_for_size(node) or not any(map(name_of, ast.walk(node)))
        own = [flow.steps[place][1] for place in places]
        out = out or name_of(node) and isinstance(own[0], list)  # what a list holds was put there one by one
        own = None if out else table_of(own)
        if own is None or own.dtype == torch.bool and own.numel() == 1:  # another truth value mends anything
            continue
        starts = holds_start_number(own)
        again = any(len(flow.makers[name]) > 1 for name in flow.names_made_by(number))
        again = again or name_of(node) in {*map(name_of, getattr(program.statement_of(node), "targets", ()))} - {None}
        if starts and (again or own[0].numel() > 1):  # what is filled or added to is no mistake
            continue
        right = [each for value in known.values for each in in_turns(value, own)]
        if own.dtype != torch.bool:  # a right value that holds one such number only makes up for something
            right = [each for each in right if each.numel() == 1 or not holds_start_number(each)]
        yield number, own, right, not starts and any(is_close(each, own) for each in right)


def value_fix(flow, number, table):
    """The Fix that gives an expression these values, turn by turn."""
    text = f"torch.tensor({table.tolist()}, dtype={table.dtype})".replace("inf", "math.inf").replace("nan", "math.nan")
    text += "" if isinstance(flow.steps[flow.places[number][0]][1], torch.Tensor) else ".tolist()"
    return Fix(number, f"{LOOP_LIMIT}.in_turn({text})", "wrong value")


def table_of(values):
    """The values that an expression gave, one a turn, as one tensor; None where they do not fit into one."""
    with contextlib.suppress(TypeError, RuntimeError, ValueError):
        table = torch.stack(values) if isinstance(values[0], torch.Tensor) else torch.tensor(values)
        return table if table.numel() else None


def in_turns(value, own):
    """[a right value as a table like this one, turn by turn], or []: a mask as numbers, where the answer's is."""
    shape = tuple(value.shape)
    count = next((k for k in range(len(shape) + 1) if math.prod(shape[:k]) == len(own)), None)
    alike = value.dtype == own.dtype or is_mask(value) and is_mask(own)
    if count is None or value.numel() > MOST_NUMBERS or not alike:
        return []
    sizes = (len(own), *shape[count:])
    alike = len(sizes) < 3 or all(1 in pair or len({*pair}) == 1 for pair in zip(sizes, own.shape))
    alike = alike if len(sizes) == own.ndim else len(own) == 1 < own.ndim
    return [value.reshape(sizes).to(own.dtype)] if alike else []


def is_close(table, other):
    """Whether two tables hold the same."""
    return table.shape == other.shape and torch.allclose(table.double(), other.double(), 1e-4, 1e-6, equal_nan=True)
