"""Questions: with choices, or to answer with a word. The chapter asks them; `chapter_N.toml` has the replies."""

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

    id: "M2.1" if it asks, from memory, for what an earlier chapter taught; "S2.1" if it is a step towards an exercise.
    prompt: its words. right: a pattern for all right answers, in small letters. explanation: shown after each
    try, with the answer in it. section: [chapter, heading] where the answer is taught.
    """

    id: str
    prompt: str
    right: str
    explanation: str
    section: list

    @property
    def from_memory(self):
        """Whether it is repeated (`review`)."""
        return self.id.startswith("M")

    def accepts(self, text):
        """Whether an answer is right, however it is written."""
        return re.fullmatch(self.right, plain(text)) is not None


SAME_WORDS = (  # (pattern, replacement) for typed answers
    (r"\b(do|does|is|will)n[’']t\b", r"\1 not"),
    (r"[`\"']", ""),
    (r"\s+", " "),
    (r"\b(negative|minus) |−", "-"),
    (r"\b(torch|math|np|numpy)\.(?=inf)|float\((?=-?inf)|(?<=inf)\)|(?<=inf)inity", ""),
    (r"∞", "inf"),
    (r"^(the|an?) |[.!]+$| (vector|matrix)$", ""),
)


def plain(text):
    """A typed answer in small letters and in the words of the patterns."""
    text = text.strip().lower()
    for pattern, same in SAME_WORDS:
        text = re.sub(pattern, same, text)
    return text


def questions_of(chapter):
    """The questions of a chapter, of both kinds."""
    for id, entry in words.entries(chapter).items():
        if id.startswith("Q"):
            yield Question(id, entry["right"], {choice: reply for choice, reply in entry.items() if choice != "right"})
        elif not id[0].isdigit():
            yield FillIn(id, **entry)
