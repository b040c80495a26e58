"""What `check` and `hint` say about a wrong answer: every kind of sentence, each in one place, with an example.

The first reply tells the place and asks a question. `hint` tells the kind of slip, and then the change itself.
"""

import re
from dataclasses import dataclass

import torch

from course_utils.judging import differences

MOST_WORDS = 60  # of prose in a reply, without code and numbers
LONGEST = 120  # characters of a piece of code in a sentence


@dataclass(frozen=True)
class Slip:
    """A kind of slip. question: asked in the first reply. sentence: what `hint` says about the piece of code."""

    question: str
    sentence: str


# --- kinds of slips, by the names under which instructors see them counted -------------------------------------------

SLIPS = {
    "arguments swapped": Slip("Which argument comes first here?", "two of its arguments are in each other's place."),
    "changed in place": Slip(
        "Is this a new tensor, or one that somebody else still holds?",
        "what it works on is no new tensor, and others still need it as it was.",
    ),
    "dropout in evaluation": Slip("When should dropout be off?", "dropout is also on in evaluation mode."),
    "extra parameter": Slip(
        "Should training change this tensor?", "it makes a parameter, which training would change."
    ),
    "fixed size": Slip("Does this number hold for every input?", "a size is written as a number."),
    "gradients off": Slip("Can a gradient get through here?", "gradients are switched off."),
    "inverted": Slip("What should be True here?", "True and False are exchanged."),
    "layer not used": Slip(
        "Which of the layers in `__init__` does `forward` never call?", "a layer is made but not used."
    ),
    "missing dimension": Slip(
        "Which shapes meet here, and which do you want?", "the result lacks a dimension of size 1."
    ),
    "missing largest": Slip("How large can these numbers get?", "the largest number is not subtracted first."),
    "missing mask": Slip("Which tokens may a query not see yet?", "nothing hides the future from these scores."),
    "missing normalization": Slip("What should each row sum to?", "the rows are not divided by their sums."),
    "missing root": Slip("Is this the number itself, or its root?", "a square root is missing."),
    "missing scale": Slip("What keeps these numbers from growing with the width?", "the numbers are not scaled."),
    "missing step": Slip("Which step of the formula is missing here?", "a step of the formula is missing in it."),
    "view for transpose": Slip(
        "Does this exchange dimensions, or only cut the numbers anew?",
        "it cuts the numbers anew, in their old order; no dimensions are exchanged.",
    ),
    "missing transpose": Slip("Which two dimensions should be exchanged?", "two of its dimensions are exchanged."),
    "not a buffer": Slip("Does this tensor move when the layer moves to a GPU?", "it makes a plain tensor."),
    "numbers for truth values": Slip("What is its dtype?", "it holds numbers instead of True and False."),
    "off by one": Slip("Count by hand: which number do you need here?", "it is off by one."),
    "one for all": Slip(
        "Is there one for all rows here, or one for each row?", "it takes one number for all rows; each needs its own."
    ),
    "option missing": Slip("Which shape does this step give, and which do you need?", "it lacks an option."),
    "option set": Slip("What does each option of this call do?", "one of its options is wrong."),
    "parentheses": Slip("In which order does Python compute this line?", "parentheses are missing."),
    "result thrown away": Slip("Where does the result of this line go?", "its result is thrown away."),
    "something too much": Slip("What is each part of this line for?", "one step is too much."),
    "wrong axis": Slip("Which dimension does it name, and which do you need?", "it names the wrong dimension."),
    "wrong comparison": Slip(
        "For which places is this true, and for which should it be?", "the comparison is not quite the right one."
    ),
    "wrong condition": Slip("For which input is this condition true?", "the condition is wrong."),
    "wrong function": Slip("Which function do you need here?", "another function is needed."),
    "wrong index": Slip("Which entries does this index pick?", "it picks the wrong entries."),
    "wrong name": Slip("What does each name in this line stand for?", "one name stands where another belongs."),
    "wrong number": Slip("Which number in this line is not the one you need?", "a number in it is wrong."),
    "wrong operation": Slip("Which operation do you need here?", "another operation is needed."),
    "wrong order": Slip("In which order should the parts of this line stand?", "its parts are in the wrong order."),
    "wrong sign": Slip("Should these numbers be positive or negative?", "the sign is wrong."),
    "wrong size": Slip("Which size do you need here?", "it is the size of another dimension."),
    "wrong transpose": Slip("Which dimensions does this exchange?", "it exchanges the wrong dimensions."),
}


def slip(line, code, kind):
    """In line 3, look at `scores.softmax(0)`: it names the wrong dimension."""
    return f"In line {line}, look at `{shortened(code)}`: {SLIPS[kind].sentence}"


def change(line, old, new):
    """In line 3, write `scores.softmax(-1)` instead of `scores.softmax(0)`. With this change your answer is right."""
    return f"In line {line}, write `{new}` instead of `{old}`. With this change your answer is right."


def removal(line, old):
    """Remove line 3, `x = x + 1`. With this change your answer is right."""
    return f"Remove line {line}, `{shortened(old)}`. With this change your answer is right."


def kept_body(line, old):
    """Remove `if T > 1:` in line 3, and keep what it holds. With this change your answer is right."""
    return (
        f"Remove `{old.splitlines()[0]}` in line {line}, and keep what it holds. With this change your answer is right."
    )


def definition_hint(line, kind):
    """In line 3, dropout is also on in evaluation mode. Change only that, and your answer is right."""
    return f"In line {line}, {SLIPS[kind].sentence} Change only that, and your answer is right."


# --- where an answer goes wrong ---------------------------------------------------------------------------------------


def cause(line, code):
    """The mistake is in line 3, `weights = torch.softmax(scores, dim=0)`."""
    return f"The mistake is in {place(line, code)}."


def cause_in(name, line):
    """The mistake is in `forward`, which begins in line 6."""
    return f"The mistake is in `{name}`, which begins in line {line}."


def random(line, code):
    """Two calls with the same input give different results: line 9, `kept = torch.rand(3) < p`, draws at random. …"""
    opening = "Two calls with the same input give different results"
    return f"{opening}: {place(line, code)}, draws at random. Should it do that here?"


def look_at_value(line, code, part, seen):
    """Look at line 3, `e = torch.exp(scores)`, in `scores`: it gives inf. part: of the code, or ""."""
    inside = f", in `{part}`" if part else ""
    return f"Look at {place(line, code)}{inside}{f': {seen}' if seen else ''}."


def between(first, last):
    """The mistake is somewhere from line 3, `a = …`, to line 5, `return …`. first, last: (line, code)."""
    joint, link = ("in", "or") if last[0] == first[0] + 1 else ("somewhere from", "to")
    return f"The mistake is {joint} {place(*first)}, {link} {place(*last)}."


def depends_on(line, lines):
    """Line 4 works with what comes from line 2, `mask = …`, and line 3, `…`. lines: (line, code)."""
    return f"Line {line} works with what comes from {places(lines)}."


def at_that_point(values):
    """There, `t` is 2 and `row` has the shape (4,). values: (name, words)."""
    return f"There, {named_values(values)}."


def in_that_turn(values):
    """In that turn of the loop, `t` is 2. values: (name, words)."""
    return f"In that turn of the loop, {named_values(values)}."


def no_gradient(line, code):
    """The gradient is lost in line 3, `weights = weights.detach()`."""
    return f"The gradient is lost in {place(line, code)}."


def unused_layer(name):
    """`self.out_proj` is made in `__init__`, but nothing uses it. Where does it belong?"""
    return f"`{name}` is made in `__init__`, but nothing uses it. Where does it belong?"


def look_at(lines):
    """Look at line 3, `scores -= 1`. lines: (line, code)."""
    return f"Look at {places(lines)}."


def returned_as_given(line, name, condition):
    """Line 3 returns `x` as it was given, under the condition `T == 1`. condition: its code, or ""."""
    return f"Line {line} returns `{name}` as it was given{f', under the condition `{condition}`' if condition else ''}."


def place(line, code):
    """line 3, `scores -= 1`"""
    return f"line {line}, `{shortened(code)}`"


def places(lines):
    """line 3, `scores -= 1`, and line 4, `…`. lines: (line, code)."""
    return listed([place(*each) for each in lines])


def named_values(values):
    """`t` is 2 and `row` has the shape (4,). values: (name, words)."""
    return listed([f"`{name}` {words}" for name, words in values])


def listed(words):
    """One, two and three."""
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


# --- what a value looks like -----------------------------------------------------------------------------------------

MOST_NUMBERS = 12  # of a tensor that is written out in a sentence
DEFAULT_QUESTION = "What should {} give for the input above?"
LARGE_QUESTION = "Print what {} gives for a small input: is it what you expect?"
LOOP_QUESTION = "Print what {} gives in each turn: which is the first that you do not expect?"
SEEN_QUESTION = "Is that what you expect there?"
SPAN_QUESTION = "Which is the first value there that you do not expect?"
MASK_QUESTION = "Which cells should be True there?"
ERROR_QUESTION = "What does the error say about this line?"
QUESTIONS_ON_ERRORS = {  # by type, for the line in which an answer stopped
    "AttributeError": "What type is the value in front of the dot?",
    "IndexError": "How many entries are there, and which one is asked for?",
    "KeyError": "Which names are there?",
    "NameError": "Where does this name get its value?",
    "RuntimeError": "Which shapes fit together here?",
    "TypeError": "What does this call expect, and what does it get?",
    "ValueError": "Which shape can the input have, and which does this line expect?",
}
RELATIONS = {
    "negative": ("all its numbers have the wrong sign", "Where does the sign come from?"),
    "inverted": ("it is True where it should be False, and the other way round", "What should True mean here?"),
    "transposed": ("its rows and columns are exchanged", "What should one row of it stand for?"),
    "factor": ("all its numbers are wrong by the same factor", "Which factor is missing, or too much?"),
    "columns": ("each column sums to 1, not each row", "Which of its dimensions should sum to 1?"),
    "rows": ("its rows do not sum to 1", "Which step makes each row sum to 1, and when should it come?"),
    "places": ("its numbers are right, but some stand in the wrong place", "In which order should they stand?"),
    "nan": ("it gives nan", "Which numbers go in, and why do they give nan?"),
    "by zero": ("it divides by 0", "Where does the 0 come from?"),
    "infinite": ("it gives inf", "Which numbers go in, and why do they give inf?"),
}


def value_and_question(relation, value):
    """(words on a value, a question). relation: to the right value, or None."""
    if relation:
        return RELATIONS[relation]
    is_large = isinstance(value, torch.Tensor) and value.numel() > MOST_NUMBERS
    question = LARGE_QUESTION if is_large else DEFAULT_QUESTION
    question = MASK_QUESTION if isinstance(value, torch.Tensor) and value.dtype == torch.bool else question
    if isinstance(value, list) or is_large or not brief(value):
        return "", question
    return f"it gives {brief(value).removeprefix('is ')}", question


def brief(value):
    """A value in a few words: is 3, is `[0.5, 0.5]`, has the shape (2, 3, 4); "" for what cannot be told."""
    if isinstance(value, torch.Tensor) and value.numel() <= MOST_NUMBERS:
        return f"is `{differences.rounded(value.tolist())}`"
    if isinstance(value, torch.Tensor):
        return f"has the shape {tuple(value.shape)}"
    if isinstance(value, (bool, int, float)):
        return f"is {differences.rounded(value)}"
    return f"has {len(value)} entries" if isinstance(value, list) else ""


def words_in(text):
    """How many words of prose a reply has: without code, numbers and what Python says of an error."""
    return len(re.sub(r"`[^`]*`|\w+Error: [^\n]*|[\d.\[\](),-]+", " ", text).split())


def shortened(code):
    """A piece of code as a sentence can hold it."""
    lines = [line.strip() for line in code.splitlines()]
    line = " ".join(lines) if any(line.endswith(":") for line in lines) else "; ".join(lines)
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 2]} …"
