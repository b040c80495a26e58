"""Seven families of problems. A seed draws one problem from each, written out as an instructor's own exercise.

A family is a file in `families`: the text of an exercise with gaps, and the ways to fill each gap. Each filling is a
different problem, not the same one with other numbers. In a puzzle, ways may name the parts of other gaps.
"""

import random
import string
import tomllib
from pathlib import Path

FAMILIES = {
    path.stem: tomllib.loads(path.read_text(encoding="utf-8"))
    for path in sorted(Path(__file__).with_name("families").glob("*.toml"))
}


def drawn(seed):
    """{name of a file: its text}: an exercise of each family."""
    return {f"{family}.py": drawn_from(family, seed) for family in FAMILIES}


def drawn_for_students(seed, names):
    """{name of a file, in a folder with a student's name: its text}: a different puzzle for each of these students."""
    return {f"{name}/puzzle.py": drawn_from("puzzle", f"{seed} {name}") for name in names}


def drawn_from(family, seed):
    """The text of the exercise that a seed draws from the family of this name."""
    return filled(FAMILIES[family], random.Random(f"{seed} {family}"))


def filled(family, draw):
    """The text of one of a family's exercises. Its wrong answers fill each gap in another way."""
    texts = {}
    for gap, ways in family["gaps"].items():
        for which, way in zip(("", "other_"), draw.sample(ways, 2)):
            texts |= {f"{which}{gap}_{part}": text for part, text in way.items()}
    once = string.Template(family["exercise"]).substitute(texts).lstrip()
    return string.Template(once).substitute(texts)
