"""The words of exercises and questions: `chapter_N.toml`, one entry each, by its id."""

import functools
import tomllib
from pathlib import Path


@functools.cache
def entries(chapter):
    """{id: entry of an exercise or a question} of a chapter."""
    return tomllib.loads((Path(__file__).parent / f"chapter_{chapter}.toml").read_text(encoding="utf-8"))


def written(id):
    """The parts of exercise "3.2" that are words and numbers, for `Exercise` to take by their names."""
    entry = entries(int(id.split(".")[0]))[id]
    return entry | {"id": id, "hints": tuple(entry["hints"])}
