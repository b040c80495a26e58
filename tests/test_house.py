"""How the code is built: who may use whom, what is public, that what is imported is declared, and all written alike."""

import ast
import functools
import graphlib
import importlib
import inspect
import re
import subprocess
import sys
import textwrap
import tomllib
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest
import torch
from packaging.requirements import Requirement

import course_tools
import course_utils
from course_tools import environment, repository
from course_tools.repository import ROOT
from course_utils.checking import check
from course_utils.judging import errors
from course_utils.judging.result import NOT_YET, RIGHT
from tests.support import answers, stored

ROOMS = [  # of both houses, from the ground up
    f"{house.__name__}.{room}"
    for house in (course_utils, course_tools)
    for row in re.findall("^    (.+?):", house.__doc__, re.MULTILINE)
    for room in row.split(", ")
]
MOST_LINES = 8_500 + 1_500  # when the two houses were parted, and for all that came and comes later
COURSE = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["course"]


def module(path):
    """The dotted name of a file of the package or of the tests."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


PYTHON = [path for folder in (*repository.HOUSES, "tests") for path in sorted((ROOT / folder).rglob("*.py"))]
FILES = {module(path): path for path in PYTHON}
PACKAGE = [name for name in FILES if name.partition(".")[0] in repository.HOUSES and "." in name]


@functools.cache
def tree_of(name):
    """The syntax tree of a module."""
    return ast.parse(FILES[name].read_text(encoding="utf-8"))


def imported(name):
    """The modules that a module imports, on top or inside a function."""
    for node in ast.walk(tree_of(name)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} imports from a dot: write the whole name"
            inside = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (full if full in FILES else node.module for full in inside)


# --- the floors -------------------------------------------------------------------------------------------------------


def room(name):
    """The place in ROOMS of the room that a module of the course lies in."""
    found = [place for place, known in enumerate(ROOMS) if f"{name}.".startswith(f"{known}.")]
    assert found, f"{name}: name it in the list of rooms in its house's __init__.py, after all that it imports"
    return max(found, key=lambda place: len(ROOMS[place]))


def test_what_notebooks_import_uses_none_of_the_tools():
    for name in PACKAGE:
        if name.startswith("course_utils."):
            assert not [other for other in imported(name) if other.startswith("course_tools")], name


def test_a_room_uses_only_those_named_before_it():
    for name in PACKAGE:
        for other in imported(name):
            if other in PACKAGE:
                assert room(other) <= room(name), (
                    f"{name} imports {other}, which the list of rooms names after it: move what it needs up in the list"
                )


def test_what_notebooks_import_stays_small():
    own = [path for path in PYTHON if path.is_relative_to(ROOT / "course_utils")]
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in own)
    assert lines <= MOST_LINES, (
        f"course_utils has {lines - MOST_LINES} lines of Python too many: shorten code there, "
        "or move to course_tools what no notebook imports"
    )


def test_no_two_files_need_each_other():
    graph = {name: {other for other in imported(name) if other in PACKAGE} for name in PACKAGE}
    graphlib.TopologicalSorter(graph).prepare()  # a CycleError names the files


def test_every_room_in_the_list_is_there():
    assert [name for name in ROOMS if name not in FILES] == []


def test_an_import_inside_a_function_says_why_beside_it():
    for name in PACKAGE:
        lines = FILES[name].read_text(encoding="utf-8").splitlines()
        for function in ast.walk(tree_of(name)):
            for node in ast.walk(function) if isinstance(function, ast.FunctionDef) else []:
                if isinstance(node, (ast.Import, ast.ImportFrom)):
                    assert "  # " in lines[node.lineno - 1], f"{name}, line {node.lineno}: import it on top, or say why"


def test_every_file_says_what_it_is_for_and_every_room_what_may_come_in():
    for name in PACKAGE:
        words = ast.get_docstring(tree_of(name))
        assert words, f"{name}: say in a sentence what it is for"
        if FILES[name].name == "__init__.py":
            assert "What belongs here: " in words and " Not: " in words, f"{name}: say what belongs here, and what not"


# --- the public face --------------------------------------------------------------------------------------------------


def names_in(tree):
    """The classes and functions that a module defines at its top."""
    return {node.name: node for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}


def listed(tree):
    """What stands in a module's `__all__`."""
    assigned = [node for node in tree.body if isinstance(node, ast.Assign)]
    return [
        name for node in assigned if ast.unparse(node.targets[0]) == "__all__" for name in ast.literal_eval(node.value)
    ]


def public_in(names):
    """{module: what stands in its `__all__`} of those that have one."""
    return {name: public for name in names if (public := listed(tree_of(name)))}


def test_what_chapters_use_is_public():
    public = public_in(PACKAGE)
    for source in repository.sources():
        code = re.sub(r"(?m)^( *)%", r"\1# %", source.read_text(encoding="utf-8"))
        tree = ast.parse(code)
        modules = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "course_utils":
                for alias in node.names:
                    full = f"{node.module}.{alias.name}"
                    if full in FILES:
                        modules[alias.name] = full
                    else:
                        assert alias.name in public[node.module], f"{source.name} imports {full}: add it to __all__"
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
                full = modules[node.value.id]
                assert node.attr in public[full], f"{source.name} uses {full}.{node.attr}: add it to __all__ there"


def test_what_is_public_is_there_and_in_order():
    for name, names in public_in(PACKAGE).items():
        assert names == sorted(names) and all(hasattr(importlib.import_module(name), public) for public in names)


FACES = public_in(name for name in PACKAGE if name.count(".") == 1)  # what other projects import from
THINGS = {  # {what stands in a room's __all__: (the thing, the words of its room)}
    f"{name}.{public}": (thing, importlib.import_module(name).__doc__)
    for name, names in FACES.items()
    for public in names
    if callable(thing := getattr(importlib.import_module(name), public))
}


def functions_of(thing):
    """A function itself, or the methods that a class defines here."""
    found = vars(thing).values() if inspect.isclass(thing) else [thing]
    return [each for each in found if inspect.isfunction(each) and each.__module__.partition(".")[0] == "course_utils"]


@pytest.mark.parametrize("name", THINGS)
def test_what_is_public_has_types_and_words_on_all_that_it_takes_and_raises(name):
    thing, room_words = THINGS[name]
    functions = functions_of(thing)
    assert inspect.getdoc(thing), f"{name}: say in a docstring what it does"
    docstrings = [thing.__doc__, room_words, *(function.__doc__ or "" for function in functions)]
    words = " ".join(" ".join(docstrings).split())
    for function in functions:
        signature = inspect.signature(function)
        taken = {key: parameter.annotation for key, parameter in signature.parameters.items() if key != "self"}
        assert inspect.Signature.empty not in [signature.return_annotation, *taken.values()], f"{name}: say its types"
        for key in taken:
            assert re.search(rf"\b{key}\b", words), f"{name}: say in the docstring what {key} is, and its shape"
        for error in raised(ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]):
            assert re.search(f"[Rr]aises .*{error}", words), f"{name}: say in the docstring that it raises {error}"


def raised(function):
    """The errors that a function raises by itself or by what refuses input for it; not those of functions inside it."""
    errors, waiting = set(), list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef):
            continue
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            errors.add(ast.unparse(node.exc.func))
        elif isinstance(node, ast.Call) and re.match(r"(\w+\.)?(check_|refuse)", ast.unparse(node.func)):
            errors.add("ValueError")
        waiting += ast.iter_child_nodes(node)
    return errors


def test_all_of_a_file_that_chapters_build_is_public():
    shown = {  # what chapters define
        name
        for path in stored.PATHS
        for cell in stored.code_cells(stored.read(path))
        for name in re.findall(r"^(?:class|def) (\w+)", cell.source, re.MULTILINE)
    }
    for name, public in public_in(PACKAGE).items():
        if shown & (names := names_in(tree_of(name))).keys():
            assert sorted(names) == public, f"{name}: name it in __all__ there"


def test_every_function_that_shows_is_public():
    public = public_in(PACKAGE)
    for name in PACKAGE:
        showing = [function for function in names_in(tree_of(name)) if function.startswith("show_")]
        face = "course_utils.live" if name.startswith("course_utils.live.") else name
        for function in showing:
            assert function in public[face], f"{function} in {name}: import it in {face}, and name it in __all__ there"


# --- a short way to the verdict ---------------------------------------------------------------------------------------

MOST_FUNCTIONS = 15


def functions_entered(id, attempt):
    """The functions of course_utils that `check` hands an answer to until there is a verdict, and the verdict.

    Counted is each function, once, that takes as an argument the answer itself, a layer that it made, or one of its own
    functions. What is defined inside a function and finds the answer there belongs to that function. An answer's values
    are not counted: they are tensors and plain data. The verdict is there when the search for its reason begins.
    """
    found, own = set(), [attempt, *errors.functions(attempt)]
    layer = attempt if isinstance(attempt, type) else ()

    def of_answer(value):
        return any(value is each for each in own) or isinstance(value, layer)

    def watch(frame, event, _):
        code = frame.f_code
        file = Path(code.co_filename)
        if file.parent.name == "explaining":
            sys.setprofile(None)
        elif event == "call" and ROOT / "course_utils" in file.parents:
            names, *others = inspect.getargs(code)
            given = [frame.f_locals[name] for name in [*names, *filter(None, others)]]
            entries = [entry for each in given if type(each) in (list, tuple) for entry in each]
            if any(map(of_answer, given + entries)):
                found.add(f"{file.stem}.{code.co_name}")

    sys.setprofile(watch)
    try:
        result = check(id, attempt)
    finally:
        sys.setprofile(None)
    return found, result.status


def stops(scores):
    raise ValueError("no way")


class Stops(torch.nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W = torch.nn.Linear(d_in, 3 * d_out, bias=False)

    def forward(self, x):
        raise ValueError("no way")


@pytest.mark.any_chapter
@pytest.mark.parametrize("id, stopping", [("3.2", stops), ("4.4", Stops)])
def test_an_answer_enters_at_most_15_functions_on_its_way_to_the_verdict(id, stopping, monkeypatch, tmp_path):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))
    wrong = next(each for each in answers.WRONG if each.exercise == id)
    for attempt, status in [(answers.right(id)[0].object(), RIGHT), (wrong.object(), NOT_YET), (stopping, NOT_YET)]:
        found, reached = functions_entered(id, attempt)
        assert reached == status and {"commands.check", "calls.run_calls", "stubs.is_stub"} <= found
        assert len(found) <= MOST_FUNCTIONS, f"{len(found)}: {sorted(found)}"


# --- what is imported is declared -------------------------------------------------------------------------------------


def pinned(file):
    """The packages that a requirements file pins."""
    return {environment.canonical(name) for name, _ in environment.pins([file])}


LEARNERS, TESTS = pinned("requirements.txt"), pinned("tests/requirements.txt") | pinned("course_tools/requirements.txt")
DECLARED = {"course_utils": LEARNERS | COURSE["brought"].keys() | COURSE["optional"].keys()}
BUILD = {environment.canonical(Requirement(line).name) for line in repository.project()["build-system"]["requires"]}
DECLARED["course_tools"] = DECLARED["course_utils"] | BUILD
DECLARED["tests"] = DECLARED["course_utils"] | TESTS
PACKAGES = packages_distributions()  # {name to import: packages to install}


def foreign(name):
    """The packages that a module imports from elsewhere."""
    own = {*repository.HOUSES, "tests", *sys.stdlib_module_names}
    tops = {other.partition(".")[0] for other in imported(name)} - own
    return {environment.canonical(PACKAGES[top][0]) if top in PACKAGES else top for top in tops}


def test_what_is_imported_is_declared():
    for name in FILES:
        unknown = foreign(name) - DECLARED[name.partition(".")[0]]
        assert not unknown, (
            f"{name} imports {unknown}: pin it in requirements.txt, in tests/requirements.txt if only tests need it, "
            "or say in pyproject.toml, under tool.course.brought, which package there brings it"
        )


def test_what_is_declared_is_imported():
    used = set().union(*map(foreign, FILES))
    assert set(COURSE["brought"]) <= used and set(COURSE["optional"]) <= used
    assert set(COURSE["optional"]) <= TESTS


def test_the_package_for_notebooks_says_what_it_imports():
    project = repository.project()["project"]
    extras = [line for lines in project["optional-dependencies"].values() for line in lines]
    always, sometimes = (
        {environment.canonical(Requirement(line).name) for line in lines} for lines in (project["dependencies"], extras)
    )
    used = set().union(*(foreign(name) for name in PACKAGE if name.startswith("course_utils.")))
    assert always <= used <= always | sometimes, "say it in pyproject.toml, under dependencies"


def needs(package):
    """All that comes with a package."""
    found, waiting = set(), [package]
    while waiting:
        try:
            lines = requires(waiting.pop()) or []
        except PackageNotFoundError:  # not for this machine
            continue
        names = {environment.canonical(re.match(r"[\w.-]+", line)[0]) for line in lines if "extra ==" not in line}
        waiting += names - found
        found |= names
    return found


def test_what_another_package_brings_comes_with_it():
    for package, bringer in COURSE["brought"].items():
        assert bringer in LEARNERS and package in needs(bringer), f"{bringer} does not bring {package}: pin it"


# --- text is UTF-8 everywhere -----------------------------------------------------------------------------------------


def in_no_encoding(tree):
    """The lines on which text is read or written as the machine does by default, on Windows not in UTF-8.

    The linter finds the files that it knows to be files; here are paths of any origin, and what other programs say.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func).rpartition(".")[2]
            named = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
            of_file = called in TEXT and len(node.args) <= TEXT.index(called)
            of_program = "True" in (named.get("text"), named.get("universal_newlines"))
            if (of_file or of_program) and "encoding" not in named:
                yield node.lineno


TEXT = ("read_text", "write_text")  # the encoding is the first argument of one, and the second of the other


def test_text_is_read_and_written_in_a_named_encoding():
    found = {
        f"{FILES[name].relative_to(ROOT)}, line {line}" for name in FILES for line in in_no_encoding(tree_of(name))
    }
    assert found == set(), 'say encoding="utf-8", in place of text=True, too'


@pytest.mark.parametrize(
    "by_default, named",
    [
        ("path.read_text()", "path.read_text(encoding='utf-8')"),
        ("path.write_text(x)", "path.write_text(x, 'utf-8')"),
        ("run(command, text=True)", "run(command, encoding='utf-8')"),
    ],
)
def test_text_in_no_encoding_is_found(by_default, named):
    assert [[*in_no_encoding(ast.parse(code))] for code in (by_default, named)] == [[1], []]


# --- written alike ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    ["ruff format --check --diff .", "ruff check .", "mypy", "deno fmt --check", "deno lint"],
)
def test_code_is_written_alike(command):
    done = subprocess.run([sys.executable, "-m", *command.split()], cwd=ROOT, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout + done.stderr
