"""What a question is: with choices, or to answer with a word. The chapter asks it; `chapter_N.toml` has its replies."""

import re
from dataclasses import dataclass

from course_utils.exercises import words


@dataclass(frozen=True)
class Question:
    """A short question with choices.

    id: "Q3.1". right: the letter of the right choice. explanations: {letter: why it is right or wrong}.
    """

    id: str
    right: str
    explanations: dict[str, str]


@dataclass(frozen=True)
class FillIn:
    """A question to answer with a word, a number or a line of code.

    id: "M2.1" where it asks from memory for what an earlier chapter taught, "S2.1" where it is a step on the way to an
    exercise. prompt: its words. right: a pattern for all right answers, in small letters. explanation: shown after each
    try, with the answer in it. section: [chapter, heading] where the answer is taught.
    """

    id: str
    prompt: str
    right: str
    explanation: str
    section: list

    @property
    def from_memory(self):
        """Whether it comes up again (`review`)."""
        return self.id.startswith("M")

    def accepts(self, text):
        """Whether an answer is right, however it is written."""
        plain = re.sub(r"\s+", " ", text.strip().lower()).removeprefix("the ").rstrip(".!")
        return re.fullmatch(self.right, plain) is not None


def questions_of(chapter):
    """The questions of a chapter, of both kinds."""
    for id, entry in words.entries(chapter).items():
        if id.startswith("Q"):
            yield Question(id, entry["right"], {choice: reply for choice, reply in entry.items() if choice != "right"})
        elif not id[0].isdigit():
            yield FillIn(id, **entry)
