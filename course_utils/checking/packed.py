"""The checks and hints of exercises that come with their notebook, not with the course."""

import base64

from course_utils.checking.commands import HINTS
from course_utils.exercises import puzzles
from course_utils.exercises.exercise import Exercise, Puzzle
from course_utils.judging import calls, serialize, untrusted_replies
from course_utils.judging.judge import judge
from course_utils.judging.result import Result
from course_utils.judging.side_effects import on_cpu


def add_hints(packed: str) -> None:
    """Let `hint` give the hints that an instructor has `packed` into a notebook, {id of an exercise: its hints}."""
    HINTS.update(serialize.unpack(base64.b64decode(packed)))


def check_packed(packed: str, attempt: object) -> Result:
    """The result of your `attempt` for the calls that an instructor has `packed` into a notebook."""
    data = serialize.unpack(base64.b64decode(packed))
    asked = [calls.call_from_plain(call) for call in data["calls"]]
    more = f" It will be tested with {data['rest']} more inputs." if data["rest"] else ""
    words = f"Your answer is right for the inputs of this check.{more}"
    puzzle = data.get("puzzle")  # for a head: the embeddings, and a plan for it to follow
    kind, properties = (Puzzle, (puzzles.follows(*puzzle),)) if puzzle else (Exercise, ())
    exercise = kind(data["id"], data["title"], data["name"], data["points"], 1, words, (), lambda: asked, properties)
    vars(exercise).update(reference=untrusted_replies.read(data["replies"], asked), parameter_names=data["names"])
    with on_cpu():
        return judge(exercise, calls.run_calls(attempt, asked))
