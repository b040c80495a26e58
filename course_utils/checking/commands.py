"""The functions that a learner calls in a notebook. None of them raises because of a learner's code."""

import html
from dataclasses import replace

from course_utils.checking import own_code, progress_file, review_schedule
from course_utils.exercises import EXERCISES, FILL_INS, QUESTIONS, solutions
from course_utils.explaining.explain import explain_locally
from course_utils.judging import errors
from course_utils.judging.calls import run_calls
from course_utils.judging.judge import judge
from course_utils.judging.result import COLOUR, MARK, NOT_YET, RIGHT, Result, rich
from course_utils.judging.side_effects import on_cpu

HINTS = {id: exercise.hints for id, exercise in EXERCISES.items()}  # a notebook may bring more
hints_on_answers: dict[str, list[str]] = {}  # {exercise: the hints left on the answer that was checked last}


class Message:
    """A few sentences (and code) to show, in a notebook and in a terminal."""

    def __init__(self, text, code=""):
        self.text, self.code = text, code

    def __repr__(self):
        return f"{self.text}\n\n{self.code}".strip()

    def _repr_html_(self):
        code = f'<pre style="overflow-x:auto;white-space:pre;word-break:normal">{html.escape(self.code)}</pre>'
        colour = next((COLOUR[status] for status in MARK if self.text.startswith(MARK[status])), "transparent")
        bar = f"border-left:4px solid {colour};padding:0.3em 0.8em;max-width:44em"
        return f'<div style="{bar}">{rich(self.text)}{code if self.code else ""}</div>'


def check(id: str, attempt: object) -> Result:
    """The result for your attempt at exercise `id`: "right", "not yet" with a reason, or "not attempted".

    attempt: your function or class.
    """
    if problem := unknown_id(id, EXERCISES):
        return Result(str(id), "", NOT_YET, problem, 0)
    exercise = EXERCISES[id]
    result = not_an_attempt(exercise, attempt) or judge_attempt(exercise, attempt)
    progress_file.record(id, result.status, result.points)
    if result.status == RIGHT:
        own_code.right_attempts[id] = attempt
        more = "" if exercise.open_ended else f'\n`quiz("{id}")` asks three questions about your code.'
        return replace(result, message=result.message + more)
    if result.status != NOT_YET:
        return result
    # what tells attempts apart; "" where it cannot be had
    code = "".join(repr((each.__code__.co_code, each.__code__.co_consts)) for each in errors.functions(attempt))
    progress_file.record_attempt(id, code or result.message)
    hints_on_answers[id] = list(result.hints)
    return replace(result, message=f'{result.message}\n`hint("{id}")` says more.')


def not_an_attempt(exercise, attempt):
    """The result for something that is no attempt at this exercise at all, or None."""
    if not callable(attempt):
        words = f"Pass the function or class itself, without parentheses: check({exercise.id!r}, {exercise.name})."
    elif str(getattr(attempt, "__module__", "")).startswith("course_utils."):
        words = "This is the course's own code. Write your own, then check that."
    else:
        return None
    return Result(exercise.id, exercise.title, NOT_YET, words, exercise.points)


def judge_attempt(exercise, attempt):
    """The result of running the exercise's calls on the attempt."""
    try:
        with on_cpu():
            data = run_calls(attempt, exercise.calls)
            return explain_locally(exercise, attempt, data, judge(exercise, data))
    except KeyboardInterrupt:
        words = "You stopped the check while your code was running. Is there a loop in it that never ends?"
        return Result(exercise.id, exercise.title, NOT_YET, words, exercise.points)


def unknown_id(id, known):
    """The message for an id that no exercise or question has; None for one that is known."""
    if not isinstance(id, str):
        return 'The number of the exercise comes first, in quotes: check("1.1", my_function).'
    if id in known:
        return None
    near = [other for other in known if other.split(".")[0] == id.split(".")[0]] or list(known)
    return f"There is no {id!r}. Choose one of these: {', '.join(near)}."


def hint(id: str) -> Message:
    """The next hint for exercise `id`: on your last answer if its mistake is known, otherwise a general one."""
    if problem := unknown_id(id, HINTS):
        return Message(problem)
    if left := hints_on_answers.get(id):
        words = left.pop(0)
        if not left:
            progress_file.update(id, solution=True)
        return Message(f"{words} ({len(left) or 'No'} more hint{'' if len(left) == 1 else 's'} on this answer.)")
    hints = HINTS[id]
    given = progress_file.next_hint(id)
    if given + 1 >= len(hints):
        progress_file.update(id, solution=True)
    if given < len(hints):
        return Message(f"Hint {given + 1} of {len(hints)}: {hints[given]}")
    return Message("You have seen every hint. " + " ".join(f"({k}) {words}" for k, words in enumerate(hints, 1)))


def solution(id: str) -> Message:
    """A worked answer to exercise `id`, after a right answer, all hints or three different attempts."""
    if problem := unknown_id(id, EXERCISES):
        return Message(problem)
    if not progress_file.solution_is_open(id):
        attempts = f"three different attempts (you have made {len(progress_file.attempts(id))})"
        return Message(f'The worked answer opens after {attempts}, or once you have seen all hints: `hint("{id}")`.')
    code, explanation = solutions.worked_answer(id)
    return Message(" ".join(explanation.replace("**", "").split()), code)


def answer(id: str, choice: str) -> Message:
    """The reply to a choice, such as "a", in question `id`, or to the word that it asks for."""
    if problem := unknown_id(id, QUESTIONS | FILL_INS):
        return Message(problem)
    if id in FILL_INS:
        return reply_to_fill_in(FILL_INS[id], str(choice))
    question = QUESTIONS[id]
    letter = choice.strip().strip("()").lower() if isinstance(choice, str) else None
    if letter == "?":
        return Message(f"○ {id}: not answered. Replace the ? with a letter from a to {max(question.explanations)}.")
    if letter not in question.explanations:
        return Message(f"{id} has the choices {', '.join(question.explanations)}. Write one of them, in quotes.")
    right = letter == question.right
    progress_file.record(id, RIGHT if right else NOT_YET, 0)
    return Message(f"{'✓' if right else '✗'} {id} {letter}: {question.explanations[letter]}")


def reply_to_fill_in(fill_in, text):
    """The reply to an answer that was typed into a question."""
    if text.strip() == "?":
        return Message(f"○ {fill_in.id}: not answered. Replace the question mark with your answer.")
    right = fill_in.accepts(text)
    review_schedule.record(fill_in.id, right)
    if right:
        return Message(f"✓ {fill_in.id}: Yes. {fill_in.explanation}")
    chapter, heading = fill_in.section
    return Message(f'✗ {fill_in.id}: {fill_in.explanation} See chapter {chapter}, "{heading}".')


def quiz(id: str, *choices: str) -> Message:
    """Three questions about your own right answer to exercise `id`; or the replies to `choices`, one letter each."""
    if problem := unknown_id(id, EXERCISES):
        return Message(problem)
    if id not in own_code.right_attempts:
        return Message(f'Before a quiz, pass the check in this session: run `check("{id}", {EXERCISES[id].name})`.')
    program, asked = own_code.questions(id)
    if not asked:
        return Message("There is nothing to ask about this answer.")
    words = own_code.reply(id, asked, choices) if choices else own_code.in_words(id, asked)
    return Message(words, own_code.numbered(program.text))


def review() -> Message:
    """Questions from memory that you missed and that are due today, and quizzes with a mistake."""
    due, quizzes = review_schedule.due(), own_code.due()
    if not due and not quizzes:
        return Message("Nothing is due today. Questions that you miss will appear here.")
    lines = [f'answer("{fill_in.id}", "?")  # {fill_in.prompt}' for fill_in in due]
    lines += [f'quiz("{id}")  # once your answer is checked again' for id in quizzes]
    copy = "Copy a line into a cell, and replace the question mark with your answer:"
    return Message(f"Due today: {len(lines)}. {copy}", "\n".join(lines))


def progress(chapter: int | None = None) -> progress_file.Overview | Message:
    """Every exercise of a chapter, or of the whole course, and how far you are with it."""
    chosen = [exercise for exercise in EXERCISES.values() if str(chapter) in ("None", str(exercise.chapter))]
    return progress_file.Overview(chosen) if chosen else Message(f"There is no chapter {chapter}.")
