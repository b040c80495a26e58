"""Whether an option of a question about an answer's own code is true, found in another way than the course finds it.

Values come from tracing the answer with Python's own means, changes are made in its text, influence is tried out.
"""

import ast
import functools
import inspect
import re
import sys

import numpy as np
import torch
from torch import nn

from course_utils.exercises import solutions
from course_utils.judging import calls
from course_utils.quizzing.evidence import plainest

STOPPED = "stopped"


class OwnCode:
    """An answer whose text is run anew for each option. code: its text."""

    def __init__(self, exercise, code):
        self.exercise, self.code, self.call = exercise, code, plainest(exercise.calls)

    def is_true(self, question, option):
        """Whether an option is true; what a kind's words say is read from the words alone."""
        return getattr(self, question.kind)(question.prompt, option)

    # --- by kind

    def other_axis(self, prompt, option):
        before, after = self.result(self.code), self.result(with_change(self.code, prompt))
        if option == "It stops with an error.":
            return after is STOPPED
        if after is STOPPED:
            return False
        if option.startswith("The result is "):
            return described(after) == option.removeprefix("The result is ").rstrip(".") != described(before)
        same_kind = described(before) == described(after)
        return same_kind and alike(before, after) == (option == "The result stays the same.")

    what_happens = other_axis

    def unchanged(self, prompt, option):
        return self.other_axis(option, "The result stays the same.")

    def stops(self, prompt, option):
        return self.result(with_change(self.code, option)) is STOPPED

    def hides(self, prompt, option):
        row, name, index = re.fullmatch(r"`result\[..., (\d+), :\]` ignores `(\w+)\[(.*)\]`\..*", prompt).groups()
        assert int(row) not in self.rows(self.code, name, index), "it does depend on it as it is"
        return int(row) in self.rows(with_change(self.code, option), name, index)

    def only_row(self, prompt, option):
        row = int(re.search(r"result\[..., (\d+), :\]", prompt)[1])
        return self.rows(self.code, *re.fullmatch(r"`(\w+)\[(.*)\]`", option).groups()) == {row}

    def sums(self, prompt, option):
        name, line, axis = re.fullmatch(r"(.*) in line (\d+), along `dim=(-\d)`", option).groups()
        ((value,),) = [self.values(name, line)]
        return bool(np.allclose(value.double().numpy().sum(int(axis)), 1, atol=1e-3))

    def shape(self, prompt, option):
        (value,) = self.values(*re.fullmatch(r"What is the shape of (.*) in line (\d+)\?", prompt).groups())
        return str(tuple(value.shape)) == option.strip("`")

    def zeros(self, prompt, option):
        what, name, line = re.fullmatch(r"How many (.*) in (`\w+`|the result) in line (\d+)\?", prompt).groups()
        (value,) = self.values(name, line)
        return int((value.numpy() == (what == "entries are True")).sum()) == int(option)

    # --- running

    def object(self, code):
        """The answer that a text makes. Loops that a change has made endless end with an error of their own."""
        names = solutions.imports(self.exercise.chapter)
        exec(compile(code, "<own code>", "exec"), names)
        return names[self.exercise.name]

    def run(self, code, change=lambda name, value: value):
        """What the answer gives; STOPPED for an error. change: (name of an input, value) -> what to call it with."""
        torch.manual_seed(0)
        try:
            answer, called = self.object(code), self.call.arguments
            if hasattr(self.call, "inputs"):
                answer, called = self.layer(answer), self.call.inputs[0]
            names = list(inspect.signature(getattr(answer, "forward", answer)).parameters)
            return answer(*[change(name, argument(each)) for name, each in zip(names, called)])
        except Exception:
            return STOPPED

    result = run

    def layer(self, kind):
        """The layer that a class makes for the call, with its weights."""
        torch.manual_seed(self.call.seed)
        layer = kind(*self.call.arguments)
        own = dict(layer.named_parameters())
        for name, tensor in self.call.weights.items():
            parameter = own.get(name, own.get(f"{name}.weight"))
            parameter.data.copy_(tensor if parameter.shape == tensor.shape else tensor.T)
        return layer.train(self.call.training)

    def rows(self, code, name, index):
        """The rows of the result that change with a number of the input."""
        place = tuple(map(int, index.split(",")))

        def change(other, value):
            if other == name:
                value[place] += 0.31
            return value

        before, after = self.result(code), self.result(code, change)
        assert torch.is_tensor(before) and before.shape == after.shape and before.isfinite().all()
        differs = ~np.isclose(before.detach().double(), after.detach().double(), rtol=1e-6, atol=1e-7)
        return set(np.nonzero(np.moveaxis(differs, -2, 0).reshape(before.shape[-2], -1).any(axis=1))[0].tolist())

    def values(self, name, line):
        """What a name was after each run of a line, or what a line returned."""
        return [
            returned if name == "the result" else local[name.strip("`")]
            for at, local, returned in self.trace
            if at == int(line)
        ]

    @functools.cached_property
    def trace(self):
        """(line at which a statement begins, names after it, what it returned) of each that ran to its end."""
        tree, found, last = ast.parse(self.code), [], {}
        begins, returning = {}, {}
        returns = {node.lineno for node in ast.walk(tree) if isinstance(node, ast.Return)}
        for node in ast.walk(tree):
            if isinstance(node, ast.stmt) and not hasattr(node, "body"):
                begins |= dict.fromkeys(range(node.lineno, node.end_lineno + 1), node.lineno)

        def local(frame, event, value):
            if event == "exception":
                last.pop(id(frame), None)
                return local
            line = begins.get(frame.f_lineno)
            before = last.get(id(frame))
            if event == "return" and id(frame) in returning:
                found.append((returning.pop(id(frame)), copied(frame.f_locals), copied({"": value})[""]))
            elif before is not None and before not in returns and (event == "return" or line != before):
                found.append((before, copied(frame.f_locals), None))
            if event == "line" and line in returns:  # a `with` around it may run a line more
                returning[id(frame)] = line
            last[id(frame)] = line if event == "line" else None
            return local

        def watch(frame, event, _):
            inside = frame.f_code.co_filename == "<own code>" and not frame.f_code.co_name.startswith("<")
            return local if inside else None

        sys.settrace(watch)
        try:
            self.run(self.code)
        finally:
            sys.settrace(None)
        return found


def argument(value):
    """An argument of a call as an answer gets it."""
    if isinstance(value, dict) and "linear" in value:
        layer = nn.Linear(value["linear"].shape[1], value["linear"].shape[0], bias=False)
        layer.weight.data.copy_(value["linear"])
        return layer
    if isinstance(value, dict):
        return calls.build_argument(value)
    return [argument(each) for each in value] if isinstance(value, list) else copied({"": value})[""]


def copied(names):
    """Names as they are now."""
    kept = {}
    for name, value in names.items():
        plain = list(value) if isinstance(value, list) else value  # a loop may add to it
        kept[name] = value.detach().clone() if isinstance(value, torch.Tensor) else plain
    return kept


def with_change(code, words):
    """The text with a change that words tell."""
    tree = ast.parse(code)
    left_out = re.search(r"[Ll]ine (\d+), `(.*)`, is removed", words)
    line, old, new = (
        left_out
        and (*left_out.groups(), "")
        or re.search(r"line (\d+), `(.*)` becomes `(.*?)`(?:\.|$)", words).groups()
    )
    inside = [
        node for node in ast.walk(tree) if isinstance(node, ast.stmt) and node.lineno <= int(line) <= node.end_lineno
    ]
    victim = min(inside, key=lambda node: node.end_lineno - node.lineno)
    text = ast.unparse(victim)
    assert text.count(old) == 1, (old, text)
    body = ast.parse(text.replace(old, new) or "pass").body
    for node in ast.walk(tree):
        for field in ("body", "orelse"):
            statements = getattr(node, field, None)
            if isinstance(statements, list) and victim in statements:
                place = statements.index(victim)
                statements[place : place + 1] = body
    return ast.unparse(tree)


def described(value):
    """What kind of thing a result is."""
    if isinstance(value, torch.Tensor):
        return f"of shape {tuple(value.shape)}" + (", of dtype bool" if value.dtype == torch.bool else "")
    if isinstance(value, (list, tuple)):
        return f"a list or tuple of {len(value)}: {', '.join(map(described, value))}"
    return (
        "True or False"
        if isinstance(value, (bool, np.bool_))
        else "one number"
        if np.isscalar(value)
        else "of another kind"
    )


def alike(one, other):
    """Whether two results of one kind hold the same numbers."""
    if isinstance(one, (list, tuple)):
        return all(map(alike, one, other))
    if one is None or isinstance(one, str):
        return one == other
    first, second = (
        each.detach() if isinstance(each, torch.Tensor) else torch.as_tensor(each) for each in (one, other)
    )
    return bool(
        np.allclose(
            first.double(),
            second.double(),
            rtol=1e-4,
            atol=1e-4
            * float(
                first.double().nan_to_num(0, 0, 0).abs().max(),
            )
            if first.numel()
            else 0,
            equal_nan=True,
        )
    )
