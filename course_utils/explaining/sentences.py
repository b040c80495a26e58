"""What `check` and `hint` say about a wrong answer: every kind of sentence, each in one place, with an example.

The first reply tells the place and asks a question. `hint` tells the kind of slip, and then the change itself.
"""

import re

import torch

from course_utils.judging import differences

MOST_WORDS = 60  # of prose in a reply, without code and numbers
MOST_ON_MASKS = 30  # more, where it says what a mask hides and should not
LONGEST = 120  # characters of a piece of code in a sentence

# kinds of slips, as instructors see them counted: (the question in the first reply, what `hint` says); "" for the
# general one, in which {} is the piece of code
GENERAL_QUESTION = "What does {} give, and what do you need there?"
GENERAL_SENTENCE = "this is what to change."
SLIPS = {
    "arguments swapped": ("", "look at the order of its arguments."),
    "changed in place": (
        "Is this a new tensor, or one that somebody else still holds?",
        "what it works on is no new tensor, and others still need it as it was.",
    ),
    "dropout in evaluation": ("When should dropout be off?", "dropout is also on in evaluation mode."),
    "fixed size": ("Does this number hold for every input?", "a size is written as a number."),
    "gradients off": ("Can a gradient get through here?", "gradients are switched off."),
    "inverted": ("What should be True here?", "True and False are exchanged."),
    "left too early": ("Which turns of the loop are still needed after this one?", "it ends the whole loop."),
    "missing dimension": ("Which shapes meet here, and which do you want?", "the result lacks a dimension of size 1."),
    "missing largest": ("How large can these numbers get?", "the largest number is not subtracted first."),
    "missing mask": ("Which tokens may a query not see yet?", "nothing hides the future from these scores."),
    "missing root": ("Is this the number itself, or its root?", "a square root is missing."),
    "missing scale": ("What keeps these numbers from growing with the width?", "the numbers are not scaled."),
    "view for transpose": (
        "Does this exchange dimensions, or only cut the numbers anew?",
        "it cuts the numbers anew, in their old order; no dimensions are exchanged.",
    ),
    "missing transpose": ("Which two dimensions should be exchanged?", "two of its dimensions are exchanged."),
    "numbers for truth values": ("What is its dtype?", "it holds numbers instead of True and False."),
    "off by one": ("Count by hand: which number do you need here?", "it is off by one."),
    "option missing": ("", "it lacks an option."),
    "order of names": ("In which order do these values come?", "look at the order of the names on the left."),
    "parentheses": ("In which order does Python compute this line?", "parentheses are missing."),
    "result thrown away": ("Where does the result of this line go?", "its result is thrown away."),
    "something too much": ("What is each part of this line for?", "one step is too much."),
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
    """Which dimension does it name, and which do you need? code: the piece that is wrong."""
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
    """Remove `if T > 1:` in line 3, and keep what it holds. With this change your answer is right."""
    first = old.splitlines()[0]
    return f"Remove `{first}` in line {line}, and keep what it holds. With this change your answer is right."


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
    """Two calls with the same input give different results: line 9, `kept = torch.rand(3) < p`, draws at random. …"""
    opening = "Two calls with the same input give different results"
    return f"{opening}: {place(line, code)}, draws at random. Should it do that here?"


def when(turn, before):
    """When `t` is 2, or In run 3, or Here. turn: of the loops, (name, words). before: how many runs came before."""
    return f"When {named_values(turn)}" if turn else f"In run {before + 1}" if before else "Here"


def look_at_value(line, code, part, seen, proven, by_hand):
    """Look at line 3, `e = torch.exp(scores)`. Here, it gives 3. What should it give?

    proven: whether another value would make the result right. by_hand: whether a learner can compute it.
    """
    where = f"`{part}` in line {line}" if part else place(line, code)
    given = f" {seen}" if seen else ""
    if not proven:
        return f"Begin with {where}.{given} {'Is that what you need?' if seen else LINE_QUESTION}"
    return f"Look at {where}.{given} {PROVEN} {PROVEN_QUESTION if by_hand else PROVEN_QUESTION_ON_MORE}"


def lost(line, code, when, what, values):
    """The first nan comes from `a / b` in line 3. There, `a` is 0 and `b` is 0. Why does it give that? …"""
    turn = f" {when[0].lower()}{when[1:]}," if when != "Here" else ""
    known = f" {at_that_point(values)}" if values else ""
    return f"The first {what} comes{turn} from `{shortened(code)}` in line {line}.{known} Why does it give that?"


def turned(kind, lines):
    """True and False are exchanged in lines 4 to 9. lines: (line, code)."""
    return RELATIONS["exchanged" if kind == "inverted" else "negative"].format(block_of(lines))


def depends_on(lines):
    """It depends on line 2, `mask = …`, and line 3, `…`. lines: (line, code)."""
    return f"It depends on {block_of(lines)}."


def block(lines):
    """The mistake is in lines 4 to 9. lines: (line, code)."""
    if len(lines) < 3:
        return f"Look at {places(lines)}."
    return f"The mistake is in {block_of(lines)}."


def early_return(line, code):
    """Line 9, `return total`, ends the loop in its first turn. Which turns are still needed?"""
    words = place(line, code)
    return f"{words[0].upper()}{words[1:]}, ends the loop in its first turn. Which turns are still needed?"


def written(entry, line, when, values, made="written"):
    """The first wrong entry, [1, 0], is written in line 8. When `i` is 1, `row` is 2 there. What should it be? …"""
    turn = f" {when[0].lower()}{when[1:]}" if when != "Here" else ""
    opening = f"The first wrong entry, {entry}, is {made} in line {line}{turn}."
    asked = VALUES_QUESTION if len(values) > 1 else VALUE_QUESTION
    return f"{opening} {at_that_point(values)} {asked}" if values else f"{opening} {ENTRY_QUESTION}"


def appended(entry, line, when, values):
    """The same for an entry of a list."""
    return written(entry, line, when, values, "appended")


def operation(line, code, entry, values):
    """Look at line 3, `return a * b`. At [0, 1], `a` is 2 and `b` is 3. Are these the numbers that you need, …"""
    return f"Look at {place(line, code)}. At {entry}, {named_values(values)}. {OPERATION_QUESTION}"


def not_written(entry, line):
    """The first wrong entry, [1, 0], keeps its value from line 3: no later line writes it. Which line should?"""
    return (
        f"The first wrong entry, {entry}, keeps its value from line {line}: no later line writes it. {KEEPS_QUESTION}"
    )


def kept(lines):
    """Something is kept from one call to the next. Look at line 7, `found.append(k)`. … lines: (line, code)."""
    where = f" Look at {places(lines)}." if lines else ""
    return f"Something is kept from one call to the next.{where} With which values should each call begin?"


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
PROVEN_QUESTION_ON_MORE = "What should it hold?"
BLOCK_QUESTION = "Go through them with this input: which value is the first that you did not expect?"
LINE_QUESTION = "What goes in there, and what should come out?"
OPERATION_QUESTION = "Are these the numbers that you need, and is this what to do with them?"
ENTRY_QUESTION = "Should it be written then, and with this value?"
VALUE_QUESTION = "Should it be that?"
VALUES_QUESTION = "Which of these is not what you need?"
RELATION_QUESTION = "Which line decides that?"
KEEPS_QUESTION = "Which line should, and what keeps it from there?"
WRITTEN_QUESTION = "What changes there, and who else still uses it?"
ERROR_QUESTION = "What does this line need, and what does it get?"
QUESTIONS_ON_ERRORS = {  # by type, for the line in which an answer stopped
    "AttributeError": "What type is the value in front of the dot?",
    "IndexError": "How many entries are there, and which one is asked for?",
    "NameError": "Where does this name get its value?",
}


RELATIONS = {
    "exchanged": "True and False are exchanged in {}.",
    "transposed": "Two dimensions are exchanged in {}.",
    "negative": "The signs are the wrong way round in {}.",
    "times": "Each number in {} is {} times what it should be.",
    "shuffled": "The numbers in {} are right, but not in the right order.",
}


def fits(value):
    """Whether a sentence has room for a value."""
    return not isinstance(value, torch.Tensor) or 0 < value.numel() <= MOST_NUMBERS


def brief(value, shapes=False):
    """A value in a few words: is 3, is `[0.5, 0.5]`, has the shape (2, 3, 4); "" for what cannot be told."""
    if isinstance(value, torch.Tensor) and fits(value) and not shapes:
        return f"is `{differences.rounded(value.tolist(), 4)}`"
    if isinstance(value, torch.Tensor):
        return f"has the shape {tuple(value.shape)}"
    if isinstance(value, (bool, int, float)):
        return f"is {differences.rounded(value, 4)}"
    return f"has {len(value)} entries" if isinstance(value, list) else ""


def relation(got, wanted, name):
    """How a value differs as a whole from the one that it should be: True and False are exchanged in it. Or ""."""
    if not isinstance(got, torch.Tensor) or not isinstance(wanted, torch.Tensor) or got.numel() < 2:
        return ""
    if got.dtype == wanted.dtype == torch.bool:
        return RELATIONS["exchanged"].format(name) if got.shape == wanted.shape and (got ^ wanted).all() else ""
    got, wanted = got.double(), wanted.double()

    def alike(one):
        return one.shape == wanted.shape and torch.allclose(one, wanted, 1e-4, 1e-6)

    if any(alike(got.transpose(k, k + 1)) for k in range(got.ndim - 1)):
        return RELATIONS["transposed"].format(name)
    if got.shape != wanted.shape or not wanted.any() or not (wanted.isfinite() & got.isfinite()).all():
        return ""
    factor = ((got * wanted).sum() / (wanted * wanted).sum()).item()
    if factor and alike(got / factor):
        return RELATIONS["negative" if abs(factor + 1) < 1e-4 else "times"].format(name, differences.rounded(factor))
    return RELATIONS["shuffled"].format(name) if got.numel() > 3 and alike_sorted(got, wanted) else ""


def alike_sorted(one, other):
    """Whether two tensors hold the same numbers in another order."""
    return torch.allclose(one.flatten().sort().values, other.flatten().sort().values, 1e-4, 1e-6)


def words_in(text):
    """How many words of prose a reply has: without code, numbers and what Python says of an error."""
    return len(re.sub(r"`[^`]*`|\w+Error: [^\n]*|[\d.\[\](),-]+", " ", text).split())


def shortened(code):
    """A piece of code as a sentence can hold it."""
    lines = [line.strip() for line in code.splitlines()]
    line = " ".join(lines) if any(line.endswith(":") for line in lines) else "; ".join(lines)
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 2]} …"
