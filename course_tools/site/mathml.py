"""A Sphinx extension: formulas as MathML, which need neither a script nor a font."""

import re

from docutils import nodes
from latex2mathml.converter import convert


def inline_formula(translator, node):
    """Write a formula in a line of text."""
    formula = convert(node.astext())
    if isinstance(node.parent.parent, nodes.reference):  # a link's name must consist of words
        formula = formula.replace("<math ", f'<math aria-label="{symbol_in_words(node.astext())}" ', 1)
    translator.body.append(formula)
    raise nodes.SkipNode


def block_formula(translator, node):
    """Write a formula in a block of its own; a wide one scrolls, also by keyboard."""
    formula = convert(node.astext(), display="block")
    translator.body.append(f'<div class="formula" tabindex="0">{formula}</div>')
    raise nodes.SkipNode


def symbol_in_words(symbol):
    """A symbol in LaTeX as words: alpha ij."""
    return " ".join(re.findall(r"[A-Za-z0-9]+", symbol.replace(r"\mathrm", "")))


def setup(app):
    """Register the extension."""
    app.add_html_math_renderer("mathml", (inline_formula, None), (block_formula, None))
    return {"parallel_read_safe": True}
