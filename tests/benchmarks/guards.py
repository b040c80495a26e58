"""Whether a test notices when a guard breaks: python -m tests.benchmarks.guards 300 [course_tools/grading ...]

Breaks so many places of the course's Python, one at a time, each in a copy of the clone, and runs the tests that can
reach the place. Which these are is measured first, by one run of all tests under coverage, kept in .guards.json (git
ignores it; delete it to measure anew). Prints what no test noticed.
"""

import ast
import concurrent.futures
import functools
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from course_tools import repository
from course_tools.commands.grade import usable_processors
from tests.support import bare_clone, mutants

REACHED = repository.ROOT / ".guards.json"  # {file: {line: [tests that run it]}}
UNASKED = ["tests/test_house.py"]  # asks how code is written, so it would notice any change
MOST_TESTS = 40  # for one place, those of the fewest places first
PATIENCE = 300  # seconds for the tests of one place, and for each file that names its room
WITHOUT_EFFECT = re.compile(r"flush=(True|False)")  # whether a line shows at once: no test waits for that
SETTINGS = """
[run]
source = course_utils, course_tools
dynamic_context = test_function
parallel = true
sigterm = true
"""


def main(number, *rooms):
    """Break so many places of some rooms, of both houses where none is named, and print what nobody noticed."""
    places = [place for file in files(rooms) for place in breakable(file)]
    chosen = random.Random(0).sample(places, min(number, len(places)))
    reached = json.loads(REACHED.read_text(encoding="utf-8")) if REACHED.exists() else measured()
    workers = usable_processors()  # those of `taskset`, where it is run by that
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(workers) as pool:
        clones = [bare_clone.copy(Path(folder, str(worker))) for worker in range(workers)]
        free = list(clones)

        def noticed(place):
            clone = free.pop()
            try:
                return place, notices(clone, *place, reached)
            finally:
                free.append(clone)

        missed = []
        for done, ((file, line, what, _), by) in enumerate(pool.map(noticed, chosen), start=1):
            missed += [] if by else [f"{file}:{line}: {what}"]
            print(
                f"{done} of {len(chosen)}, {len(missed)} unnoticed: {file}:{line} {what}: {by or 'NOBODY'}", flush=True
            )
    print(
        f"\n{len(chosen) - len(missed)} of {len(chosen)} broken places are noticed. Nobody misses:", *missed, sep="\n"
    )


def files(rooms):
    """The files of Python among and in these, or in both houses; names from the root."""
    places = [repository.ROOT / room for room in rooms or repository.HOUSES]
    found = [file for place in places for file in ([place] if place.is_file() else sorted(place.rglob("*.py")))]
    return [repository.relative(file) for file in found if "families" not in file.parts]


def breakable(file):
    """(file, line, what is changed, its new text) for every place of a file that can be broken."""
    text = (repository.ROOT / file).read_text(encoding="utf-8")
    same = WITHOUT_EFFECT.sub("", ast.unparse(ast.parse(text)))
    for description, new in [*mutants.of(text), *without_statements(text)]:
        if WITHOUT_EFFECT.sub("", new) == same:
            continue
        line, _, what = description.removeprefix("line ").partition(": ")
        yield file, int(line), what, new


def without_statements(text):
    """(description, the text without it) for every statement that stops, refuses or ends something, and each `if`."""
    for number, node in enumerate(ast.walk(ast.parse(text))):
        if isinstance(node, (ast.Raise, ast.Assert, ast.Break, ast.Continue)) or is_call_alone(node):
            change, what = ast.Pass(), "left out"
        elif isinstance(node, ast.If):
            change, what = ast.If(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse), "the opposite"
        else:
            continue
        tree = ast.parse(text)
        victim = list(ast.walk(tree))[number]
        new = mutants.ReplaceExpression(victim, change).visit(tree)
        first = ast.unparse(node).partition("\n")[0]
        yield f"line {node.lineno}: {first}: {what}", ast.unparse(ast.fix_missing_locations(new))


def is_call_alone(node):
    """Whether a statement is a call for its effect."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)


def notices(clone, file, line, what, new, reached):
    """The test that notices a broken place, in a clone; None where none does."""
    near, room = reached.get(file, {}).get(str(line), [])[:MOST_TESTS], of_room(file)
    return next(filter(None, (first_to_fail(clone, file, new, tests) for tests in [near, *room])), None)


def first_to_fail(clone, file, new, tests):
    """The first of these tests that fails because of a file's new text; None where none does."""
    path = clone / file
    old = path.read_text(encoding="utf-8")
    while tests:
        path.write_text(new, encoding="utf-8")
        try:
            if not bare_clone.stamp(clone):
                return "whatever imports it"
            by = failing(clone, tests)
        finally:
            path.write_text(old, encoding="utf-8")
        if not by or passes(clone, by):
            return by
        tests = [*tests, f"--deselect={by}"]  # it fails anyway, so it notices nothing
    return None


@functools.cache
def passes(clone, by):
    """Whether what failed passes in a clone that is whole; also where it was no test but an endless loop."""
    if not by.startswith("tests/"):
        return True
    return bare_clone.stamp(clone) and not failing(clone, [by])


def of_room(file):
    """[[a file of tests]] for those that name a file's module or, of a room or a command, its name; small ones first.

    Commands and pages are made by other processes, in other clones, which coverage does not see.
    """
    house, room, *_, name = [*Path(file).with_suffix("").parts, Path(file).stem]
    named = rf"{house}\.{room}\b|from {house} import .*\b{room}\b"
    if room == "commands":
        named = rf"{house}\.commands import .*\b{name}\b|\"{name}\""
    found = sorted((repository.ROOT / "tests").glob("test_*.py"), key=lambda each: each.stat().st_size)
    texts = {repository.relative(each): each.read_text(encoding="utf-8") for each in found}
    return [[each] for each, text in texts.items() if re.search(named, text) and each not in UNASKED]


def failing(clone, tests):
    """The first of these tests that fails in a clone, or what else goes wrong; None where nothing does."""
    command = [sys.executable, "-m", "pytest", "-n", "0", "-x", "-q", "-p", "no:cacheprovider", *tests]
    try:
        done = subprocess.run(command, cwd=clone, capture_output=True, encoding="utf-8", timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return "takes too long"
    if done.returncode in (0, 5):  # 5: no test is left
        return None
    failed = [text for text in done.stdout.splitlines() if text.startswith(("FAILED", "ERROR"))]
    return failed[0].partition(" ")[2].partition(" - ")[0] if failed else f"pytest ends with {done.returncode}"


def measured():
    """Which tests run each line, by a run of all tests."""
    with tempfile.TemporaryDirectory() as folder:
        settings, data = Path(folder, "coveragerc"), Path(folder, "data")
        settings.write_text(SETTINGS, encoding="utf-8")
        coverage = [sys.executable, "-m", "coverage"]
        own = os.environ | {"COVERAGE_FILE": str(data)}
        run = [*coverage, "run", f"--rcfile={settings}", "-m", "pytest", "-n", "0", "-q", "tests"]
        subprocess.run(run, cwd=repository.ROOT, env=own)
        subprocess.run([*coverage, "combine", f"--rcfile={settings}", folder], cwd=repository.ROOT, env=own)
        report = [*coverage, "json", "--show-contexts", "-i", "-o", f"{folder}/json"]
        subprocess.run(report, cwd=repository.ROOT, env=own, check=True)
        found = json.loads(Path(folder, "json").read_text(encoding="utf-8"))["files"]
    reached = {file: {line: ids(tests) for line, tests in each["contexts"].items()} for file, each in found.items()}
    REACHED.write_text(json.dumps(reached), encoding="utf-8")
    return reached


def ids(contexts):
    """Tests as pytest names them: tests/test_x.py::test_y for tests.test_x.test_y."""
    split = [context.rpartition(".") for context in contexts if context]
    named = {f"{module.replace('.', '/')}.py::{name}" for module, _, name in split if name.startswith("test_")}
    return sorted(name for name in named if not name.startswith(tuple(UNASKED)))


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
