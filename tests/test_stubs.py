"""What counts as not attempted: an answer that does nothing yet, however that is written."""

import textwrap

import pytest
from torch import nn

from course_utils.judging import stubs

NOTHING = [
    "...",
    "pass",
    "return",
    "return None",
    "return ...",
    "raise NotImplementedError",
    "raise NotImplementedError()",
    '"""Words."""',
    '"""Words."""\n...',
    '"""Words."""\npass\n...',
    '"""Words."""\nraise NotImplementedError()',
]
SOMETHING = [
    "return x",
    "return 0",
    "return 'a'",
    "return super",
    "return [x]",
    "return not x",
    "return lambda: None",
    "yield",
    "x += 1",
    "del x",
    "print()",
    "import torch",
    "while True: pass",
    "raise NotImplementedError('why')",
    "raise ValueError()",
]


def function(body):
    """A function with this body."""
    return made(f"def my(x, mask=None):\n{textwrap.indent(body, '    ')}")


def layer(first, then):
    """A layer that begins and works with these bodies."""
    init = textwrap.indent(f"super().__init__()\n{first}", " " * 8)
    return made(
        f"class my(nn.Module):\n    def __init__(self, x):\n{init}\n"
        f"    def forward(self, x):\n{textwrap.indent(then, ' ' * 8)}"
    )


def made(code):
    """What the code calls `my`."""
    names = {"nn": nn}
    exec(code, names)
    return names["my"]


@pytest.mark.parametrize("body", NOTHING)
def test_what_does_nothing_is_not_attempted(body):
    assert stubs.is_stub(function(body))
    assert stubs.is_stub(layer("", body)) and stubs.is_stub(layer(body, body))


@pytest.mark.parametrize("body", SOMETHING)
def test_what_does_anything_is_attempted(body):
    assert not stubs.is_stub(function(body))
    assert not stubs.is_stub(layer("", body)) and not stubs.is_stub(layer(body, "..."))
