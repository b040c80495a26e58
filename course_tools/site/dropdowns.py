"""Folded blocks of a page, in MyST: hints, worked answers, the replies to a question."""

import re

from course_utils.exercises import EXERCISES, FILL_INS, QUESTIONS, solutions

CHOICE = re.compile(r"^\* \*\*(\w)\*\* (.*(?:\n +\S.*)*)\n?", re.MULTILINE)  # "* **a** words", on several lines


def dropdown(title, name, text, look=""):
    """A text folded below a one-line title. name: the place to link to. look: its classes."""
    options = f":class-container: {look}\n" if look else ""
    return f"::::{{dropdown}} {title}\n:name: {name}\n{options}\n{text}\n::::\n"


def hints_and_answer(id):
    """The hints of exercise `id`, each folded, and its worked answer with the explanation."""
    hints = EXERCISES[id].hints
    code, explanation = solutions.worked_answer(id)
    folded = [
        dropdown(f"Hint {number} of {len(hints)}", anchor("hint", id, number), words)
        for number, words in enumerate(hints, start=1)
    ]
    worked = dropdown("A worked answer", anchor("answer", id), f"```python\n{code}\n```\n\n{explanation}")
    return "\n".join([*folded, worked])


def question_with_replies(id, text):
    """The Markdown of question `id` with its choices as titles, each with the reply folded below."""
    return CHOICE.sub(
        lambda found: dropdown(
            choice_title(*found.groups()),
            anchor(id, found[1]),
            reply(id, found[1]),
            f"choice {'right' if found[1] == QUESTIONS[id].right else 'wrong'}",
        ),
        text,
    )


def typed_answer(id):
    """The answer to question `id`, folded; in a notebook, you type it."""
    return dropdown("Show the answer", anchor("typed", id), FILL_INS[id].explanation)


def anchor(*names):
    """The name of a place on a page, which is also its id there: hint-1-2-3."""
    return "-".join(map(str, names)).replace(".", "-").lower()


def choice_title(letter, words):
    """A choice as the title of a block."""
    return f"**{letter}** {' '.join(words.split())}"


def reply(id, letter):
    """The reply to a choice."""
    right = letter == QUESTIONS[id].right
    return f"{'✓' if right else '✗'} {QUESTIONS[id].explanations[letter]}"
