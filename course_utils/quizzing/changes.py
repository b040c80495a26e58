"""Small changes to an answer's code, such as somebody could make by mistake, for the options of its questions."""

import ast
import re
from dataclasses import dataclass

from course_utils.explaining.program import MODULES, Fix

OPERATORS: dict[type, type] = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
OPERATORS |= {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
# calls that can be removed from a chain: the rest is still a tensor
LEFT_OUT = re.compile(
    "abs|amax|bool|clone|contiguous|cumsum|div|dropout|exp|flatten|float|log|long|masked_fill_?|mean|movedim|mul|permute|"
    "repeat_interleave|reshape|softmax|sqrt|square|squeeze|sum|swapaxes|transpose|tril|triu|unflatten|unsqueeze|view"
)
LONGEST = 70  # characters of a piece of code in a sentence


@dataclass(frozen=True)
class Change:
    """A change in words. axis: whether it names another axis."""

    fix: Fix
    words: str
    axis: bool = False


def changes_of(program):
    """The Changes of a program that can be described briefly and refer to one place."""
    found = {}
    for number, node in enumerate(program.nodes):
        if any(program.enclosing(node, ast.FunctionDef)):
            for new in replacements(program, node):
                if change := in_words(program, node, Fix(number, new, "")):
                    found.setdefault(change.words, change)
    return list(found.values())


def in_words(program, node, fix):
    """The Change of a Fix, or None."""
    if fix.new == "pass":
        old, alone = ast.unparse(node), [node] in vars(program.parents[id(node)]).values()  # its block would be empty
        brief = len(old) <= LONGEST and "\n" not in old
        return Change(fix, f"line {node.lineno}, `{old}`, is removed") if brief and not alone else None
    old, new = program.before_and_after(fix)
    tail = re.search(r"\.[a-z_]\w*$", old)
    if tail and new.endswith(tail[0]):  # a method's name without its call
        old, new = old.removesuffix(tail[0]), new.removesuffix(tail[0])
    text = ast.unparse(program.statement_of(node))
    brief = max(len(old), len(new)) <= LONGEST and "\n" not in old + new
    if not brief or old == new or text.count(old) != 1 or not is_read_as_meant(program, fix, text.replace(old, new)):
        return None
    keyword = program.parents[id(node)]
    axis = isinstance(keyword, ast.keyword) and keyword.arg in ("dim", "axis")
    return Change(fix, f"in line {node.lineno}, `{old}` becomes `{new}`", axis)


def is_read_as_meant(program, fix, text):
    """Whether a statement's text, changed as described, equals the Fix's result; parentheses may be missing."""
    try:
        lines = ast.unparse(ast.parse(text)).split("\n")
    except SyntaxError:
        return False
    return {*map(str.strip, lines)} <= {*map(str.strip, program.text_with(fix).split("\n"))}


def replacements(program, node):
    """Python that could stand in the place of a node."""
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
            yield from (f"-{value + 1}", "0" if value == 1 else f"-{value - 1}")
        case ast.Constant(value=value) if type(value) is int and not isinstance(program.parents[id(node)], ast.UnaryOp):
            yield from (str(each) for each in (value + 1, value - 1) if each >= 0)
        case ast.BinOp(op=ast.MatMult()):
            yield ast.unparse(ast.BinOp(node.right, node.op, node.left))
        case ast.BinOp(op=op) if type(op) in OPERATORS:
            yield ast.unparse(ast.BinOp(node.left, OPERATORS[type(op)](), node.right))
        case ast.Compare(ops=[op]) if type(op) in OPERATORS:
            yield ast.unparse(ast.Compare(node.left, [OPERATORS[type(op)]()], node.comparators))
        case ast.Attribute(attr="T" | "mT"):
            yield ast.unparse(node.value)
        case ast.Call(func=ast.Attribute(attr=name, value=receiver)) if LEFT_OUT.fullmatch(name):
            of_module = ast.unparse(receiver) in MODULES | {"self"}
            if other := {"triu": "tril", "tril": "triu"}.get(name):
                yield ast.unparse(ast.Call(ast.Attribute(receiver, other, ast.Load()), node.args, node.keywords))
            if not of_module or node.args:
                yield ast.unparse(node.args[0] if of_module else receiver)
        case ast.AugAssign() | ast.Expr(value=ast.Call()) if not re.search(r"\bsuper\b|register_", ast.unparse(node)):
            yield "pass"
        case ast.Assign([ast.Name(name)], value) if name in (getattr(part, "id", None) for part in ast.walk(value)):
            yield "pass"
