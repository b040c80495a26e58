"""The ledger of printed values, as the tests read it."""

import ast
import re
import tomllib

import torch

from course_tools.repository import ROOT

LEDGER = tomllib.loads((ROOT / "tests/ledger.toml").read_text(encoding="utf-8"))
VALUES, PUBLISHED, PAPERS = (LEDGER[part] for part in ("value", "published", "papers"))


def text(source, line):
    """What a source prints on a line."""
    (found,) = [value["text"] for value in VALUES if (value["source"], value["line"]) == (source, line)]
    return found


def tensor(source, line):
    """A tensor that a source prints in full, as a tensor."""
    return torch.tensor(ast.literal_eval(re.search(r"\[.*\]", text(source, line), re.DOTALL)[0]))
