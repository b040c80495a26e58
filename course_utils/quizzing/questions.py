"""The questions on an answer, kind by kind. Each has one true option, and the cell does not give it away."""

import ast
import itertools
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch

from course_utils.judging.calls import LayerCall
from course_utils.quizzing.evidence import OTHER_VALUES, SAME, STOPS, Evidence, inputs_of, is_decimal

MOST_WRONG, FEWEST_WRONG, MOST_OF_A_KIND, LARGEST_TOLD = 3, 2, 2, 8


@dataclass(frozen=True)
class CodeQuestion:
    """A question on an answer. call: what it is called with, in words. options: in the order in which they are shown.

    right: the place of the true one. subject: what tests compute it from anew.
    """

    kind: str
    call: str
    prompt: str
    options: tuple[str, ...]
    right: int
    subject: tuple = ()


@cache
def describe_kind(kind):
    """{"purpose", "good", "memorised"}: what a kind of question is for, and what answers in a talk sound like."""
    return tomllib.loads(Path(__file__).with_name("kinds.toml").read_text(encoding="utf-8"))[kind]


def questions_on(program, calls, runner, seed):
    """The CodeQuestions on an answer, one by one, in an order that hangs on the seed: first one of each kind.

    program: its Program, or None. calls: of its exercise. runner: runs it again, as `explain.LocalRunner` does.
    """
    try:
        found = Evidence(program, calls, runner, seed)
        words = call_words(program, found.call)
        waiting = [built(found, kind, words) for kind in found.random.sample(TELLING, len(TELLING))]
        for question in itertools.chain.from_iterable(
            itertools.zip_longest(*waiting, *(built(found, k, words) for k in PLAIN))
        ):
            if question:
                yield question
    except Exception:  # what a stranger's code can do has no end; then there is nothing more to ask
        return


def built(found, kind, words):
    """The CodeQuestions of a kind."""
    drafts = list(KINDS[kind](found))
    found.random.shuffle(drafts)
    drafts.sort(key=lambda draft: sum(draft[1] == other[1] for other in drafts))  # no key is to be expected
    keys = set()
    for prompt, right, wrong, *subject in drafts:
        wrong = [each for each in dict.fromkeys(wrong) if each != right][:MOST_WRONG]
        if len(wrong) >= FEWEST_WRONG and right not in keys and not gives_away(found.program.text, right, wrong):
            keys.add(right)
            options = sorted([right, *wrong], key=lambda _: found.random.random())
            yield CodeQuestion(kind, words, prompt, tuple(options), options.index(right), tuple(subject))


def gives_away(text, right, wrong):
    """Whether the right option stands in the text of the cell, and not all wrong ones do."""
    stands = [
        re.search(rf"(?<![\w.]){re.escape(each.strip('`'))}(?![\w.])", text) is not None for each in (right, *wrong)
    ]
    return stands[0] and not all(stands)


def call_words(program, call):
    """What is called, in a sentence."""
    given = [f"`{name}` {described(each)}" for name, each in zip(names_of_inputs(program), inputs_of(call))]
    words = f" with {', '.join(given)}" if given else ""
    if isinstance(call, LayerCall):
        mode = "training" if call.training else "evaluation"
        return f"`{program.name}({', '.join(map(str, call.arguments))})` is called in {mode} mode{words}."
    return f"`{program.name}` is called{words}."


def names_of_inputs(program):
    """The names of what an answer is called with."""
    called = (program.name, "forward")
    method = next(each for each in program.nodes if isinstance(each, ast.FunctionDef) and each.name in called)
    return [argument.arg for argument in method.args.args if argument.arg != "self"]


def described(value):
    """An input in words: decimal numbers by their shape alone, since no key hangs on them."""
    if isinstance(value, dict):
        return f"a linear layer with a weight {described(value['linear'])}"
    if isinstance(value, list):
        return f"[{', '.join(map(described, value))}]"
    if is_decimal(value):
        return f"of shape {tuple(value.shape)}"
    return f"= `{value.tolist() if isinstance(value, torch.Tensor) else value}`"


# --- kinds: each gives (prompt, the true option, others that are false, what tests need) ------------------------------


def hides(found):
    """Which step keeps a row of the result from seeing a number of the input?"""
    told = [(change, effect) for change, effect in found.effects if effect == OTHER_VALUES]
    changes = [change for change, _ in told]
    unseen = [(entry, hidden_row(entry), rows) for entry, rows in found.rows_of_entries.items() if rows]
    pairs = [(entry, row) for entry, row, rows in unseen if row >= 0 and row not in rows]
    for entry, row in found.random.sample(pairs, min(len(pairs), 2)):
        moved = [table[entry] for table in found.rows_moved([change.fix for change in changes], [entry])]
        seen = [change.words for change, rows in zip(changes, moved) if rows and row in rows]
        unseen = [change.words for change, rows in zip(changes, moved) if rows is not None and row not in rows]
        prompt = f"`result[..., {row}, :]` does not depend on {entry_words(found, entry)}. With which change would it?"
        yield from ((prompt, words, unseen, entry, row) for words in seen[:1])


def hidden_row(entry):
    """The row that may not see a number: the one that it stands in, or in its first column the one before."""
    *_, row, column = entry[1]
    return row if column else row - 1


def entry_words(found, entry):
    """A number of the input, as Python."""
    return f"`{names_of_inputs(found.program)[entry[0]]}[{', '.join(map(str, entry[1]))}]`"


def only_row(found):
    """Which number of the input changes one row of the result alone?"""
    rows_of = {entry: rows for entry, rows in found.rows_of_entries.items() if rows is not None}
    for entry, rows in rows_of.items():
        if len(rows) == 1:
            others = [other for other, moved in rows_of.items() if moved != rows]
            prompt = f"One number changes, and of the result only `result[..., {rows[0]}, :]` does. Which number?"
            found.random.shuffle(others)
            yield prompt, entry_words(found, entry), [entry_words(found, other) for other in others], rows[0]


def what_happens(found, axis=False):
    """What does a change of the code do?"""
    seen = [STOPS, SAME, OTHER_VALUES, *(effect for _, effect in found.effects)]
    for change, effect in found.effects:
        if change.axis == axis:
            wrong = found.random.sample(seen, len(seen))
            yield f"{change.words[0].upper()}{change.words[1:]}. What happens?", effect, wrong, change.words


def other_axis(found):
    """What does another axis do?"""
    return what_happens(found, axis=True)


def which_change(found, wanted, words):
    """Which of some changes has this effect?"""
    wrong = [change.words for change, effect in found.effects if effect != wanted]
    for change, effect in found.effects:
        if effect == wanted:
            yield f"{words} With which one?", change.words, found.random.sample(wrong, len(wrong))


def unchanged(found):
    """Which change changes nothing?"""
    return which_change(found, SAME, "One of these changes leaves the result as it is, the others do not.")


def stops(found):
    """Which change stops with an error?"""
    return which_change(found, STOPS, "One of these changes makes it stop with an error, the others do not.")


def sums(found):
    """Along which axis does which tensor sum to 1?"""
    true, false = [], []
    for each in once(found):
        for axis in (-1, -2):
            if all(is_decimal(value) and value.ndim >= -axis and value.shape[axis] > 1 for value in each.times[0]):
                away = [(value.double().sum(axis) - 1).abs() for value in each.times[0]]
                words = f"{named(each)}, along `dim={axis}`"
                if all((part < 1e-4).all() for part in away):
                    true.append(words)
                elif all((part > 1e-2).any() for part in away):
                    false.append(words)
    for words in true:
        yield "The numbers of which of these always sum to 1?", words, found.random.sample(false, len(false))


def once(found):
    """What was assigned once, in both runs."""
    return [each for each in found.assigned if len(each.times) == 1]


def named(each):
    """What was assigned, in words."""
    name = each.name if " " in each.name else f"`{each.name}`"
    return f"{name} of line {each.statement.lineno}"


def elsewhere(found, each):
    """The values of the same statement in answers with changes."""
    place = [other for other in found.assigned if other.name == each.name].index(each)
    same = ([other for other in assigned if other.name == each.name] for assigned in found.assigned_with_changes)
    return [value for others in same if place < len(others) for value in others[place].times]


def turn(found):
    """What is a value, or its shape, in a turn of a loop?"""
    loops = (ast.For, ast.While)
    for each in found.assigned:
        if len(each.times) > 1 and len([*found.program.enclosing(each.statement, loops)]) == 1:
            k = found.random.randrange(len(each.times))
            for what, told in [("", in_full), ("the shape of ", shape_in_full)]:
                values, seconds = ([told(time[run]) for time in each.times] for run in (0, 1))
                if all(values) and values == seconds:
                    wrong = [*values, *filter(None, map(told, elsewhere(found, each)))]
                    prompt = f"What is {what}{named(each)} in turn {k} of its loop? (The first turn is 0.)"
                    yield prompt, values[k], wrong, each.name, k


def in_full(value):
    """A value as Python, where it is short; "" where it is not."""
    if isinstance(value, torch.Tensor):
        value = value.tolist() if value.numel() <= LARGEST_TOLD else None
    return "" if value is None or isinstance(value, list) and not value else f"`{value}`"


def shape(found):
    """What is the shape of a tensor on the way?"""
    lines = found.program.text.split("\n")
    told = [(each, [shape_in_full(value) for value in each.times[0]]) for each in once(found)]
    for each, (one, two) in told:
        if one and one == two and "#" not in lines[each.statement.lineno - 1]:  # a comment may say it
            value = each.times[0][0]
            turned = value.mT if value.ndim > 1 else value
            wrong = [*map(shape_in_full, [*elsewhere(found, each), turned]), *(first for _, (first, _) in told)]
            yield f"What is the shape of {named(each)}?", one, list(filter(None, wrong)), each.name


def is_tensor(value):
    """Whether this is a tensor."""
    return isinstance(value, torch.Tensor)


def shape_in_full(value):
    """A tensor's shape as Python; "" for anything else."""
    return f"`{tuple(value.shape)}`" if is_tensor(value) else ""


def zeros(found):
    """How many entries of a mask are True, or how many numbers exactly 0?"""
    for each in once(found):
        one, two = each.times[0]
        if is_tensor(one) and is_tensor(two) and one.ndim > 1 and 0 < counted(one) == counted(two) < one.numel():
            count, size = counted(one), one.shape[-1]
            others = [counted(other) for other in elsewhere(found, each) if is_tensor(other)]
            wrong = [*others, one.numel() - count, count + size, count - size, one.numel()]
            what = "entries are True" if one.dtype == torch.bool else "numbers are exactly 0"
            prompt = f"How many {what} in {named(each)}?"
            yield prompt, str(count), [str(number) for number in wrong if number > 0], each.name


def counted(value):
    """How many entries of a tensor are True, or how many numbers 0."""
    return int((value if value.dtype == torch.bool else value == 0).sum())


def number(found):
    """What is a whole number on the way?"""
    told = [each for each in once(found) if type(each.times[0][0]) is int and each.times[0][0] == each.times[0][1]]
    sizes = [size for each in inputs_of(found.call) if is_tensor(each) for size in each.shape]
    for each in told:
        others = [value for value in elsewhere(found, each) if type(value) is int]
        wrong = map(str, [*others, *(other.times[0][0] for other in told), *sizes])
        yield f"What number is {named(each)}?", str(each.times[0][0]), list(wrong), each.name


def times(found):
    """How often does a line run?"""
    counts = [len(each.times) for each in found.assigned]
    sizes = [size for each in inputs_of(found.call) if is_tensor(each) for size in each.shape]
    for each, count in zip(found.assigned, counts):
        if count > 1:
            wrong = map(str, [*counts, *sizes, count + 1, count - 1])
            yield f"How often does line {each.statement.lineno} run in this call?", str(count), list(wrong), each.name


KINDS = {
    kind.__name__: kind
    for kind in (
        hides, only_row, other_axis, shape, stops, sums, turn, unchanged, what_happens, zeros, number, times,
    )
}  # fmt: skip
PLAIN = ["number", "times"]  # asked after all others
TELLING = [kind for kind in KINDS if kind not in PLAIN]
