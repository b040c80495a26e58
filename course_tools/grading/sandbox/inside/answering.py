"""Inside a child: run a student's cells, call their answer, pack the results. It knows no expected value."""

import ast
import codeop
import contextlib
import gc
import importlib.abc
import importlib.util
import inspect
import linecache
import mmap
import random
import re
import sys
import traceback
import types

import numpy as np
import torch
from torch import nn
from torch.autograd.functional import jacobian

from course_utils.explaining import program
from course_utils.judging import calls as asking
from course_utils.judging import errors, serialize

GPU = re.compile(r"(cuda|mps|xpu)(:\d+)?")  # devices
LONGEST_MESSAGE = 300  # characters of an error message


def answer(request):
    """The messages to send back for a request, in bytes: one for each answer."""
    request = serialize.unpack(request)
    course = CourseImports(request["course"])
    sys.meta_path[:0] = [SilencedImports(request["silent"]), course]
    messages = []
    for own in request["answers"]:
        if messages:
            course.forget_imported()
            sys.modules.pop("__main__", None)
            gc.collect()  # otherwise this answer would lack the memory that the last one kept
        messages.append(answer_one(request | own))
    return messages


def answer_one(request):
    """The message for one answer: {"replies": list} or {"trouble": sentence}."""
    calls = [asking.call_from_plain(call) for call in request["calls"]]
    random.seed(request["seed"])  # so that a grade does not change between runs
    np.random.seed(request["seed"])
    torch.manual_seed(request["seed"])
    torch.set_num_threads = torch.set_num_interop_threads = lambda number: None  # no child can start a thread
    reserve = mmap.mmap(-1, 1 << 24)  # only address space, as nothing is written: room to report that memory ran out
    try:
        found, stopped = run_cells(request["cells"], request["name"])
        if not found:
            return serialize.pack({"trouble": stopped or f"defines no `{request['name']}`"})
        if str(getattr(found[0], "__module__", "")).startswith("course_utils."):
            return serialize.pack({"trouble": "hands in the course's own definition: write your own"})
        return serialize.pack({"replies": replies(found[0], request, calls)})
    except BaseException as error:  # also KeyboardInterrupt, and results that cannot be packed
        reserve.close()
        return serialize.pack({"trouble": f"stopped with {error_in_words(error)}"})


def without_compiler():
    """Compile nothing; the results are the same. An optimizer would load the compiler only to exclude itself."""
    torch.compile = model_itself
    nn.Module.compile = lambda self, *arguments, **named: None
    sys.modules["torch._dynamo"] = torch._dynamo = types.ModuleType("torch._dynamo")
    torch._dynamo.disable = lambda function, *how, **more: function
    torch._dynamo.graph_break = lambda: None


def model_itself(model=None, **named):
    """Return the model unchanged, or a decorator, as torch.compile would."""
    return model if model is not None else lambda decorated: decorated


def replies(answer, request, calls):
    """A reply to each call; or the steps of the first; or, for each fix, the replies with it."""
    if not request["watch"] and not request["fixes"]:
        return asking.run_calls(answer, calls)
    found = program.program_of(answer, request["name"])
    if not found:
        return []
    if request["watch"]:
        return [list(step) for step in program.watched(found, calls[0])]
    return found.replies_with_fixes([program.Fix(number, new, "") for number, new in request["fixes"]], calls)


def warm_up():
    """Do what torch does on first use, so that no child has to, and disable what no child can use."""
    for accelerator in (torch.cuda, torch.xpu, torch.mtia):  # there is none inside, and each would store every seed
        accelerator.manual_seed_all = lambda seed: None
    without_compiler()
    layer = nn.Linear(3, 2)
    layer(torch.rand(4, 3)).softmax(dim=-1).square().sum().backward()
    jacobian(lambda x: x @ x.transpose(-2, -1), torch.rand(2, 3))
    asking.run_calls(lambda x: x + 1, [asking.FunctionCall([torch.rand(2)])])


def run_cells(cells, name):
    """([the object called `name` in the cells], None), or ([], why there is none: a sentence or None)."""
    module = types.ModuleType("__main__")  # classes look up the module that they were defined in
    module.display = module.get_ipython = Nothing()  # magics become calls of get_ipython()
    sys.modules["__main__"] = module
    names = vars(module)
    *earlier, own = cells
    as_code = codeop.Compile()  # as in IPython, imports from __future__ apply to all cells below ...
    as_code.flags |= ast.PyCF_ALLOW_TOP_LEVEL_AWAIT  # ... and cells may await
    for k, cell in enumerate(earlier):
        run_cell(cell, f"<cell {k + 1}>", names, as_code)
    stopped = run_cell(own, "<your cell>", names, as_code)
    return ([names[name]], None) if name in names else ([], stopped)


def run_cell(text, file, names, as_code=compile):
    """Run a cell statement by statement, skipping those that fail. Returns the first failure, or None.

    as_code: compiles a statement.
    """
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)  # for error messages
    try:
        statements = GpuToCpu().visit(ast.parse(text, file)).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"cannot be read by Python: {error_in_words(error)}"
    failure = None
    for statement in statements:
        try:
            awaited = eval(as_code(ast.Module([statement], []), file, "exec"), names)
            if inspect.iscoroutine(awaited):
                run_coroutine(awaited)
        except BaseException as error:  # SystemExit, too
            line = next((at for frame, at in traceback.walk_tb(error.__traceback__) if frame.f_globals is names), 0)
            where = f"in line {line}, `{linecache.getline(file, line).strip()[:LONGEST_MESSAGE]}`, " if line else ""
            failure = failure or f"stopped {where}with {error_in_words(error)}"
    return failure


def run_coroutine(coroutine):
    """Run a coroutine to its end. It cannot wait for anything outside, since there is no event loop."""
    with contextlib.suppress(StopIteration):
        while True:
            coroutine.send(None)


class GpuToCpu(ast.NodeTransformer):
    """Changes code that asks for a GPU into code that does not, since there is none here."""

    def visit_Constant(self, node):
        asks = isinstance(node.value, str) and GPU.fullmatch(node.value)
        return ast.copy_location(ast.Constant("cpu"), node) if asks else node

    def visit_Call(self, node):
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "cuda":
            node.func.attr, node.args, node.keywords = "cpu", [], []
        return node


def error_in_words(error):
    """An error's type and the first line of its message."""
    words = errors.first_line(error)[:LONGEST_MESSAGE]
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


class Nothing:
    """Accepts every call and returns itself, since figures and widgets are not graded."""

    def __call__(self, *arguments, **named):
        return self

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __iter__(self):
        return iter([self, self])  # fig, ax = plt.subplots()


class SilencedImports(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Replaces imports of packages that draw or show, given by their names, with Nothing."""

    def __init__(self, names):
        self.names = names

    def find_spec(self, name, path=None, target=None):
        silent = any(name == package or name.startswith(f"{package}.") for package in self.names)
        return importlib.util.spec_from_loader(name, self, is_package=True) if silent else None

    def exec_module(self, module):
        module.__getattr__ = Nothing().__getattr__


class CourseImports(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Resolves imports of the course from texts sent for this exercise: {"course_utils.attention": its text, ...}."""

    def __init__(self, texts):
        self.texts, self.imported = texts, []

    def forget_imported(self):
        """Forget all modules imported so far, so that the next import of one runs its text again."""
        for name in self.imported:
            sys.modules.pop(name, None)
        self.imported.clear()

    def find_spec(self, name, path=None, target=None):
        package = any(other.startswith(f"{name}.") for other in self.texts)  # the folder of a module may have no text
        if package or name in self.texts:
            return importlib.util.spec_from_loader(name, self, is_package=package)
        if name.startswith(("course_utils.", "course_tools")):
            raise ModuleNotFoundError(f"{name} cannot be used in an answer", name=name)
        return None

    def exec_module(self, module):
        self.imported.append(module.__name__)
        exec(compile(self.texts.get(module.__name__, ""), f"<{module.__name__}>", "exec"), vars(module))
