"""How the code is built: who may use whom, what is public, that what is imported is declared, and all written alike."""

import ast
import graphlib
import importlib
import inspect
import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, packages_distributions, requires

import pytest
from packaging.requirements import Requirement

import course_tools
import course_utils
from course_tools import environment, repository
from course_tools.repository import ROOT
from tests.support import stored

ROOMS = [  # of both houses, from the ground up
    f"{house.__name__}.{room}"
    for house in (course_utils, course_tools)
    for row in re.findall("^    (.+?):", house.__doc__, re.MULTILINE)
    for room in row.split(", ")
]
MOST_LINES = 8500  # of Python in course_utils, which a learner's machine installs
COURSE = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["course"]


def module(path):
    """The dotted name of a file of the package or of the tests."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


PYTHON = [path for folder in (*repository.HOUSES, "tests") for path in sorted((ROOT / folder).rglob("*.py"))]
FILES = {module(path): path for path in PYTHON}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in FILES.items()}
PACKAGE = [name for name in TREES if name.partition(".")[0] in repository.HOUSES and "." in name]


def imported(name):
    """The modules that a module imports, on top or inside a function."""
    for node in ast.walk(TREES[name]):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} imports from a dot: write the whole name"
            inside = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (full if full in TREES else node.module for full in inside)


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
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in own) <= MOST_LINES


def test_no_two_files_need_each_other():
    graph = {name: {other for other in imported(name) if other in PACKAGE} for name in PACKAGE}
    graphlib.TopologicalSorter(graph).prepare()  # a CycleError names the files


def test_every_room_in_the_list_is_there():
    assert [name for name in ROOMS if name not in TREES] == []


def test_an_import_inside_a_function_says_why_beside_it():
    for name in PACKAGE:
        lines = FILES[name].read_text(encoding="utf-8").splitlines()
        for function in ast.walk(TREES[name]):
            for node in ast.walk(function) if isinstance(function, ast.FunctionDef) else []:
                if isinstance(node, (ast.Import, ast.ImportFrom)):
                    assert "  # " in lines[node.lineno - 1], f"{name}, line {node.lineno}: import it on top, or say why"


def test_every_file_says_what_it_is_for_and_every_room_what_may_come_in():
    for name in PACKAGE:
        words = ast.get_docstring(TREES[name])
        assert words, f"{name}: say in a sentence what it is for"
        if FILES[name].name == "__init__.py":
            assert "What may come in: " in words and " Not: " in words, f"{name}: say what may come in, and what not"


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


PUBLIC = {name: names for name in PACKAGE if (names := listed(TREES[name]))}
SHOWN = {  # what chapters show is as they show it, and has no types
    name
    for path in stored.PATHS
    for cell in stored.code_cells(stored.read(path))
    for name in re.findall(r"^(?:class|def) (\w+)", cell.source, re.MULTILINE)
}


def test_what_chapters_use_is_public():
    for source in repository.sources():
        code = re.sub(r"(?m)^( *)%", r"\1# %", source.read_text(encoding="utf-8"))
        tree = ast.parse(code)
        modules = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "course_utils":
                for alias in node.names:
                    full = f"{node.module}.{alias.name}"
                    if full in TREES:
                        modules[alias.name] = full
                    else:
                        assert alias.name in PUBLIC[node.module], f"{source.name} imports {full}: add it to __all__"
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
                full = modules[node.value.id]
                assert node.attr in PUBLIC[full], f"{source.name} uses {full}.{node.attr}: add it to __all__ there"


def test_what_is_public_is_there_in_order_and_typed():
    for name, names in PUBLIC.items():
        assert names == sorted(names)
        for public in names:
            thing = getattr(importlib.import_module(name), public)
            if callable(thing) and public not in SHOWN:
                hints = inspect.signature(thing)
                kinds = [hints.return_annotation, *(taken.annotation for taken in hints.parameters.values())]
                assert inspect.Signature.empty not in kinds, (
                    f"{name}.{public}: say the types of what it takes and gives"
                )


def test_all_of_a_file_that_chapters_build_is_public():
    for name, public in PUBLIC.items():
        if SHOWN & (names := names_in(TREES[name])).keys():
            assert sorted(names) == public, f"{name}: name it in __all__ there"


def test_every_function_that_shows_is_public():
    for name in PACKAGE:
        showing = [function for function in names_in(TREES[name]) if function.startswith("show_")]
        face = "course_utils.live" if name.startswith("course_utils.live.") else name
        for function in showing:
            assert function in PUBLIC[face], f"{function} in {name}: import it in {face}, and name it in __all__ there"


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
    for name in TREES:
        unknown = foreign(name) - DECLARED[name.partition(".")[0]]
        assert not unknown, (
            f"{name} imports {unknown}: pin it in requirements.txt, in tests/requirements.txt if only tests need it, "
            "or say in pyproject.toml, under tool.course.brought, which package there brings it"
        )


def test_what_is_declared_is_imported():
    used = set().union(*map(foreign, TREES))
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
    found = {f"{FILES[name].relative_to(ROOT)}, line {line}" for name in TREES for line in in_no_encoding(TREES[name])}
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
