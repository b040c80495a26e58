"""Code that can only compute: it gives the same whenever it runs, and leaves nothing behind for what runs next.

    only_computes(["import torch", "def my_mask(T):\n    return torch.ones(T, T).tril() == 0"])  # True

So no answer made of such code depends on chance, and none can help or harm another in the same process. Nothing listed
here reads a clock or memory that nobody has written, keeps state outside the answer, turns an object into text (which
may hold its address) or looks up a name. NumPy can do all of these, so it is not listed. Modules may only be used as in
`torch.ones`: code that holds one as a value could change it. Code that uses anything else may be harmless, too; it only
runs more often.
"""

import ast
import builtins
from dataclasses import dataclass

IMPORTS = {
    "import math": "math",
    "import torch": "torch",
    "import torch.nn as nn": "nn",
    "import torch.nn.functional as F": "F",
    "from torch import nn": "nn",
    "from torch.nn import functional as F": "F",
}  # {what may be imported: the name that it gets, which nothing else may have}
MODULES = {*IMPORTS.values(), "functional", "linalg", "optim"}
BUILTINS = set(
    """
    abs all any bool divmod dict enumerate filter float int isinstance len list map max min pow print range reversed
    round slice sorted sum tuple zip Exception IndexError RuntimeError TypeError ValueError
    """.split()  # noqa: SIM905
)
ATTRIBUTES = set(
    """
    Adam AdamW ReLU SGD Size Softmax T abs add add_ all amax amin any append arange argmax argmin argsort backward
    baddbmm bmm bool broadcast_to cat ceil chunk clamp clip clone concat concatenate contiguous copy_ cos
    cross_entropy cumprod cumsum deg2rad detach device diag diag_embed diagonal diff dim div div_ dot double dtype e
    einsum eps eq exp exp_ expand expand_as extend eye fill_ fill_diagonal_ finfo flatten flip float float16 float32
    float64 floor full full_like gather ge grad gt hypot index_select inf int int32 int64 is_floating_point isfinite
    isinf isnan item le linspace log log_softmax logical_and logical_not logical_or logsumexp long lt mT masked_fill
    masked_fill_ matmul max maximum mean min minimum mm movedim mse_loss mul mul_ nan nan_to_num narrow ndim ne neg
    new_full new_ones new_tensor new_zeros no_grad norm numel one_hot ones ones_like outer pad permute pi pop pow
    prod qr relu repeat repeat_interleave requires_grad requires_grad_ reshape roll rsqrt scatter scatter_ select
    shape sigmoid sign sin size softmax softmax_ sort split sqrt square squeeze stack step sub sub_ sum swapaxes
    swapdims t tanh tensor tile tiny to tolist topk transpose tril tril_ triu triu_ type_as unbind unflatten
    unsqueeze var view view_as where zero_grad zeros zeros_like
    """.split()  # noqa: SIM905
)
DRAWS = {"manual_seed", "rand", "randint", "randn", "randperm"}  # allowed in a function that first sets the seed
SETTINGS = {"grad", "requires_grad"}  # attributes of a tensor that may be set to None, True or False
REFUSED: tuple[type[ast.AST], ...] = (ast.AsyncFunctionDef, ast.Await, ast.ClassDef, ast.Delete, ast.Global)
REFUSED += (ast.JoinedStr, ast.Match, ast.Nonlocal, ast.Set, ast.SetComp, ast.Yield, ast.YieldFrom)


@dataclass(frozen=True)
class Places:
    """Which nodes of some texts stand where. names: those that get a value in them, other than by an import."""

    names: set[str]
    owners: set[ast.AST]  # whose attribute is taken
    called: set[ast.AST]
    set_to_fixed: set[ast.AST]  # to None, True or False
    hints: set[ast.AST]  # on types, which nothing calls
    seeded: set[ast.AST]  # that run after the seed was set, in the same function


def only_computes(texts):
    """Whether Python texts, run in turn, contain nothing but definitions and calls of what is listed here."""
    try:
        nodes = [node for text in texts for node in ast.walk(ast.parse(text))]
        at = places_of(nodes)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return not any(map(has_a_meaning, at.names)) and all(is_plain(node, at) for node in nodes)


def places_of(nodes):
    """The Places of all nodes."""
    assigned = [node for node in nodes if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)]
    return Places(
        names={name for node in nodes for name in names_bound_by(node)},
        owners={node.value for node in nodes if isinstance(node, ast.Attribute)},
        called={node.func for node in nodes if isinstance(node, ast.Call)},
        set_to_fixed={
            target for node in assigned if node.value.value in (None, True, False) for target in node.targets
        },
        hints={getattr(node, kind, None) for node in nodes for kind in ("annotation", "returns")},
        seeded={part for node in nodes for part in parts_after_seed(node)},
    )


def names_bound_by(node):
    """The names that a node gives a value to, unless it is an import."""
    match node:
        case ast.Name(name, ast.Store()) | ast.FunctionDef(name) | ast.arg(name) | ast.ExceptHandler(name=str(name)):
            return [name]
    return []


def has_a_meaning(name):
    """Whether a name belongs to Python, the notebook or an import, so that setting it could change other code."""
    special = name.startswith("__") or name in ("display", "get_ipython", *IMPORTS.values())
    return special or hasattr(builtins, name)


def parts_after_seed(node):
    """What runs at once in a function that begins by setting torch's seed to a number; nothing in another node."""
    if isinstance(node, ast.FunctionDef):
        begin = 1 if ast.get_docstring(node, clean=False) else 0
        match node.body[begin : begin + 1]:
            case [ast.Expr(ast.Call(ast.Attribute(ast.Name("torch"), "manual_seed"), [ast.Constant(int())], []))]:
                for statement in node.body:
                    yield from parts_that_run(statement)


def parts_that_run(node):
    """A node and its parts, without those that run later: functions, and generators that are not unpacked at once."""
    yield node
    unpacked = isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple)
    for part in ast.iter_child_nodes(node):
        if not isinstance(part, (ast.FunctionDef, ast.Lambda)) and (unpacked or not isinstance(part, ast.GeneratorExp)):
            yield from parts_that_run(part)


def is_plain(node, at):
    """Whether a node is one that `only_computes` accepts. at: the Places of all."""
    match node:
        case ast.Import(names):
            return all(f"import {ast.unparse(each)}" in IMPORTS for each in names)
        case ast.ImportFrom(module, names, level):
            return not level and all(f"from {module} import {ast.unparse(each)}" in IMPORTS for each in names)
        case ast.Name(name, ast.Load()):
            return node in at.owners if name in MODULES else name in BUILTINS or name in at.names
        case ast.Attribute(ast.Name(owner), name, ast.Store()):
            return name in SETTINGS and node in at.set_to_fixed and owner not in MODULES
        case ast.Attribute(_, "Tensor"):
            return node in at.hints
        case ast.Attribute(owner, name, ast.Load()) if name in DRAWS:
            return node in at.seeded and node in at.called and isinstance(owner, ast.Name) and owner.id == "torch"
        case ast.Attribute(_, name, ast.Load()):
            return node in at.owners if name in MODULES else name in ATTRIBUTES
        case ast.Constant(str(text)):  # with "%", it could take in an object
            return "%" not in text
        case ast.keyword(name):
            return name not in (None, "out")
        case ast.withitem(ast.Call(ast.Attribute(ast.Name("torch"), "no_grad"), [], []), None) | ast.With():
            return True
        case ast.Constant(bytes()) | ast.Attribute() | ast.withitem():
            return False
    return not isinstance(node, REFUSED)
