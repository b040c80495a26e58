"""An instructor's own exercises: one Python file each, in a folder `exercises` beside the downloads.

These files are trusted and run as they are; answers to them run in the sandbox like all others.
"""

import ast
import functools
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

from course_tools.grading import private_seed
from course_tools.grading.own_folder import OWN_CHAPTER
from course_utils.exercises import EXERCISES, puzzles
from course_utils.exercises.exercise import Exercise
from course_utils.explaining import program
from course_utils.explaining.known_values import Known
from course_utils.judging import calls, differences
from course_utils.judging.judge import judge
from course_utils.judging.result import NOT_YET, RIGHT

NEEDED = ("NAME", "POINTS", "HINTS", "CHECK", "RIGHT", "WRONG", "calls", "oracle")
CHECKS = ("all", "first", "none")  # calls that the students' own notebook compares
SEEDS = ("", "one", "two", "three")  # under which the tests try everything
SUCCESS = "It does what the exercise asks."
EXAMPLE = Path(__file__).with_name("own_exercise_example.py.txt")


class Unusable(ValueError):
    """A file that defines no exercise; the message says why."""


@dataclass(frozen=True)
class OwnExercise(Exercise):
    """An instructor's exercise. words: in Markdown. answers: right ones, the worked one first. wrong: with causes.

    check: which calls students' notebooks compare. oracle: computes what is right in another way. text: of the file.
    """

    words: str = ""
    answers: tuple[str, ...] = ()
    wrong: tuple[tuple[str, str], ...] = ()
    check: str = "all"
    oracle: object = field(default=None, compare=False)
    text: str = ""

    @functools.cached_property
    def worked(self):
        """The function or class of the worked answer."""
        return made(self.answers[0], self.name)

    @functools.cached_property
    def right_answers(self):
        """The functions or classes of all right answers, the worked one first."""
        return [made(code, self.name) for code in self.answers]

    def known_values(self, number):
        """The intermediate values of right answers in one call."""
        return self.values_on_the_way(number)

    def values_on_the_way(self, number):
        """The same, without caching."""
        parsed = (
            program.parse_program(code, self.name, program.USUAL_NAMES, "<right answer>") for code in self.answers
        )
        call = replace(self.calls[number], check_contract=False)
        steps = (program.watched(each, call) for each in parsed if each)
        return Known([value for found in steps for _, value in found])


@dataclass(frozen=True)
class OwnPuzzle(OwnExercise):
    """A head for students to design by hand. embeddings, plan: as in `puzzles.follows`."""

    embeddings: dict = field(default_factory=dict, compare=False)
    plan: list = field(default_factory=list, compare=False)

    open_ended = True


def made(code, name):
    """The function or class that an answer's code defines."""
    names = dict(program.USUAL_NAMES)
    exec(compile(code, "<answer>", "exec"), names)
    return names[name]


def files_in(folder):
    """((name, text) of each exercise's file) in a folder. Ends the program if one defines no exercise."""
    found = tuple((path.name, path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.py")))
    try:
        exercises_of(found)
    except Unusable as error:
        sys.exit(f"{folder / str(error)}")
    return found


@functools.cache
def exercises_of(files):
    """{id: OwnExercise} of files (name, text). Raises Unusable."""
    found = [exercise_of(f"{OWN_CHAPTER}.{number}", *file) for number, file in enumerate(files, start=1)]
    names = [exercise.name for exercise in found]
    if repeated := [name for name in names if names.count(name) > 1]:
        raise Unusable(f"two files ask for {repeated[0]}; use each NAME only once.")
    if taken := [each for each in EXERCISES.values() if each.name in names]:
        raise Unusable(f"exercise {taken[0].id} of the course already asks for {taken[0].name}; choose another NAME.")
    return {exercise.id: exercise for exercise in found}


@functools.cache
def exercise_of(id, file, text):
    """The OwnExercise in a file. Raises Unusable."""
    names = {"__name__": Path(file).stem}
    try:
        exec(compile(text, file, "exec"), names)
        tree = ast.parse(text)
    except Exception as error:
        raise Unusable(f"{file} does not run: {type(error).__name__}: {error}.") from error
    title, _, words = (ast.get_docstring(tree) or "").partition("\n")
    if missing := [name for name in NEEDED if name not in names]:
        raise Unusable(
            f"{file} needs {missing[0]}; the example that `exercise new` writes has all of {', '.join(NEEDED)}."
        )
    if not title or not callable(names.get(names["NAME"])):
        raise Unusable(f"{file} needs a docstring with a title in its first line, and a definition of {names['NAME']}.")
    if type(names["POINTS"]) is not int or names["POINTS"] < 1:
        raise Unusable(f"{file}: POINTS must be a whole number above 0.")
    if names["CHECK"] not in CHECKS:
        raise Unusable(f"{file}: CHECK must be one of {', '.join(CHECKS)}.")
    imports = [ast.unparse(node) for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    (worked,) = [ast.unparse(node) for node in tree.body if getattr(node, "name", "") == names["NAME"]]
    own = "\n".join([*(line for line in imports if "course_utils" not in line), worked])
    found = OwnExercise(
        id, title, names["NAME"], names["POINTS"], 2, SUCCESS, tuple(names["HINTS"]), names["calls"],
        words=words.strip(), answers=(own, *names["RIGHT"]), wrong=tuple(map(tuple, names["WRONG"])),
        check=names["CHECK"], oracle=names["oracle"], text=text,
    )  # fmt: skip
    try:
        return as_puzzle(found, names["EMBEDDINGS"]) if "EMBEDDINGS" in names else found
    except Exception as error:
        raise Unusable(f"{file}: calls or oracle raised {type(error).__name__}: {error}.") from error


def as_puzzle(exercise, embeddings):
    """The OwnPuzzle of an exercise whose calls are sentences, and whose oracle plans (weights, output) for each."""
    plan = [[words, *exercise.oracle(words)] for words in exercise.make_calls()]
    asked = vars(exercise) | {
        "make_calls": lambda: [calls.FunctionCall([], check_contract=False)],
        "properties": (puzzles.follows(embeddings, plan),),
    }
    return OwnPuzzle(**asked, embeddings=embeddings, plan=plan)


def problems(exercise):
    """Sentences on an exercise's problems; none if it can be handed out."""
    if len(exercise.answers) < 2 or len(exercise.wrong) < 2:
        yield "write at least one right answer besides the worked one, and two wrong ones"
    if len(getattr(exercise, "plan", exercise.calls)) < 2:
        yield "write at least two calls: an answer that is right for one may be wrong for another"
    for seed in SEEDS[: 1 if exercise.open_ended else None]:
        asked = private_seed.with_seed(exercise, seed)
        for call, reply in [] if exercise.open_ended else zip(asked.calls, asked.reference):
            if isinstance(call, calls.FunctionCall) and (wrong := differs(asked, call, reply)):
                yield f"the worked answer and the oracle differ under the seed {seed!r}: {wrong}"
        for code in exercise.answers:
            result = judge(asked, calls.run_calls(made(code, exercise.name), asked.calls))
            if result.status != RIGHT:
                yield f"this right answer is judged wrong ({result.message}):\n{code}"
        for code, cause in exercise.wrong:
            if judge(asked, calls.run_calls(made(code, exercise.name), asked.calls)).status != NOT_YET:
                yield f"the wrong answer ({cause}) is judged right"


def differs(exercise, call, reply):
    """A sentence on how the oracle's result differs from the worked answer's, or None."""
    try:
        wanted = calls.plain_value(exercise.oracle(*map(calls.build_argument, call.arguments)))
    except Exception as error:
        return f"the oracle stops with {type(error).__name__}: {error}."
    return differences.difference(wanted, reply.values[0])
