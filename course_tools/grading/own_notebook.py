"""The notebook to hand out for an instructor's own exercises: text, a stub, and a check if allowed."""

import ast
import base64

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from course_tools import repository
from course_utils.judging import calls, serialize

IMPORTS = """import math

import torch
import torch.nn.functional as F
from torch import nn

from course_utils.checking import add_hints, check_packed, hint"""
COMPARED = {"all": None, "first": 1}  # how many calls the students' own check compares


def notebook(exercises):
    """The notebook of these OwnExercises, as bytes, without worked answers."""
    exercises = list(exercises)
    # its first code cell finds the course's helpers or installs them
    chapter = nbformat.read(repository.learners()[0], as_version=4)
    hints = packed({exercise.id: list(exercise.hints) for exercise in exercises})
    metadata = {part: chapter.metadata[part] for part in ("kernelspec", "language_info")}
    cells = [
        new_code_cell(next(cell.source for cell in chapter.cells if cell.id == "setup"), id="setup"),
        new_code_cell(IMPORTS, id="imports"),
        new_code_cell(f'add_hints("{hints}")', id="hints"),
    ]
    for exercise in exercises:
        mark = exercise.id.replace(".", "-")
        points = f"{exercise.points} point{'s' if exercise.points != 1 else ''}"
        helped = f'\n\nIf you get stuck, run `hint("{exercise.id}")`.' if exercise.hints else ""
        words = f"### Exercise {exercise.id} · {exercise.title}\n{points}\n\n{exercise.words}{helped}"
        cells += [
            new_markdown_cell(words, id=f"words-{mark}"),
            *given_cells(exercise, f"given-{mark}"),
            new_code_cell(stub(exercise), id=f"exercise-{mark}"),
        ]
        if exercise.check != "none":
            code = f'check_packed("{packed(asked_by_check(exercise))}", {exercise.name})'
            cells.append(new_code_cell(code, id=f"check-{mark}"))
    return nbformat.writes(new_notebook(cells=cells, metadata=metadata)).encode() + b"\n"


def given_cells(exercise, id):
    """A cell with a puzzle's embeddings; none for another exercise."""
    if not exercise.open_ended:
        return []
    lines = [f'    "{word}": {numbers},' for word, numbers in exercise.embeddings.items()]
    return [new_code_cell("\n".join(["embeddings = {", *lines, "}"]), id=id)]


def stub(exercise):
    """The worked answer with `...` as the body of each function."""
    tree = ast.parse(exercise.answers[0])
    (definition,) = [node for node in tree.body if getattr(node, "name", "") == exercise.name]
    for node in ast.walk(definition):
        if isinstance(node, ast.FunctionDef):
            has_words = ast.get_docstring(node) is not None
            node.body = [*node.body[:has_words], ast.Expr(ast.Constant(...))]
    return ast.unparse(definition)


def packed(data):
    """Plain data as a text."""
    return base64.b64encode(serialize.pack(data)).decode()


def asked_by_check(exercise):
    """What the students' own check compares, with the right results, as plain data. A puzzle's answer is not in it."""
    asked = exercise.calls[: COMPARED[exercise.check]]
    if exercise.open_ended:
        plan = exercise.plan[: COMPARED[exercise.check]]
        puzzle, replies, rest = [exercise.embeddings, plan], [{"values": [None]}], len(exercise.plan) - len(plan)
    else:
        puzzle, replies, rest = None, calls.run_calls(exercise.worked, asked), len(exercise.calls) - len(asked)
    return {
        "title": exercise.title,
        "name": exercise.name,
        "id": exercise.id,
        "points": exercise.points,
        "names": exercise.parameter_names,
        "calls": [calls.call_to_plain(call) for call in asked],
        "replies": replies,
        "rest": rest,
        "puzzle": puzzle,
    }
