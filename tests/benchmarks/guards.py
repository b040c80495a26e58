"""Whether a test notices when a guard breaks: python -m tests.benchmarks.guards 300 [course_tools/grading ...]

Breaks so many places of the course's Python, one at a time, each in a copy of the clone, and runs tests that reach the
place. Which these are is found by running all tests, file by file, in a copy whose chosen places say when they are
reached, also in other processes and in clones of that copy. Prints what no test noticed. A room may be a file, or
one line of a file (course_tools/links.py:30).
"""

import ast
import concurrent.futures
import json
import os
import queue
import random
import re
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from course_tools import repository
from course_tools.commands.grade import usable_processors
from tests.support import bare_clone, mutants, workers
from tests.support.warm_pytest import TOO_LONG, WarmPytest

SECONDS = repository.ROOT / ".guards.json"  # {file of tests: seconds}, from the last run: the quick ones are first
UNASKED = {"tests/test_house.py"}  # asks how code is written, so it would notice any change
MOST_TESTS, MOST_SECONDS = 12, 20  # for one place, of one file of tests
PATIENCE = 900  # seconds for a whole file of tests
WITHOUT_EFFECT = re.compile(r"flush=(True|False)")  # whether a line shows at once: no test waits for that
PYTEST = ["-n", "0", "-q", "-p", "no:cacheprovider"]
REACHED = '''
"""Notes which test reaches which place."""

import os

seen = set()


def reached(*numbers):
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    for number in numbers:
        if (test, number) not in seen:
            seen.add((test, number))
            with open(f"FOLDER/{number}", "a", encoding="utf-8") as file:
                print(test, file=file)
'''
CALL = """
try:
    from course_utils._reached import reached
    reached(NUMBERS)
except Exception:
    pass
"""


@dataclass
class Place:
    """A place that is broken, and which test noticed."""

    file: str
    line: int
    what: str
    new: str  # the file's text with it broken
    by: str | None = None
    asked: int = 0  # how many tests were run

    def __str__(self):
        return f"{self.file}:{self.line}: {self.what}"


@dataclass
class Run:
    """What the threads share: files of tests that nobody has taken yet, copies, places."""

    folder: Path
    places: list
    files: queue.SimpleQueue = field(default_factory=queue.SimpleQueue)
    seconds: dict = field(default_factory=dict)


def main(number, *rooms):
    """Break so many places of some rooms, of both houses where none is named, and print what nobody noticed."""
    found = [place for file, lines in files(rooms) for place in breakable(file) if not lines or place[1] in lines]
    with tempfile.TemporaryDirectory() as folder:
        run = Run(Path(folder), list(chosen(number, found)))
        run.seconds = json.loads(SECONDS.read_text(encoding="utf-8")) if SECONDS.exists() else {}
        for file in sorted(files_of_tests(), key=lambda file: run.seconds.get(file, Path(file).name in workers.WHOLE)):
            run.files.put(file)
        bare_clone.copy(run.folder / "telling")
        let_places_tell(run)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            list(pool.map(lambda worker: work(run, worker), range(usable_processors())))
    SECONDS.write_text(json.dumps(run.seconds), encoding="utf-8")
    missed = [place for place in run.places if not place.by]
    print(f"\n{len(run.places) - len(missed)} of {len(run.places)} broken places are noticed. Nobody misses:")
    print(*(f"{place} ({place.asked} tests)" for place in missed), sep="\n")


def files(rooms):
    """(file, its chosen lines or none) for the Python among and in these, or in both houses; names from the root."""
    for room in rooms or repository.HOUSES:
        name, _, line = room.partition(":")
        path = repository.ROOT / name
        for file in [path] if path.is_file() else sorted(path.rglob("*.py")):
            if "families" not in file.parts:
                yield repository.relative(file), [int(line)] if line else []


def files_of_tests():
    """The files of tests that are asked."""
    names = {repository.relative(path) for path in (repository.ROOT / "tests").glob("test_*.py")}
    return sorted(names - UNASKED)


def breakable(file):
    """(file, line, what is changed, function that gives the new text) for every place of a file that can be broken."""
    text = (repository.ROOT / file).read_text(encoding="utf-8")
    return [(file, *place) for place in mutants.places(text, changes, hints_and_seeds)]


def hints_and_seeds(node):
    """The parts of a node that no result depends on: type hints, and the seeds of random examples."""
    hints = [getattr(node, name, None) for name in ("annotation", "returns")]
    seeds = [node.value] if isinstance(node, ast.keyword) and node.arg == "seed" else []
    return [each for part in [*hints, *seeds] if part for each in ast.walk(part)]


def changes(node):
    """(description, function that changes the node or gives another one): also without what stops, refuses or ends."""
    yield from mutants.changes(node)
    if isinstance(node, (ast.Raise, ast.Assert, ast.Break, ast.Continue)) or is_call_alone(node):
        yield f"{ast.unparse(node)}: left out", lambda _: ast.Pass()
    if isinstance(node, ast.If):
        yield f"if {ast.unparse(node.test)}: the opposite", opposite


def opposite(node):
    node.test = ast.UnaryOp(ast.Not(), node.test)
    return node


def chosen(number, places):
    """So many of the places as Places, the same ones every time, without those whose change has no effect."""
    for file, line, what, new in random.Random(0).sample(places, len(places)):
        text = (repository.ROOT / file).read_text(encoding="utf-8")
        same, other = (WITHOUT_EFFECT.sub("", ast.unparse(ast.parse(each))) for each in (text, new()))
        if number and same != other:
            number -= 1
            yield Place(file, line, what, new())
        if not number:
            break


def is_call_alone(node):
    """Whether a statement is a call for its effect."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)


def let_places_tell(run):
    """Let each place in the telling copy note, in a file of its number, by which test it is reached."""
    clone, notes = run.folder / "telling", run.folder / "notes"
    notes.mkdir()
    (clone / "course_utils/_reached.py").write_text(REACHED.replace("FOLDER", str(notes)), encoding="utf-8")
    trees = {file: ast.parse((clone / file).read_text(encoding="utf-8")) for file, _ in files([])}
    functions = [node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    mentions = {function: set(names_in(function)) for function in functions}
    numbers = defaultdict(set)  # of the places that a statement belongs to
    for number, place in enumerate(run.places):
        for statement in statements_that_tell(trees[place.file], place.line, mentions):
            numbers[statement].add(number)
    for file, tree in trees.items():
        for node in ast.walk(tree):
            for name in ("body", "orelse", "finalbody"):
                if isinstance(statements := getattr(node, name, None), list):
                    setattr(node, name, [each for old in statements for each in [*call(numbers.get(old)), old]])
        (clone / file).write_text(ast.unparse(ast.fix_missing_locations(tree)), encoding="utf-8")
    if not bare_clone.stamp(clone):
        raise SystemExit("The copy whose places tell is broken.")


def call(numbers):
    """The statements that note some places."""
    return ast.parse(CALL.replace("NUMBERS", ", ".join(map(str, sorted(numbers))))).body if numbers else []


def statements_that_tell(tree, line, mentions):
    """The statement of a line; if no function holds it, the first ones of all functions that mention its name."""
    around = [
        node for node in ast.walk(tree) if isinstance(node, ast.stmt) and first_line(node) <= line <= node.end_lineno
    ]
    inside = [node for node in around if isinstance(node, ast.FunctionDef) and line >= node.body[0].lineno]
    if inside:
        return [around[-1]] if around[-1] is not inside[-1] else [first_of(inside[-1])]
    targets = [getattr(around[0], "target", None), *getattr(around[0], "targets", [])]
    names = {getattr(node, "name", getattr(node, "id", None)) for node in [around[0], *targets]} - {None}
    own = set(ast.walk(around[0]))
    return [first_of(function) for function, named in mentions.items() if function in own or names & named]


def first_line(statement):
    """Where a statement begins, its decorators included."""
    return min([statement.lineno, *(each.lineno for each in getattr(statement, "decorator_list", []))])


def first_of(function):
    """The first statement after a function's docstring."""
    return function.body[1 if ast.get_docstring(function) and len(function.body) > 1 else 0]


def names_in(node):
    """The names that a piece of code mentions."""
    for part in ast.walk(node):
        yield getattr(part, "id", None) or getattr(part, "attr", None) or getattr(part, "name", None)


def work(run, worker):
    """Take one file of tests after another: see what they reach, and whether they notice it broken."""
    clone, warm = bare_clone.copy(run.folder / f"broken{worker}"), WarmPytest()
    while not run.files.empty():
        try:
            tests = run.files.get_nowait()
        except queue.Empty:
            break
        if all(place.by for place in run.places):
            continue
        for place, near in reached(run, warm, tests):
            if not place.by:
                place.asked += len(near)
                place.by = noticed(clone, warm, place, near)
        known = sum(bool(place.by) for place in run.places)
        print(f"{known} of {len(run.places)} after {tests}, {run.files.qsize()} files left", flush=True)
    warm.close()


def reached(run, warm, tests):
    """(place, tests that reach it, quick and different ones first) for a file of tests."""
    start = time.monotonic()
    _, printed = warm.run(run.folder / "telling", [*PYTEST, "--durations=0", "-rfE", tests], patience=PATIENCE)
    run.seconds[tests] = time.monotonic() - start
    wrong = set(re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", printed, re.M))
    seconds = {test: float(took) for took, test in re.findall(r"^([\d.]+)s call +(.+)$", printed, re.M)}
    for number, place in enumerate(run.places):
        notes = run.folder / "notes" / str(number)
        by = set(notes.read_text(encoding="utf-8").splitlines()) if notes.exists() else set()
        near = [test for test in by if test.startswith(f"{tests}::") and test not in wrong]
        if near:
            yield place, quick_and_different(near, seconds)


def quick_and_different(tests, seconds):
    """Some of these tests: of each function its quickest case, then the next; within the limits."""
    cases = defaultdict(list)
    for test in sorted(tests, key=lambda test: (seconds.get(test, 0.005), test)):
        cases[test.partition("[")[0]].append(test)
    turns = sorted((turn, seconds.get(test, 0.005), test) for each in cases.values() for turn, test in enumerate(each))
    chosen, total = [], 0
    for _, took, test in turns[:MOST_TESTS]:
        if not chosen or total + took <= MOST_SECONDS:
            chosen, total = [*chosen, test], total + took
    return chosen


def noticed(clone, warm, place, tests):
    """The first of these tests that fails where a place is broken, or what else goes wrong; None where nothing does."""
    path = clone / place.file
    old = path.read_text(encoding="utf-8")
    path.write_text(place.new, encoding="utf-8")
    try:
        ended, printed = warm.run(clone, [*PYTEST, "-x", *tests], bare_clone.STAMP)
    finally:
        path.write_text(old, encoding="utf-8")
    if ended in (0, 5, TOO_LONG):  # 5: no test was chosen
        return ended if ended == TOO_LONG else None
    failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", printed, re.M)
    return failed[1] if failed else f"pytest ends with {ended}: {printed[-300:]}"


if __name__ == "__main__":
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    main(int(sys.argv[1]), *sys.argv[2:])
