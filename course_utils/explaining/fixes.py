"""Small changes to a program: what a learner might have meant at one place.

A fix knows no exercise and no right answer. Whether it makes an answer right is found out by running it.
"""

import ast
import builtins
import itertools

import torch

from course_utils.explaining.known_values import is_mask
from course_utils.explaining.program import MODULES, Fix, name_of

CONFUSED_FUNCTIONS = [  # functions and methods that are mistaken for each other
    ("triu", "tril"), ("sum", "mean", "prod", "amax"), ("max", "min", "amax", "amin"), ("log", "log2"),
    ("softmax", "log_softmax", "exp"), ("any", "all"), ("cat", "stack"), ("zeros", "ones"), ("view", "reshape"),
]  # fmt: skip
CONFUSED_OPERATORS = {
    ast.Add: [ast.Sub, ast.Mult], ast.Sub: [ast.Add], ast.Mult: [ast.Div, ast.Add], ast.Div: [ast.Mult, ast.FloorDiv],
    ast.FloorDiv: [ast.Div], ast.Pow: [ast.Mult], ast.BitAnd: [ast.BitOr], ast.BitOr: [ast.BitAnd],
    ast.Lt: [ast.LtE, ast.Gt, ast.GtE], ast.LtE: [ast.Lt, ast.GtE, ast.Gt], ast.Gt: [ast.GtE, ast.Lt, ast.LtE],
    ast.GtE: [ast.Gt, ast.LtE, ast.Lt], ast.Eq: [ast.NotEq, ast.Gt, ast.Lt], ast.NotEq: [ast.Eq],
}  # fmt: skip
USUAL_AXES = (-1, -2, 0, 1, 2, -3)
AXIS_FUNCTIONS = {
    "softmax", "log_softmax", "sum", "mean", "max", "min", "amax", "amin", "cumsum", "cat", "stack",
    "unsqueeze", "squeeze", "all", "any", "split", "gather", "logsumexp", "Softmax", "repeat_interleave",
}  # fmt: skip
MOST_TIMES = 100  # no whole number is tried for one so many times smaller: a tensor of that size could fill the memory
USUAL_KEYWORDS = ("keepdim=True", "dim=-1", "bias=False", "diagonal=1", "dim=0")


def fixes_at(program, number, values, names, sizes):
    """Every fix of one node. values: {number of a node: its value}. names: {name: nodes that read it}.

    sizes: Python for whole numbers that are at hand.
    """
    node = program.nodes[number]
    if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return
    if (name := name_of(node)) and not hasattr(builtins, name):
        for other in (each for each in similar_names(number, values, names) if each not in (name, "_")):
            if not stands_in_call(program, node, other) and not is_left_over(program, node, other):
                yield Fix(number, other, "wrong name")
    up = program.parents.get(id(node))  # around a number that says how many there are, or how often
    counts = isinstance(getattr(up, "op", None), ast.Div) or called(up) == "range"
    if name and type(values.get(number)) is int and counts:
        yield from (Fix(number, f"({name} {step})", "wrong number") for step in ("- 1", "+ 1"))
    if fixes_of := statement_fixes if isinstance(node, ast.stmt) else FIXES_BY_NODE.get(type(node)):
        for new, kind in fixes_of(node, program, sizes):
            yield Fix(number, new if isinstance(new, str) else ast.unparse(new), kind)


def similar_names(number, values, names):
    """The names that hold the same kind of value as a node."""

    def kind(value):
        entries = kind(value[0]) if isinstance(value, list) and value else None
        return type(value), getattr(value, "dtype", None), getattr(value, "ndim", None), entries

    def is_alike(value):
        fits = type(own) is not int or type(value) is int and value <= MOST_TIMES * max(abs(own), 1)
        return fits and kind(value) == kind(own)

    own = values.get(number)
    return [name for name, reads in names.items() if not reads or any(is_alike(values.get(k)) for k in reads)]


def is_left_over(program, node, name):
    """Whether a name is what a loop left behind that ended before a node, or may have."""
    loops = program.statements(lambda each: isinstance(each, ast.For) and name in map(name_of, ast.walk(each.target)))
    return bool(loops) and not any(each in loops for each in program.enclosing(node, ast.For))


def stands_in_call(program, node, name):
    """Whether a name stands in the call around a node already. A list appended to itself would fill the memory."""
    call = program.parents.get(id(node))
    if isinstance(call, ast.Attribute):
        call = program.parents.get(id(call))
    return isinstance(call, ast.Call) and name in map(name_of, [getattr(call.func, "value", call.func), *call.args])


def number_fixes(node, program, sizes):
    """Fixes of a number, or of one with its sign."""
    if isinstance(program.parents.get(id(node)), ast.UnaryOp):
        return
    value = -node.operand.value if isinstance(node, ast.UnaryOp) else node.value
    if isinstance(value, bool):
        yield repr(not value), "inverted"
    elif isinstance(value, int):
        yield from ((size, "fixed size") for size in sizes if value > 2)
        around = program.enclosing(node, ast.AST)
        no_call = (ast.keyword, ast.UnaryOp, ast.Tuple)  # these may stand between a number and the call it is given to
        call = called(next((each for each in around if not isinstance(each, no_call)), None))
        axis = call in AXIS_FUNCTIONS
        ends_loop = call == "range" and len(program.parents[id(node)].args) == 1
        for new in dict.fromkeys([*(USUAL_AXES if axis else ()), value + 1, value - 1, -value, 0, 1, 2, -1]):
            if new != value and (new > 0 or not ends_loop):
                yield repr(new), "wrong axis" if axis else "wrong number"
    elif isinstance(value, float):
        if value <= 0:
            yield "-torch.inf", "wrong number"
        others = dict.fromkeys([1 - value, -value, 1 / value if value else 0.0, 0.5, 1.0, 2.0, 0.0])
        yield from ((repr(new), "wrong number") for new in others if new != value)


def operation_fixes(node, program, sizes):
    left, right = ast.unparse(node.left), ast.unparse(node.right)
    yield from ((f"({side})", "extra step") for side in (left, right))
    for swap in CONFUSED_OPERATORS.get(type(node.op), []):
        yield ast.BinOp(node.left, swap(), node.right), "wrong operation"
    yield ast.BinOp(node.right, node.op, node.left), "wrong order"
    if isinstance(node.op, ast.Sub):
        yield f"max(0, {ast.unparse(node)})", "missing step"
    if isinstance(node.op, ast.Mult) and isinstance(node.left, ast.List) and len(node.left.elts) == 1:
        for one in (ast.unparse(node.left.elts[0]), f"({ast.unparse(node.left.elts[0])}).clone()"):
            yield f"[{one} for _ in range({right})]", "the same again"
    if isinstance(node.right, ast.BinOp) and ast.unparse(node).endswith(right):  # a | b & c
        inner = ast.BinOp(node.left, node.op, node.right.left)
        yield ast.BinOp(inner, node.right.op, node.right.right), "parentheses"
    if isinstance(node.left, ast.BinOp):  # a ** 1 / 2
        power = node.left.right
        yield ast.BinOp(node.left.left, node.left.op, ast.BinOp(power, node.op, node.right)), "parentheses"
        if isinstance(power, ast.BinOp):  # b / a ** 1 / 2
            inner = ast.BinOp(power.left, power.op, ast.BinOp(power.right, node.op, node.right))
            yield ast.BinOp(node.left.left, node.left.op, inner), "parentheses"


def comparison_fixes(node, program, sizes):
    if isinstance(node.ops[0], (ast.Eq, ast.NotEq)) and isinstance(program.parents.get(id(node)), ast.BoolOp):
        return  # the opposite of one part of a condition turns all of it off
    for swap in CONFUSED_OPERATORS.get(type(node.ops[0]), []):
        yield ast.Compare(node.left, [swap()], node.comparators), "wrong comparison"


def sign_fixes(node, program, sizes):
    if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        return number_fixes(node, program, sizes)
    return [(f"({ast.unparse(node.operand)})", "wrong sign" if isinstance(node.op, ast.USub) else "inverted")]


def call_fixes(node, program, sizes):
    arguments, keywords = ([*map(ast.unparse, parts)] for parts in (node.args, node.keywords))
    name, on, function = called(node), None, ast.unparse(node.func)
    if isinstance(node.func, ast.Attribute):
        on = ast.unparse(node.func.value)
        on = on if on.replace(".", "").isidentifier() else f"({on})"

    def call(function=function, arguments=arguments, keywords=keywords):
        return f"{function}({', '.join([*arguments, *keywords])})"

    for other in dict.fromkeys(each for group in CONFUSED_FUNCTIONS if name in group for each in group if each != name):
        yield call(f"{on}.{other}" if on else other), "wrong function"
    if on and on not in MODULES:
        yield f"({on})", "extra step"
        if name.endswith("_") and not name.startswith("_"):
            yield call(f"{on}.{name.rstrip('_')}"), "changed in place"
    elif arguments:
        yield f"({arguments[0]})", "extra step"
    for k in range(len(arguments) - 1) if name != "einsum" else ():  # where letters say which one is which
        swapped = [*arguments[:k], arguments[k + 1], arguments[k], *arguments[k + 2 :]]
        yield call(arguments=swapped), "arguments swapped"
        if name in ("view", "reshape"):
            moved = "permute" in program.text or "movedim" in program.text
            kind = "arguments swapped" if moved else "view for transpose"
            after = called(program.parents.get(id(program.parents.get(id(node)))))  # of what its result is used for
            turned = after in ("transpose", "permute", "movedim")
            for axes in ("1, 2", "0, 1", "2, 3", "-2, -1", "-3, -2") if not turned else ():
                yield f"{call(arguments=swapped)}.transpose({axes})", kind
    if name == "len" and arguments:
        yield from ((f"{arguments[0]}.shape[{axis}]", "wrong axis") for axis in (-1, -2, 1))
    if name == "diagonal":
        yield call(keywords=["dim1=-2", "dim2=-1"]), "option missing"
    same = [other for other in program.nodes if isinstance(other, ast.Call) and called(other) == name]
    others = [ast.unparse(keyword) for other in same for keyword in other.keywords]
    for keyword in dict.fromkeys([*USUAL_KEYWORDS, *others]):
        if keyword.partition("=")[0] not in [each.partition("=")[0] for each in keywords]:
            yield call(keywords=[*keywords, keyword]), "option missing"
    if name in ("max", "min", "amax", "amin", "sum", "mean") and on and not arguments and not keywords:
        rows = "a" + name if name in ("max", "min") else name  # `max` of rows also gives places
        yield call(f"{on}.{rows}", keywords=["dim=-1", "keepdim=True"]), "option missing"
    if name == "range" and len(arguments) == 1:
        yield call(arguments=["1", *arguments]), "wrong number"
    for k, _ in enumerate(keywords):
        yield call(keywords=keywords[:k] + keywords[k + 1 :]), "extra option"
    if name == "dropout":
        others = [keyword for keyword in keywords if not keyword.startswith("training")]
        yield call(keywords=[*others, "training=self.training"]), "dropout in evaluation"
    if name == "transpose":
        for axes in ("1, 2", "-2, -1", "0, 1", "2, 3", "-3, -2", "1, 3"):
            yield call(arguments=axes.split(", "), keywords=[]), "wrong transpose"


def index_fixes(node, program, sizes):
    if not isinstance(program.parents.get(id(node)), ast.Compare):  # sizes and one size are never equal
        yield f"({ast.unparse(node.value)})", "wrong index"
    whole, index = ast.unparse(node.value), node.slice
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    for new in (f"..., {ast.unparse(index)}", f":, {ast.unparse(index)}") if len(parts) == 1 else ():
        yield f"{whole}[{new}]", "wrong index"
    texts = [*map(ast.unparse, parts)]
    for k, part in enumerate(parts):
        for new in changed_slices(part) if isinstance(part, ast.Slice) else [":"] * (len(parts) > 1):
            yield f"{whole}[{', '.join([*texts[:k], new, *texts[k + 1 :]])}]", "wrong index"


def changed_slices(index):
    """Slices that may have been meant by this one."""
    lower, upper = (ast.unparse(each) if each else "" for each in (index.lower, index.upper))
    new = [("", upper), (lower, ""), ("1", upper), (lower, "-1"), (upper, ""), ("", lower)]
    new += [(lower, f"{upper} {step}") for step in ("+ 1", "- 1") if upper]
    return [f"{first}:{last}" for first, last in dict.fromkeys(new) if (first, last) != (lower, upper)]


def sequence_fixes(node, program, sizes):
    """Fixes of the order of several values."""
    if len(node.elts) > 4 or isinstance(program.parents.get(id(node)), (ast.Subscript, ast.For, ast.comprehension)):
        return
    for order in itertools.islice(itertools.permutations(node.elts), 1, None):
        yield type(node)([*order], ast.Load()), "wrong order"


def order_of_names_fixes(program):
    """Fixes of the order in which a statement names several values: `k, q = …`."""
    for number, node in enumerate(program.nodes):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
            for names in itertools.islice(itertools.permutations(map(ast.unparse, node.targets[0].elts)), 1, None):
                yield Fix(number, f"{', '.join(names)} = {ast.unparse(node.value)}", "order of names")


FIXES_BY_NODE = {
    ast.Constant: number_fixes, ast.BinOp: operation_fixes, ast.Compare: comparison_fixes, ast.UnaryOp: sign_fixes,
    ast.Call: call_fixes, ast.Subscript: index_fixes, ast.Tuple: sequence_fixes, ast.List: sequence_fixes,
}  # fmt: skip


def called(node):
    """The name of the function or method that a call calls; "" for anything else."""
    function = getattr(node, "func", None)
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def fixes_around(program, number, value, sizes):
    """Fixes that put something around an expression. value: of the expression. sizes: Python for whole numbers."""
    old = ast.unparse(program.nodes[number])
    if getattr(value, "dtype", None) is torch.bool or isinstance(value, bool):
        new = [(f"not ({old})" if isinstance(value, bool) else f"~({old})", "inverted")]
    elif isinstance(value, float):
        new = [(f"-({old})", "wrong sign"), (f"1 - ({old})", "missing step")]
    else:
        new = fixes_around_tensor(old, value, sizes) if isinstance(value, torch.Tensor) else ()
    for text, kind in new:
        if kind != "missing mask" or "tri" not in program.text:  # a mask that stands elsewhere is not missing
            yield Fix(number, text, kind)


def fixes_around_tensor(old, value, sizes):
    """(Python, kind) for what may be missing around a tensor."""
    for axes, least in {"-2, -1": 2, "1, 2": 3, "0, 1": 3}.items():
        if value.ndim >= least:
            yield f"({old}).transpose({axes})", "missing transpose"
    if is_mask(value) and value.unique().numel() == 2:
        yield f"({old}).bool()", "numbers for booleans"
    if not value.is_floating_point():
        return
    for axis in (-1, -2) if value.ndim > 1 else (-1,):
        yield f"torch.softmax({old}, dim={axis})", "missing step"
        yield f"({old}).sum(dim={axis})", "missing step"
        yield f"({old}) - ({old}).max(dim={axis}, keepdim=True).values", "missing largest"
    if value.ndim > 1 and value.shape[-1] == value.shape[-2]:
        yield f"({old}).masked_fill(torch.ones(({old}).shape[-2:]).triu(1).bool(), -torch.inf)", "missing mask"
    for size in sizes:
        yield f"({old}) / ({size}) ** 0.5", "missing scale"
        yield f"({old}) / ({size})", "missing step"
    yield f"-({old})", "wrong sign"
    yield f"({old}).clone()", "changed in place"
    yield f"({old})[..., None]", "missing dimension"


def statement_fixes(node, program, sizes):
    """Fixes of a statement as a whole."""
    match node:
        case ast.Break():
            yield "continue", "loop left too early"
        case ast.AugAssign(target, op, value):
            yield ast.Assign([target], ast.BinOp(target, op, value), lineno=0), "changed in place"
        case ast.Assign(targets=[ast.Subscript(value=changed) as target, *_], value=value) if name_of(changed):
            yield f"{name_of(changed)} = {name_of(changed)}.clone()\n{ast.unparse(node)}", "changed in place"
            for new, kind in index_fixes(target, program, sizes):
                yield f"{new} = {ast.unparse(value)}", kind
        case ast.Assign(targets=[ast.Tuple(names)], value=ast.Call(args=given) as value):
            reads = program.read_names()
            for lost in (each for each in names if not reads.get(name_of(each))):
                for kept in filter(name_of, given):
                    new = ", ".join(ast.unparse(kept if each is lost else each) for each in names)
                    yield f"{new} = {ast.unparse(value)}", "result thrown away"
        case ast.FunctionDef(name, arguments, body, decorators):
            if decorators:
                yield ast.FunctionDef(name, arguments, body, [], lineno=0), "gradients off"
            if name == "forward" and len(arguments.args) == 2:
                switch = ast.parse(f"if not self.training: return {arguments.args[1].arg}").body
                yield ast.FunctionDef(name, arguments, [*switch, *body], decorators, lineno=0), "dropout in evaluation"
        case ast.If(test, body, orelse):
            yield ast.If(ast.UnaryOp(ast.Not(), test), body, orelse), "wrong condition"
            yield body, "wrong condition"
            yield "pass", "wrong condition"
        case ast.With():
            yield node.body, "gradients off"
        case ast.Expr(value=ast.Call(func=ast.Attribute(receiver, name))):
            on, text = ast.unparse(receiver), ast.unparse(node)
            if on not in MODULES | {"super()"}:
                yield f"{on} = {text}", "result thrown away"
                if name.endswith("_"):
                    yield f"{on} = " + text.replace(f".{name}(", f".{name[:-1]}(", 1), "changed in place"
    match node:
        case ast.Assign() | ast.AugAssign() | ast.Expr(value=ast.Call()):
            yield "pass", "extra step"
