"""Small changes to a solution, each of which should make it wrong: what a check lets pass, it does not test."""

import ast
import copy
import functools

from course_utils.explaining.program import Replace

SWAPPED = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}


def of(code):
    """(description, changed code) for every place in the code where a change is possible."""
    for line, description, changed in places(code, changes):
        yield f"line {line}: {description}", changed()


def places(code, changes, without_effect=lambda node: []):
    """(line, description, function that gives the changed code) for each place, by the changes of a node.

    without_effect: gives the parts of a node that are left as they are.
    """
    tree = ast.parse(code)
    idle = {part for node in ast.walk(tree) for part in without_effect(node)}
    for number, node in enumerate(ast.walk(tree)):
        for description, change in [] if node in idle else changes(node):
            yield node.lineno, description, functools.partial(changed_at, tree, number, change)


def changed_at(tree, number, change):
    """The code of a tree, one of whose nodes is changed."""
    changed = copy.deepcopy(tree)
    victim = list(ast.walk(changed))[number]
    replacement = change(victim)
    if replacement is not victim:
        changed = Replace(victim, replacement).visit(changed)
    return ast.unparse(ast.fix_missing_locations(changed))


def changes(node):
    """(description, function that changes the node or gives another one) for one node."""
    text = ast.unparse(node)
    if isinstance(node, ast.BinOp):
        if type(node.op) in SWAPPED:
            yield f"{text}: another operator", change_operator
        if isinstance(node.op, ast.MatMult):
            yield f"{text}: sides swapped", swap_sides
        yield f"{text}: only the left term", lambda victim: victim.left
        yield f"{text}: only the right term", lambda victim: victim.right
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPPED:
        yield f"{text}: the opposite", change_comparison
    if isinstance(node, ast.UnaryOp) and not isinstance(node.operand, ast.Constant):
        yield f"{text}: without {type(node.op).__name__}", lambda victim: victim.operand
    if isinstance(node, ast.Constant) and type(node.value) is int:
        yield f"{text}: one more", change_constant  # of the axis -1 it makes -2
    if isinstance(node, ast.Constant) and type(node.value) is bool:
        yield f"{text}: the opposite", flip_constant
    if isinstance(node, ast.Attribute) and node.attr in ("T", "mT"):
        yield f"{text}: not transposed", lambda victim: victim.value
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("transpose", "contiguous")
    ):
        yield f"{text}: without .{node.func.attr}()", lambda victim: victim.func.value
    if isinstance(node, ast.Assign) and reassigns(node):
        yield f"{text}: left out", lambda victim: ast.Pass()


def reassigns(node):
    """Whether an assignment changes a name that had a value before: `x = f(x)`."""
    target = node.targets[0]
    return isinstance(target, ast.Name) and any(
        isinstance(part, ast.Name) and part.id == target.id for part in ast.walk(node.value)
    )


def change_operator(node):
    node.op = SWAPPED[type(node.op)]()
    return node


def swap_sides(node):
    node.left, node.right = node.right, node.left
    return node


def change_comparison(node):
    node.ops[0] = SWAPPED[type(node.ops[0])]()
    return node


def change_constant(node):
    node.value += 1
    return node


def flip_constant(node):
    node.value = not node.value
    return node
