"""The questions on an answer, kind by kind. Each has one true option, which the cell does not give away."""

import ast
import contextlib
import re
from dataclasses import dataclass

import torch

from course_utils.judging import differences
from course_utils.judging.calls import LayerCall, is_decimal
from course_utils.quizzing.evidence import OTHER_VALUES, SAME, STOPS, Evidence, inputs_of

MOST_WRONG, FEWEST_WRONG = 3, 2


@dataclass(frozen=True)
class CodeQuestion:
    """A question on an answer. call: what it is called with, in words. right: the place of the true option."""

    kind: str
    call: str
    prompt: str
    options: tuple[str, ...]
    right: int


def questions_on(program, calls, runner, seed, kinds, evidence=Evidence):
    """The CodeQuestions on an answer, one by one, in an order that depends on the seed: first one of each kind.

    program: its Program, or None. calls: of its exercise. runner: runs it again, as `explain.LocalRunner` does.
    kinds: as in KINDS. evidence: the class of what they ask.
    """
    with contextlib.suppress(Exception):  # a stranger's code can raise anything; then no more is asked
        found = evidence(program, calls, runner, seed)
        words = call_words(program, found.call)
        yield from in_turn([built(found, kind, words) for kind in found.random.sample(kinds, len(kinds))])


def in_turn(waiting):
    """The first of each iterator, then the second of each, and so on. Each is made only when needed."""
    while waiting:
        for each in list(waiting):
            try:
                yield next(each)
            except StopIteration:
                waiting.remove(each)


def built(found, kind, words):
    """The CodeQuestions of a kind, which gives (prompt, the true option, others that are false)."""
    drafts = list(kind(found))
    found.random.shuffle(drafts)
    drafts.sort(key=lambda draft: sum(draft[1] == other[1] for other in drafts))  # so that no key is predictable
    keys = set()
    for prompt, right, wrong in drafts:
        wrong = [each for each in dict.fromkeys(wrong) if each != right][:MOST_WRONG]
        if len(wrong) >= FEWEST_WRONG and right not in keys and not gives_away(found.program.text, right, wrong):
            keys.add(right)
            options = sorted([right, *wrong], key=lambda _: found.random.random())
            yield CodeQuestion(kind.__name__, words, prompt, tuple(options), options.index(right))


def gives_away(text, right, wrong):
    """Whether the right option occurs in the text of the cell, but not all wrong ones do."""
    stands = [re.search(rf"(?<![\w.]){re.escape(each.strip('`'))}(?![\w.])", text) for each in (right, *wrong)]
    return stands[0] and not all(stands)


def call_words(program, call):
    """What is called, in a sentence."""
    given = [f"`{name}` {described(each)}" for name, each in zip(names_of_inputs(program), inputs_of(call))]
    called = f"`{program.name}` is called"
    if isinstance(call, LayerCall):
        mode = "training" if call.training else "evaluation"
        called = f"`{program.name}({', '.join(map(str, call.arguments))})` is called in {mode} mode"
    return f"{called}{' with ' if given else ''}{', '.join(given)}."


def names_of_inputs(program):
    """The names of an answer's arguments."""
    called = (program.name, "forward")
    method = next(each for each in program.nodes if isinstance(each, ast.FunctionDef) and each.name in called)
    return [argument.arg for argument in method.args.args if argument.arg != "self"]


def described(value):
    """An input in words: decimal numbers only by their shape, since no key depends on them."""
    if isinstance(value, dict):
        weight = f" with a weight {described(value['linear'])}" if "linear" in value else ""
        return differences.describe_argument(value, few=False) + weight
    if isinstance(value, list):
        return f"[{', '.join(map(described, value))}]"
    if is_decimal(value):
        return f"of shape {tuple(value.shape)}"
    return f"= `{value.tolist() if isinstance(value, torch.Tensor) else value}`"


def what_happens(found, axis=False):
    """What does a change of the code do?"""
    seen = [STOPS, SAME, OTHER_VALUES, *(effect for _, effect in found.effects)]
    for change, effect in found.effects:
        if change.axis == axis:
            wrong = found.random.sample(seen, len(seen))
            yield f"{change.words[0].upper()}{change.words[1:]}. What happens?", effect, wrong


def other_axis(found):
    """What does another axis do?"""
    return what_happens(found, axis=True)


def which_change(found, wanted, words):
    """Which of some changes has this effect?"""
    wrong = [change.words for change, effect in found.effects if effect != wanted]
    for change, effect in found.effects:
        if effect == wanted:
            yield f"{words} Which one?", change.words, found.random.sample(wrong, len(wrong))


def unchanged(found):
    """Which change changes nothing?"""
    return which_change(found, SAME, "Only one of these changes leaves the result unchanged.")


def stops(found):
    """Which change stops with an error?"""
    return which_change(found, STOPS, "Only one of these changes causes an error.")


KINDS = (what_happens, other_axis, unchanged, stops)
