"""What `check` and `hint` say about a wrong answer: every kind of sentence, each in one place, with an example.

The first reply names the place and asks a question. `hint` names the kind of slip, and then the change itself.
"""

import re

import torch

from course_utils.judging import differences

MOST_WORDS = 60  # of prose in a reply, without code and numbers
LONGEST = 120  # characters of a piece of code in a sentence

# kinds of slips, which instructors see counted: (the question in the first reply, what `hint` says); "" for the
# general one, in which {} is the piece of code
GENERAL_QUESTION = "What does {} give, and what do you need there?"
GENERAL_SENTENCE = "this is what to change."
SLIPS = {
    "arguments swapped": ("", "look at the order of its arguments."),
    "changed in place": (
        "Is this a new tensor, or one that other code still uses?",
        "it changes a tensor that other code still needs as it was.",
    ),
    "dropout in evaluation": ("When should dropout be off?", "dropout is also on in evaluation mode."),
    "fixed size": ("Does this number hold for every input?", "a size is fixed as a number."),
    "gradients off": ("Can a gradient get through here?", "gradients are switched off."),
    "inverted": ("What should be True here?", "True and False are swapped."),
    "left too early": ("Which turns of the loop are still needed after this one?", "it ends the whole loop."),
    "missing dimension": ("Which shapes meet here, and which do you want?", "the result lacks a dimension of size 1."),
    "missing largest": ("How large can these numbers get?", "the largest number is not subtracted first."),
    "missing mask": ("Which tokens may a query not see yet?", "nothing hides the future in these scores."),
    "missing root": ("Is this the number itself, or its root?", "a square root is missing."),
    "missing scale": ("What keeps these numbers from growing with the width?", "the numbers are not scaled."),
    "view for transpose": (
        "Does this exchange dimensions, or only regroup the numbers?",
        "it only regroups the numbers in their old order; no dimensions are exchanged.",
    ),
    "missing transpose": ("Which two dimensions should be exchanged?", "two of its dimensions must be exchanged."),
    "numbers for truth values": ("What is its dtype?", "it holds numbers instead of True and False."),
    "off by one": ("Count by hand: which number do you need here?", "it is off by one."),
    "option missing": ("", "it lacks an option."),
    "order of names": ("In which order do these values come?", "look at the order of the names on the left."),
    "parentheses": ("In which order does Python compute this line?", "parentheses are missing."),
    "result thrown away": ("Where does the result of this line go?", "its result is thrown away."),
    "something too much": ("What is each part of this line for?", "there is one step too many."),
    "wrong axis": ("Which dimension does it name, and which do you need?", "it names the wrong dimension."),
    "wrong comparison": (
        "For which places is this true, and for which should it be?",
        "the comparison is not quite the right one.",
    ),
    "wrong condition": ("When is this condition true, and when should it be?", "the condition is wrong."),
    "wrong function": ("", "another function is needed."),
    "wrong index": ("", "it picks the wrong entries."),
    "wrong name": ("What does each name in this line stand for?", "one name stands where another belongs."),
    "wrong operation": ("", "another operation is needed."),
    "wrong sign": ("Should these numbers be positive or negative?", "the sign is wrong."),
    "wrong transpose": ("Which dimensions does this exchange?", "it exchanges the wrong dimensions."),
}


def question(kind, code):
    """Which dimension does it name, and which do you need? code: the wrong piece."""
    piece = f"`{code}`" if len(code) <= LONGEST and "\n" not in code else "this line"
    return (SLIPS.get(kind, ("", ""))[0] or GENERAL_QUESTION).format(piece)


def slip(line, code, kind):
    """In line 3, look at `scores.softmax(0)`: it names the wrong dimension."""
    return f"In line {line}, look at `{shortened(code)}`: {SLIPS.get(kind, ('', GENERAL_SENTENCE))[1]}"


def change(line, old, new):
    """In line 3, write `scores.softmax(-1)` instead of `scores.softmax(0)`. With this change your answer is right."""
    return f"In line {line}, write `{new}` instead of `{old}`. With this change your answer is right."


def removal(line, old):
    """Remove line 3, `x = x + 1`. With this change your answer is right."""
    return f"Remove line {line}, `{shortened(old)}`. With this change your answer is right."


def kept_body(line, old):
    """Remove `if T > 1:` in line 3, and keep the code inside it. With this change your answer is right."""
    first = old.splitlines()[0]
    return f"Remove `{first}` in line {line}, and keep the code inside it. With this change your answer is right."


def definition_hint(line, kind):
    """In line 3, dropout is also on in evaluation mode. Change only that, and your answer is right."""
    return f"In line {line}, {SLIPS[kind][1]} Change only that, and your answer is right."


# --- where an answer goes wrong ---------------------------------------------------------------------------------------


def cause(line, code):
    """The mistake is in line 3, `weights = torch.softmax(scores, dim=0)`."""
    return f"The mistake is in {place(line, code)}."


def cause_in(name, line):
    """The mistake is in `forward`, which begins in line 6."""
    return f"The mistake is in `{name}`, which begins in line {line}."


def random(line, code):
    """Two calls with the same input give different results: line 9, `kept = torch.rand(3)`, draws random numbers. …"""
    opening = "Two calls with the same input give different results"
    return f"{opening}: {place(line, code)}, draws random numbers. Should it do that here?"


def when(turn, before):
    """When `t` is 2, or In run 3, or Here. turn: the loop variables, (name, words). before: number of runs."""
    return f"When {named_values(turn)}" if turn else f"In run {before + 1}" if before else "Here"


def look_at_value(line, code, part, when, seen, proven, by_hand):
    """Look at line 3, `e = torch.exp(scores)`. Here, it gives 3. What should it give?

    proven: whether another value would make the result right. by_hand: whether a learner can compute it.
    """
    where = f"`{part}` in line {line}" if part else place(line, code)
    given = f" {when}, it gives {seen}." if seen else ""
    if not proven:
        return f"Begin with {where}.{given} Is that what you need?"
    return f"Look at {where}.{given} {PROVEN} {PROVEN_QUESTION if by_hand else PROVEN_QUESTION_ON_MORE}"


def depends_on(lines):
    """It depends on line 2, `mask = …`, and line 3, `…`. lines: (line, code)."""
    return f"It depends on {block_of(lines)}."


def block(lines):
    """The mistake is in lines 4 to 9. lines: (line, code)."""
    return f"The mistake is in {block_of(lines)}." if len(lines) > 1 else f"Look at {places(lines)}."


def early_return(line, code):
    """Line 9, `return total`, ends the loop in its first turn. Which turns are still needed?"""
    words = place(line, code)
    return f"{words[0].upper()}{words[1:]}, ends the loop in its first turn. Which turns are still needed?"


def written(entry, line, when):
    """The first wrong entry, [1, 0], is written in line 8. When `i` is 1, what should be written there?"""
    asked = "What should be written there?" if when == "Here" else f"{when}, what should be written there?"
    return f"The first wrong entry, {entry}, is written in line {line}. {asked}"


def not_written(entry, line):
    """The first wrong entry, [1, 0], keeps its value from line 3: no later line writes it. Should one?"""
    return f"The first wrong entry, {entry}, keeps its value from line {line}: no later line writes it. Should one?"


def kept(lines):
    """Something is kept from one call to the next. Look at line 7, `found.append(k)`. … lines: (line, code)."""
    where = f" Look at {places(lines)}." if lines else ""
    return f"Something is kept from one call to the next.{where} What values should each call begin with?"


def block_of(lines):
    """line 2, `mask = …`, and line 3, `…`; more than two of them as lines 4 to 9."""
    return places(lines) if len(lines) < 3 else f"lines {lines[0][0]} to {lines[-1][0]}"


def at_that_point(values):
    """There, `t` is 2 and `row` has the shape (4,). values: (name, words)."""
    return f"There, {named_values(values)}."


def look_at(lines):
    """Look at line 3, `scores -= 1`. lines: (line, code)."""
    return f"Look at {places(lines)}."


def place(line, code):
    """line 3, `scores -= 1`"""
    return f"line {line}, `{shortened(code)}`"


def places(lines, joint="and"):
    """line 3, `scores -= 1`, and line 4, `…`. lines: (line, code)."""
    words = [place(*each) for each in lines]
    return f", {joint} ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def named_values(values):
    """`t` is 2 and `row` has the shape (4,). values: (name, words)."""
    named = [f"`{name}` {words}" for name, words in values]
    return " and ".join(filter(None, [", ".join(named[:-1]), named[-1]]))


# --- what a value looks like -----------------------------------------------------------------------------------------

MOST_NUMBERS = 12  # of a tensor that is written out in a sentence
PROVEN = "With the right value there, your result would be right."
PROVEN_QUESTION = "What should it give?"
PROVEN_QUESTION_ON_MORE = "What should it contain?"
LINE_QUESTION = "What does it do here? Is that what you need?"
BLOCK_QUESTION = "Go through these lines with this input: which value is the first you did not expect?"
WRITTEN_QUESTION = "What changes there, and what else still uses it?"
ERROR_QUESTION = "What does this line need, and what does it get?"
QUESTIONS_ON_ERRORS = {  # by type, for the line in which an answer stopped
    "AttributeError": "What type is the value in front of the dot?",
    "IndexError": "How many entries are there, and which one is asked for?",
    "NameError": "Where does this name get its value?",
}


def brief(value):
    """A value in a few words: is 3, is `[0.5, 0.5]`, has the shape (2, 3, 4); "" for what cannot be described."""
    if isinstance(value, torch.Tensor) and 0 < value.numel() <= MOST_NUMBERS:
        return f"is `{differences.rounded(value.tolist())}`"
    if isinstance(value, torch.Tensor):
        return f"has the shape {tuple(value.shape)}"
    if isinstance(value, (bool, int, float)):
        return f"is {differences.rounded(value)}"
    return f"has {len(value)} entries" if isinstance(value, list) else ""


def words_in(text):
    """How many words of prose a reply has: without code, numbers and what Python says about an error."""
    return len(re.sub(r"`[^`]*`|\w+Error: [^\n]*|[\d.\[\](),-]+", " ", text).split())


def shortened(code):
    """A piece of code, short enough for a sentence."""
    lines = [line.strip() for line in code.splitlines()]
    line = " ".join(lines) if any(line.endswith(":") for line in lines) else "; ".join(lines)
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 2]} …"
