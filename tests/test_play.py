"""Puzzles in the page: the verdict and the words of the page are Python's, whatever the numbers."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch

from course_tools.repository import ROOT
from course_utils import play
from course_utils.exercises import EXERCISES
from course_utils.live.base import as_json
from tests.support import answers

FEW, MANY = 60, 2000  # designs for each puzzle
DENO = Path(sys.executable).with_name("deno")
PAGE = f"""
import {{ judge, unfolded }} from "{(ROOT / "course_utils/live/judge.js").as_uri()}";
const {{ puzzle, designs }} = JSON.parse(await new Response(Deno.stdin.readable).text());
const found = unfolded(puzzle);
console.log(JSON.stringify(designs.map((design) => judge(found, design)?.words ?? null)));
"""
each_puzzle = pytest.mark.parametrize("id", play.BOARDS)


@dataclass
class Asked:
    """What stands for a case: only its value is looked at."""

    value: object


def in_page(id, designs):
    """What the page says of each design: a sentence, or None where it is right. A stack is a list of heads there."""
    puzzle = as_json(play.puzzle_figure(id).data)
    if play.BOARDS[id].kind == "stack":
        designs = [list(zip(*design)) for design in designs]
    numbers = json.dumps(designs, default=lambda array: array.tolist())
    said = subprocess.run(
        [DENO, "eval", "--ext=js", PAGE],
        input=f'{{"puzzle": {puzzle}, "designs": {numbers}}}',
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    return json.loads(said.stdout)


def in_python(id, design):
    """What `check` says of it."""
    matrices = [torch.tensor(matrix, dtype=torch.float32) for matrix in design]
    value = matrices[0][0] if play.BOARDS[id].kind == "query" else matrices[0] if len(matrices) == 1 else matrices
    (says,) = EXERCISES[id].properties
    return says(Asked(value))


def right_designs(id):
    """The designs that are known to be right, a list of arrays each."""
    for answer in answers.right(id):
        value = answer.object()()
        yield [
            np.atleast_2d(matrix.detach().numpy()) for matrix in (value if isinstance(value, list | tuple) else [value])
        ]


def designs(id, count):
    """Right designs, and those made from them: scaled to the border, disturbed, mixed, of few whole numbers."""
    draw = np.random.default_rng(int(id.replace(".", "")))
    known = [d for d in right_designs(id) if len(d[0]) <= 8 or play.BOARDS[id].kind != "stack"]
    yield from known
    for number in range(count - len(known)):
        design = known[draw.integers(len(known))]
        way = number % 5
        if way == 0:  # towards the border, and beyond
            scales = [draw.uniform(0.2, 1.3), 1.0, 1.0][: len(design)]
            made = [matrix * scale for matrix, scale in zip(design, scales)]
        elif way == 1:
            made = [matrix + draw.normal(0, draw.choice([0.05, 0.5, 3]), matrix.shape) for matrix in design]
        elif way == 2:
            made = [draw.integers(-3, 4, matrix.shape) * draw.choice([0.0, 1, 5]) for matrix in design]
        elif way == 3:  # one matrix of another kind
            made = [matrix.copy() for matrix in design]
            place = draw.integers(len(made))
            made[place] = made[place] * draw.choice([-1.0, 0, 0.3, 0.8, 1.25, 3])
        else:
            made = [matrix.copy() for matrix in design]
            chosen = made[draw.integers(len(made))]
            chosen[tuple(draw.integers(size) for size in chosen.shape)] = draw.choice([-9.0, -1, 0, 0.5, 2, 20])
        yield [np.round(matrix, 2).astype(float) for matrix in made]


@each_puzzle
@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.every_setting("2,000 designs a puzzle"))])
def test_the_page_judges_every_design_as_python_does_and_in_its_words(id, count):
    tried = list(designs(id, count))
    assert len(tried) >= count
    page, python = in_page(id, tried), [in_python(id, design) for design in tried]
    wrong = [(ours, theirs, design) for ours, theirs, design in zip(page, python, tried) if ours != theirs]
    assert not wrong, f"{len(wrong)} of {len(tried)}: {wrong[0]}"
    assert count / 20 < sum(said is None for said in python) < 0.9 * count, "right and wrong ones are among them"
    assert len(set(python)) > count / 10, "and replies of several kinds"
