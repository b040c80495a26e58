"""The questions of `quiz`: three about one's own right answer, and their record for `review`."""

import itertools

from course_utils.checking import progress_file, review_schedule
from course_utils.exercises import EXERCISES
from course_utils.explaining.explain import LocalRunner
from course_utils.explaining.program import program_of
from course_utils.judging.side_effects import on_cpu
from course_utils.quizzing.questions import KINDS, questions_on

MOST_ASKED = 3
LETTERS = "abcd"
ENTRY = "quiz {}"  # what an exercise's quiz is called in the progress file

right_attempts: dict[str, object] = {}  # {exercise: the answer that was right last, in this kernel}


def entry(id):
    """What is known about the quiz of an exercise."""
    return progress_file.entry(ENTRY.format(id))


def questions(id):
    """The CodeQuestions on the last right answer: the same ones until they are answered."""
    exercise, attempt = EXERCISES[id], right_attempts[id]
    program, seed = program_of(attempt, exercise.name), f"{id} {entry(id).get('taken', 0)}"
    with on_cpu():
        asked = questions_on(program, exercise.calls, LocalRunner(attempt, program), seed, KINDS)
        return program, list(itertools.islice(asked, MOST_ASKED))


def in_words(id, asked):
    """The questions with their choices, and how to answer them."""
    lines = [asked[0].call]
    for number, question in enumerate(asked, start=1):
        choices = (f"  {letter}) {option}" for letter, option in zip(LETTERS, question.options))
        lines += [f"{number}. {question.prompt}", *choices]
    marks = ", ".join(['"?"'] * len(asked))
    lines.append(f'Answer all of them by replacing the question marks with letters: `quiz("{id}", {marks})`')
    return "\n".join(lines)


def numbered(text):
    """The lines of a cell with their numbers."""
    return "\n".join(f"{number:3}  {line}" for number, line in enumerate(text.rstrip().split("\n"), start=1))


def reply(id, asked, choices):
    """The reply to the choices, which it records; how to answer, if they are not choices."""
    letters = [choice.strip(" ()").lower() if isinstance(choice, str) else "" for choice in choices]
    known = (letter in [*LETTERS[: len(question.options)]] for letter, question in zip(letters, asked))
    if len(letters) != len(asked) or not all(known):
        return f"There are {len(asked)} questions. Answer each with one letter.\n{in_words(id, asked)}"
    right = [LETTERS[question.right] == letter for question, letter in zip(asked, letters)]
    taken = entry(id).get("taken", 0)
    progress_file.update(ENTRY.format(id), taken=taken + 1 if isinstance(taken, int) else 1)
    review_schedule.record(ENTRY.format(id), all(right))  # only a quiz with a mistake is repeated
    lines = [f"You have {sum(right)} of {len(asked)} right. The right answers come from running your code."]
    for number, (question, is_right) in enumerate(zip(asked, right), start=1):
        lines.append(f"{'✓' if is_right else '✗'} {number}. {question.prompt} {question.options[question.right]}")
    return "\n".join(lines)


def due():
    """The ids of the exercises whose quiz comes up again today."""
    return [id for id in EXERCISES if entry(id).get("missed") and review_schedule.days_until_due(entry(id)) <= 0]
