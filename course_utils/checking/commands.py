"""What a learner calls in a notebook. None of it raises for what a learner wrote."""

import html
from dataclasses import replace

from course_utils.checking import memory, progress_file
from course_utils.exercises import EXERCISES, FILL_INS, QUESTIONS, solutions
from course_utils.explaining.explain import explain_locally
from course_utils.judging.calls import run_calls
from course_utils.judging.judge import judge
from course_utils.judging.result import NOT_YET, RIGHT, Result, rich
from course_utils.judging.side_effects import on_cpu


class Words:
    """A few sentences (and code) to show, in a notebook and in a terminal."""

    def __init__(self, text, code=""):
        self.text, self.code = text, code

    def __repr__(self):
        return f"{self.text}\n\n{self.code}".strip()

    def _repr_html_(self):
        code = (
            f'<pre style="overflow-x:auto;white-space:pre;word-break:normal">{html.escape(self.code)}</pre>'
            if self.code
            else ""
        )
        return f'<div style="max-width:44em">{rich(self.text)}{code}</div>'


def check(id: str, answer: object) -> Result:
    """The result for an answer to exercise `id`: "right", "not yet" with what was seen, or "not attempted"."""
    if problem := unknown(id, EXERCISES):
        return Result(str(id), "", NOT_YET, problem, 0)
    exercise = EXERCISES[id]
    result = misplaced(exercise, answer) or examined(exercise, answer)
    progress_file.note(id, result.status, result.points)
    return with_way_on(result) if result.status == NOT_YET else result


def with_way_on(result):
    """The result with a last sentence on how to go on."""
    return replace(result, message=f'{result.message} `hint("{result.id}")` gives a hint.')


def misplaced(exercise, answer):
    """The result for something that is no answer to this exercise at all, or None."""
    if not callable(answer):
        words = f"Give check the thing itself, without parentheses: check({exercise.id!r}, {exercise.name})."
    elif str(getattr(answer, "__module__", "")).startswith("course_utils."):
        words = "This is the course's own. Write yours, then check it."
    else:
        return None
    return Result(exercise.id, exercise.title, NOT_YET, words, exercise.points)


def examined(exercise, answer):
    """The result of putting the exercise's calls to the answer."""
    try:
        with on_cpu():
            data = run_calls(answer, exercise.calls)
            return explain_locally(exercise, answer, data, judge(exercise, data))
    except KeyboardInterrupt:
        words = "You stopped the check while your code was running. Does a loop in it never end?"
        return Result(exercise.id, exercise.title, NOT_YET, words, exercise.points)


def unknown(id, known):
    """What to say to an id that no exercise or question has; None for one that is known."""
    if not isinstance(id, str):
        return 'The number of the exercise comes first, in quotes: check("1.1", my_function).'
    if id in known:
        return None
    near = [other for other in known if other.split(".")[0] == id.split(".")[0]] or list(known)
    return f"There is no {id!r}. There are: {', '.join(near)}."


def hint(id: str) -> Words:
    """The next hint for exercise `id`; after the last one, all of them."""
    if problem := unknown(id, EXERCISES):
        return Words(problem)
    hints = EXERCISES[id].hints
    given = progress_file.next_hint(id)
    if given < len(hints):
        return Words(f"Hint {given + 1} of {len(hints)}: {hints[given]}")
    return Words("These were all hints. " + " ".join(f"({k}) {words}" for k, words in enumerate(hints, start=1)))


def solution(id: str) -> Words:
    """A worked answer to exercise `id`, once it was attempted."""
    if problem := unknown(id, EXERCISES):
        return Words(problem)
    if not progress_file.attempted(id):
        return Words(
            f"Try it first: write something in {EXERCISES[id].name}, and check it. Then this shows a worked answer."
        )
    code, explanation = solutions.answer_to(id)
    return Words(" ".join(explanation.replace("**", "").split()), code)


def answer(id: str, choice: str) -> Words:
    """What there is to say to a choice, "a" or "b" or ..., in question `id`, or to the word that it asks for."""
    if problem := unknown(id, QUESTIONS | FILL_INS):
        return Words(problem)
    if id in FILL_INS:
        return filled_in(FILL_INS[id], str(choice))
    question = QUESTIONS[id]
    letter = choice.strip().strip("()").lower() if isinstance(choice, str) else None
    if letter == "?":
        return Words(f"○ {id}: not answered. Write {', '.join(question.said)} in place of the question mark.")
    if letter not in question.said:
        return Words(f"{id} has the choices {', '.join(question.said)}. Write one of them, in quotes.")
    right = letter == question.right
    progress_file.note(id, RIGHT if right else NOT_YET, 0)
    return Words(f"{'✓' if right else '✗'} {id} {letter}: {question.said[letter]}")


def filled_in(fill_in, text):
    """What there is to say to what was filled in."""
    if text.strip() == "?":
        return Words(f"○ {fill_in.id}: not answered. Write your answer in place of the question mark.")
    right = fill_in.accepts(text)
    memory.keep(fill_in, right)
    chapter, heading = fill_in.back
    found = f'It stands in chapter {chapter}, "{heading}".'
    return Words(f"✓ {fill_in.id}: Yes. {fill_in.said}" if right else f"✗ {fill_in.id}: {fill_in.said} {found}")


def review() -> Words:
    """The questions from memory that are due today, of those that you missed."""
    due = memory.due()
    if not due:
        return Words("Nothing is due today. What you miss of the questions from memory comes up here.")
    lines = "\n".join(f'answer("{fill_in.id}", "?")  # {fill_in.asks}' for fill_in in due)
    return Words(f"{len(due)} from memory. Copy a line into a cell, with your answer for the question mark:", lines)


def progress(chapter: int | None = None) -> progress_file.Overview | Words:
    """Every exercise of a chapter, or of the whole course, and how far you are with it."""
    chosen = [exercise for exercise in EXERCISES.values() if str(chapter) in ("None", str(exercise.chapter))]
    return progress_file.Overview(chosen) if chosen else Words(f"There is no chapter {chapter}.")
