"""What a chapter's own cells define, without running the rest of the chapter."""

import ast
import contextlib
from types import SimpleNamespace

from course_utils.exercises import solutions

DEFINES = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)


def defined_in(chapter):
    """The imports, functions and classes of a chapter's source, as attributes."""
    names = {}
    for node in ast.parse(solutions.source_of(chapter)).body:
        if isinstance(node, DEFINES):
            with contextlib.suppress(NameError):  # a default that only the chapter's run makes
                exec(compile(ast.Module([node], []), f"<chapter {chapter}>", "exec"), names)
    return SimpleNamespace(**names)
