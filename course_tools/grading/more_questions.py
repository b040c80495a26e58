"""Questions that only the grader asks: on intermediate values, and on which number reaches which row."""

import ast
import re
from collections import Counter
from functools import cached_property

import torch

from course_utils.explaining.program import MOST_STEPS
from course_utils.judging import untrusted_replies
from course_utils.quizzing import questions
from course_utils.quizzing.evidence import (
    DIFFERENT,
    OTHER_VALUES,
    Evidence,
    inputs_of,
    is_decimal,
    with_inputs,
)

IN_STEPS = re.compile(r"\b(median|sort|topk|kthvalue|argmax|argmin|relu|clamp|round|floor|quantile|mode)\b")  # stepwise
MOVES = 0.7, -0.3  # of a number of the input, in the two runs
MOST_WATCHED, MOST_ENTRIES = 2, 10


class MoreEvidence(Evidence):
    """Evidence about an answer, with its intermediate values and what depends on what."""

    def __init__(self, program, calls, runner, seed):
        super().__init__(program, calls, runner, seed)
        self.calls[1] = with_another_model(self.calls[1])

    @cached_property
    def assigned(self):
        """{(name, k): (line, its values in both runs)}, as `assigned_in` has it, of the answer as it is."""
        if None in self.results:
            return {}
        first, second = (assigned_in(self.program, self.runner.watch(call)) for call in self.calls)
        return {key: (line, value, second[key][1]) for key, (line, value) in first.items() if key in second}

    @cached_property
    def assigned_with_changes(self):
        """`assigned_in` of a few changed answers."""
        texts = [self.program.text_with(change.fix) for change in self.changes[:MOST_WATCHED]]
        return [assigned_in(self.program.with_text(text), self.runner.watch(self.call, text)) for text in texts]

    def elsewhere(self, key):
        """The values of the same statement in answers with changes."""
        return [assigned[key][1] for assigned in self.assigned_with_changes if key in assigned]

    def rows_moved(self, fixes, entries):
        """For each Fix: {entry: the rows of the result that change with this number of the input, or None}."""
        pairs = zip(self.calls, MOVES)
        calls = [moved(call, entry, by) for call, by in pairs for entry in [None, *entries]]
        table = []
        for found in self.results_with(fixes, calls):
            (one, *first), (two, *second) = found[: len(found) // 2], found[len(found) // 2 :]
            rows = [(rows_that_differ(one, a), rows_that_differ(two, b)) for a, b in zip(first, second)]
            table.append({entry: a if a == b else None for entry, (a, b) in zip(entries, rows)})
        return table

    @cached_property
    def entries(self):
        """Places of numbers in the input: (number of the argument, index)."""
        found = []
        for k, each in enumerate(inputs_of(self.call)):
            if is_decimal(each) and each.ndim > 1:
                lead, (rows, columns) = (0,) * (each.ndim - 2), each.shape[-2:]
                found += [(k, (*lead, row, 0)) for row in range(rows)]
                found += [(k, (*lead, 1, 2))] if rows == columns > 2 else []
        return found[:MOST_ENTRIES]

    @cached_property
    def rows_of_entries(self):
        """{entry: the rows of the result that change with it}, of the answer as it is."""
        steady = None not in self.results and self.entries and not IN_STEPS.search(self.program.text)
        return self.rows_moved([self.no_change], self.entries)[0] if steady else {}


def is_model(value):
    """Whether an argument describes a random language model."""
    return isinstance(value, dict) and "language_model" in value


def with_another_model(call):
    """The call with one more word in the vocabulary of its random model, so that no key depends on it."""
    values = [
        each | {"language_model": [each["language_model"][0] + 1, *each["language_model"][1:]]}
        if is_model(each)
        else each
        for each in inputs_of(call)
    ]
    return with_inputs(call, values)


def assigned_in(program, data):
    """{(name, k): (line, value)} of a run: what the k-th statement that sets a name, or "the result", gave it.

    Covers statements that ran once. data: the steps as they came back; nothing is known where some are missing.
    """
    if len(data) >= MOST_STEPS:
        return {}
    values, found, before = {}, {}, Counter()
    for number, value in untrusted_replies.steps(data, len(program.nodes)):
        values.setdefault(number, []).append(value)
    for statement in (node for node in program.nodes if isinstance(node, ast.stmt)):
        for name, times in given_by(program, statement, values):
            if len(times) == 1:
                found[name, before[name]] = statement.lineno, times[0]
            before[name] += 1
    return found


def given_by(program, statement, values):
    """[(name, its value at each time)] of what a statement sets. values: {number of a node: its values}."""
    times = values.get(program.numbers.get(id(getattr(statement, "value", None))), [])
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return [(name, times)]
        case ast.AugAssign(target=ast.Name(id=name)):
            return [(name, values.get(program.numbers[id(statement)], []))]
        case ast.Assign(targets=[ast.Tuple(elts=names)]) if all(isinstance(each, ast.Name) for each in names):
            whole = [each for each in times if isinstance(each, list) and len(each) == len(names)]
            return [(each.id, [time[k] for time in whole]) for k, each in enumerate(names)]
        case ast.Return() if next(program.enclosing(statement, ast.FunctionDef)).name in (program.name, "forward"):
            return [("the result", times)]
    return []


def moved(call, entry, by):
    """The call with one number of its input changed; None: as it is."""
    if not entry:
        return call
    number, index = entry
    values = list(inputs_of(call))
    values[number] = values[number].clone()
    values[number][index] += by
    return with_inputs(call, values)


def rows_that_differ(before, after):
    """The rows, along the last axis but one, in which two results differ; None where that is not clear."""
    if not is_decimal(before) or not is_decimal(after) or before.ndim < 2 or before.shape != after.shape:
        return None
    if not before.numel():
        return ()
    distance = (before.double() - after.double()).abs().movedim(-2, 0).flatten(1).amax(dim=1)
    clear = ((distance == 0) | (distance >= DIFFERENT)).all()  # weights of almost 0 prove nothing; nor does nan
    steps = torch.equal(before, before.round())  # truth values as numbers, which a small change may not affect
    return tuple(torch.nonzero(distance).flatten().tolist()) if clear and not steps else None


# --- kinds: each gives (prompt, the true option, others that are false) -----------------------------------------------


def hides(found):
    """Which step keeps a row of the result from seeing a number of the input?"""
    changes = [change for change, effect in found.effects if effect == OTHER_VALUES]
    unseen = [(entry, hidden_row(entry), rows) for entry, rows in found.rows_of_entries.items() if rows]
    pairs = [(entry, row) for entry, row, rows in unseen if row >= 0 and row not in rows]
    for entry, row in found.random.sample(pairs, min(len(pairs), 2)):
        moved = [table[entry] for table in found.rows_moved([change.fix for change in changes], [entry])]
        seen = [change.words for change, rows in zip(changes, moved) if rows and row in rows]
        unseen = [change.words for change, rows in zip(changes, moved) if rows is not None and row not in rows]
        prompt = f"`result[..., {row}, :]` ignores {entry_words(found, entry)}. Which change makes it depend on that?"
        yield from ((prompt, words, unseen) for words in seen[:1])


def hidden_row(entry):
    """The row that may not see a number: the number's own row, or the row before if it is in the first column."""
    *_, row, column = entry[1]
    return row if column else row - 1


def entry_words(found, entry):
    """A number of the input, as Python."""
    return f"`{questions.names_of_inputs(found.program)[entry[0]]}[{', '.join(map(str, entry[1]))}]`"


def only_row(found):
    """Which number of the input changes one row of the result alone?"""
    rows_of = {entry: rows for entry, rows in found.rows_of_entries.items() if rows is not None}
    for entry, rows in rows_of.items():
        if len(rows) == 1:
            others = [other for other, moved in rows_of.items() if moved != rows]
            prompt = f"Changing one number of the input changes only `result[..., {rows[0]}, :]`. Which number?"
            found.random.shuffle(others)
            yield prompt, entry_words(found, entry), [entry_words(found, other) for other in others]


def named(name, line):
    """What was assigned, in words."""
    return f"{name if ' ' in name else f'`{name}`'} in line {line}"


def sums(found):
    """Along which axis does which tensor sum to 1?"""
    true, false = [], []
    for (name, _), (line, *values) in found.assigned.items():
        for axis in (-1, -2):
            if all(is_decimal(value) and value.ndim >= -axis and value.shape[axis] > 1 for value in values):
                away = [(value.double().sum(axis) - 1).abs() for value in values]
                words = f"{named(name, line)}, along `dim={axis}`"
                if all((part < 1e-4).all() for part in away):
                    true.append(words)
                elif all((part > 1e-2).any() for part in away):
                    false.append(words)
    for words in true:
        yield "Which of these always sums to 1?", words, found.random.sample(false, len(false))


def shape(found):
    """What is the shape of an intermediate tensor?"""
    lines = found.program.text.split("\n")
    told = {shape_in_full(value): None for _, value, _ in found.assigned.values()}
    for key, (line, one, two) in found.assigned.items():
        right = shape_in_full(one)
        if right and right == shape_in_full(two) and "#" not in lines[line - 1]:  # a comment may say it
            turned = one.mT if one.ndim > 1 else one
            wrong = [*map(shape_in_full, [*found.elsewhere(key), turned]), *told]
            yield f"What is the shape of {named(key[0], line)}?", right, list(filter(None, wrong))


def shape_in_full(value):
    """A tensor's shape as Python; "" for anything else."""
    return f"`{tuple(value.shape)}`" if isinstance(value, torch.Tensor) else ""


def zeros(found):
    """How many entries of a mask are True, or how many numbers are 0?"""
    for key, (line, one, two) in found.assigned.items():
        tensors = isinstance(one, torch.Tensor) and isinstance(two, torch.Tensor) and one.ndim > 1
        if tensors and 0 < counted(one) == counted(two) < one.numel():
            count, size = counted(one), one.shape[-1]
            others = [counted(other) for other in found.elsewhere(key) if isinstance(other, torch.Tensor)]
            wrong = [*others, one.numel() - count, count + size, count - size, one.numel()]
            what = "entries are True" if one.dtype == torch.bool else "numbers are exactly 0"
            prompt = f"How many {what} in {named(key[0], line)}?"
            yield prompt, str(count), [str(number) for number in wrong if number > 0]


def counted(value):
    """How many entries of a tensor are True, or how many are 0."""
    return int((value if value.dtype == torch.bool else value == 0).sum())


MORE_KINDS = (hides, only_row, shape, sums, zeros)
KINDS = (*questions.KINDS, *MORE_KINDS)


def kinds_for(calls):
    """The kinds to ask about an answer to these calls: nobody can follow by hand what a random model does."""
    return MORE_KINDS if any(is_model(each) for call in calls for each in inputs_of(call)) else KINDS
