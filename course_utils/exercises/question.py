"""Short questions, with choices or to answer with a word: `chapter_N.toml` holds them, the chapter asks them."""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path


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
    """The questions of a chapter, of both kinds, from `chapter_N.toml`."""
    text = (Path(__file__).parent / f"chapter_{chapter}.toml").read_text(encoding="utf-8")
    for id, entry in tomllib.loads(text).items():
        yield Question(id, entry.pop("right"), entry) if id.startswith("Q") else FillIn(id, **entry)
