"""Why an answer is wrong: the smallest input that shows it, where it goes wrong, and the change that mends it.

Changes are tried out on the answer itself, and its values on the way are compared with those of right answers. A change
counts as the cause only where it is proven (`is_proven`). Everything else is a place to look at.
"""

import ast
import contextlib
import functools
import time
from dataclasses import dataclass, replace

import torch

from course_utils.explaining import candidates, examples, locate, sentences
from course_utils.explaining.known_values import is_uninformative
from course_utils.explaining.program import (
    Fix,
    changed_name,
    changes_in_place,
    cuts_gradients,
    name_of,
    program_of,
    watched,
)
from course_utils.judging import contract, differences, errors, untrusted_replies
from course_utils.judging.calls import FunctionCall, run_calls
from course_utils.judging.judge import (
    broken_contract,
    changed_arguments,
    describe_wrong_case,
    judge,
    maps_to_draw,
    mask_words,
    same_shape,
    told_case,
    wrong_cases,
)
from course_utils.judging.result import NOT_YET, RIGHT

MOST_TRIED, MOST_TRIED_LAYERS = 800, 300  # fixes; a layer takes longer, and its contract again as long
MOST_VALUES = 500  # right values that are tried in the place of the answer's
MOST_RIGHT = 5  # changes that make one call right and are tried in all calls
MOST_LINES = 2  # lines named besides the first
MOST_NAMES = 3  # names whose values are told
MOST_SECONDS = 3  # of computing, after which no new search is begun; the counts above end nearly all of them before


class LocalRunner:
    """Runs an answer in this process, once more."""

    def __init__(self, answer, program):
        self.answer, self.program = answer, program

    def reply(self, calls):
        """What the answer replies to the calls."""
        return run_calls(self.answer, calls)

    def watch(self, call, text=None):
        """The steps of one call, as `watched` gives them. text: of the cell, where it is not the answer's own."""
        return watched(self.program.with_text(text) if text else self.program, call)

    def try_fixes(self, changes, calls):
        """For each Fix, what the answer with it replies to the calls."""
        return self.program.replies_with_fixes(changes, calls)


def explain_locally(exercise, answer, data, result):
    """`explain_result`, for an answer in this process."""
    if result.status != NOT_YET:
        return result
    program = program_of(answer, exercise.name)
    return explain_result(exercise, program, LocalRunner(answer, program), data, result)


def explain_result(exercise, program, runner, data, result):
    """The result of a wrong answer with a small example, a place and a question in its message, and with hints.

    program: the answer's Program; None where its text cannot be had. runner: runs the answer again, as `LocalRunner`
    does. data: what the answer replied, as it came back.
    """
    if exercise.open_ended:
        return result
    small = None
    with contextlib.suppress(Exception):  # a sentence more is no reason to lose the result
        number, trouble = first_trouble(exercise, data)
        if number is None:  # right in each call by itself: the trouble lies between them
            return result
        with contextlib.suppress(Exception):  # what a stranger's code can do has no end
            if small := smallest_failing(exercise, runner, number, trouble, data):
                message = errors.presentable(describe_wrong_case(*small))
                result = replace(result, message=message, maps=maps_to_draw(*small))
        if program:
            return with_explanation(Search(exercise, program, runner, number, trouble, small), result)
    return result


# --- the smallest input that fails ------------------------------------------------------------------------------------


def smallest_failing(exercise, runner, number, trouble, data):
    """(the exercise that asks only for it, its Case): the smallest input that fails as call `number` does, or None."""
    if trouble.breaks_contract or trouble.unplaced_parts:
        return None
    before = wrong_cases(exercise, [number], [data[number]], False)[0]

    def fails(calls):
        for call, reply in zip(calls, runner.reply(calls)):
            try:
                case = next(iter(wrong_cases(exercise.asking(call), [0], [reply], False)), None)
            except Exception:  # an input that makes no sense stops the worked answer, too
                case = None
            yield case is not None and kind_of_problem(exercise, case) == kind_of_problem(exercise, before)

    asked = examples.smallest_failing(exercise, exercise.calls[number], fails)
    return asked and (asked, wrong_cases(asked, [0], runner.reply(asked.calls), False)[0])


def kind_of_problem(exercise, case):
    """What two examples of the same problem have in common."""
    if case.reply.error:
        return case.reply.error.type, case.reply.error.line
    comparable = same_shape(case)
    entries = bool(case.value) if isinstance(case.value, list) else None
    return comparable, bool(comparable and (case.got != case.got).any()), mask_words(exercise, case), entries


# --- what is wrong in which call --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trouble:
    """What is wrong in the first call that goes wrong.

    line: where it stopped, or 0. error: the type of the error that stopped it. breaks_contract: its values are right.
    changed: an argument was. gradients: none come back. random: another seed changes what should not be random.
    unplaced_parts: of a layer, in which weights found no place. part: the place of the wrong value where several are
    returned, or None. first_input: the first of a layer's several inputs already goes wrong.
    """

    line: int = 0
    error: str = ""
    breaks_contract: bool = False
    changed: bool = False
    gradients: bool = False
    random: bool = False
    unplaced_parts: tuple[str, ...] = ()
    part: int | None = None
    first_input: bool = False


def first_trouble(exercise, data):
    """(number of the call that the message is about, its Trouble); (None, None) where it is not wrong by itself."""
    told = told_case(wrong_cases(exercise, range(len(data)), data))
    number = next(number for number, call in enumerate(exercise.calls) if call is told.call)
    for case in wrong_cases(exercise, [number], [data[number]])[:1]:
        line, error = (case.reply.error.line, case.reply.error.type) if case.reply.error else (0, "")
        right_values = not line and case.value is not None
        breaks_contract = right_values and case.problem in (changed_arguments(case), broken_contract(case))
        gradients = breaks_contract and bool(contract.check_gradients(case.call, case.reply, case.reference))
        changed = breaks_contract and case.problem == changed_arguments(case)
        unplaced = tuple(name.partition(".")[0] for name in case.reply.unplaced_weights)
        random = not line and contract.draws_at_random(case.reply) and not contract.draws_at_random(case.reference)
        inputs = getattr(case.call, "inputs", [])
        first = right_values and not breaks_contract and len(inputs) > 1 and case.arguments is inputs[0]
        first = first and bool(differences.problem(case.want, case.value))
        part = wrong_part(case)
        return number, Trouble(line, error, breaks_contract, changed, gradients, random, unplaced, part, first)
    return None, None


def wrong_part(case):
    """The place of the first wrong value of several, or None."""
    if isinstance(case.value, list) and isinstance(case.want, (list, tuple)) and len(case.value) == len(case.want):
        pairs = enumerate(zip(case.want, case.value))
        return next((k for k, (wanted, found) in pairs if differences.problem(wanted, found)), None)
    return None


# --- the place, the question and the hints ----------------------------------------------------------------------------


def with_explanation(search, result):
    """The result with the place and a question in its message, and with hints on this answer."""
    if cause := search.proven_cause():
        message = f"{result.message}\n{search.cause_words(cause)}"
        return replace(result, message=message, mistake=cause.kind, hints=hints_on(search.program, cause))
    words = search.place_words()
    message = f"{result.message}\n{words}".rstrip()
    if sentences.words_in(message) > sentences.MOST_WORDS and "\n" in words:  # what a line works with can be left out
        message = message.rpartition("\n")[0]
    return replace(result, message=message)


def hints_on(program, fix):
    """The hints on a proven cause: the kind of slip, then the change."""
    node = program.nodes[fix.number]
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return (sentences.definition_hint(node.lineno, fix.kind),)
    old, new = program.before_and_after(fix)
    slip = sentences.slip(node.lineno, old, fix.kind)
    if fix.new == "pass":
        return slip, sentences.removal(node.lineno, old)
    if isinstance(node, (ast.If, ast.With)) and not new.startswith("if "):
        return slip, sentences.kept_body(node.lineno, old)
    if old == new:  # lines were only moved
        return slip, sentences.definition_hint(node.lineno, fix.kind)
    return slip, sentences.change(node.lineno, old, new)


class Search:
    """The search for the place and the cause of what is wrong in one call of an answer."""

    def __init__(self, exercise, program, runner, number, trouble, small):
        self.exercise, self.program, self.runner, self.trouble = exercise, program, runner, trouble
        self.end = time.process_time() + MOST_SECONDS
        self.known, self.small = exercise.known_values(number), small
        self.asking, self.number, self.call = exercise, number, exercise.calls[number]
        if trouble.first_input:  # the steps of several would be mixed up
            self.call = replace(self.call, inputs=self.call.inputs[:1])
            self.asking, self.number = exercise.asking(self.call), 0
        self.asked = self.call if trouble.breaks_contract else replace(self.call, check_contract=False)
        self.is_kept = False  # whether it is something from earlier calls that makes this one wrong
        self.no_change = Fix(0, ast.unparse(program.nodes[0]), "")
        if trouble.line and self.is_right(*runner.try_fixes([self.no_change], [self.asked])):  # it stops later
            self.asked = self.call
        self.flow = self.flow_of(self.asked)
        self.result = self.flow.result(trouble.part)  # the step that made it, or None
        # what is told are the values for the input that is shown
        self.shown = self.flow_of(small[0].calls[0]) if small else self.flow

    def flow_of(self, call, text=None):
        """The Flow of the answer, or of the answer with another text, in one call."""
        if not self.trouble.line:
            call = replace(call, check_contract=self.trouble.gradients)
        steps = self.runner.watch(call, text)
        program = self.program.with_text(text) if text else self.program
        return locate.Flow(program, untrusted_replies.steps(steps, len(program.nodes)))

    def is_right(self, data):
        """Whether what came back for the call is right."""
        return right_in(self.asking, self.number, data, self.asked.check_contract)

    # --- what is proven to be right, or to be all that is wrong

    @functools.cached_property
    def right(self):
        """The numbers of expressions whose values right answers make, in each turn."""
        judged = candidates.judged_values(self.program, self.flow, self.known, self.flow.places)
        found = {number for number, own, _, is_known in judged if is_known and not is_uninformative(own)}
        return {each for each in found if not self.is_unpacked(each) and not name_of(self.program.nodes[each])}

    @functools.cached_property
    def all_mendable(self):
        """What `mendable` finds among all expressions that also run in the call that is shown, but for the result."""
        numbers = [each for each in self.flow.places if each in self.shown.places]
        found = self.mendable(self.flow, self.known, self.asked, self.is_right, numbers)
        return {k: turns for k, turns in found.items() if self.flow.origin(self.flow.places[k][-1]) != self.result}

    def mendable(self, flow, known, call, is_right, numbers):
        """{number of an expression: (its values, right ones), turn by turn}: with these alone, a call is right."""
        judged = candidates.judged_values(self.program, flow, known, numbers)
        tried = [(number, own, each) for number, own, right, is_known in judged if not is_known for each in right]
        fixes = (candidates.value_fix(flow, number, each) for number, _, each in tried[:MOST_VALUES])
        replies = self.runner.try_fixes([*fixes], [call]) if time.process_time() < self.end else []
        found = {}
        for (number, *turns), reply in zip(tried, replies):
            if number not in found and is_right(reply):
                found[number] = turns
        return found

    @functools.cached_property
    def block(self):
        """(the mendable expression with the fewest lines that may be wrong, or None for the result; their steps)."""
        found = {number: self.flow.behind(self.flow.places[number], self.right) for number in self.all_mendable}
        # no argument, and no size, is a mistake
        found = {k: at for k, at in found.items() if not name_of(self.program.nodes[k]) or self.lines_behind(at)}
        if not found:
            return None, self.behind_result
        best = min(found, key=lambda each: (len(self.lines_behind(found[each], each)), self.flow.places[each][-1]))
        own, wanted = self.all_mendable[best]
        # what leaves right values as they are, but changes the answer's own, may be the mistake as well
        same = [
            each
            for each, turns in self.all_mendable.items()
            if each in found and candidates.is_close(turns[1], wanted) and not candidates.is_close(turns[0], own)
        ]
        best = max([best, *same], key=lambda number: self.flow.places[number][-1])
        return best, found[best]

    @functools.cached_property
    def behind_result(self):
        """The steps behind the result that are not proven to be right."""
        return [] if self.result is None else self.flow.behind([self.result], self.right)

    def is_unpacked(self, number):
        """Whether the value of an expression gets several names: they may be in the wrong order."""
        statement = self.program.statement_of(self.program.nodes[number])
        return isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Tuple)

    def lines_behind(self, places, number=None):
        """The lines that may be wrong of steps, sizes and loops over all there is aside, and that of an expression."""
        made = [each for each in map(self.flow.node, places) if not isinstance(each, (ast.Name, ast.Attribute))]
        statements = [each for each in map(self.program.statement_of, made) if not is_plain(each)]
        found = {part.lineno for each in statements for part in with_way_out(each)}
        return sorted(found | ({self.program.nodes[number].lineno} if number else set()))

    # --- the cause

    def proven_cause(self):
        """The Fix that is proven to be the cause; None where there is none."""
        most = MOST_TRIED if isinstance(self.call, FunctionCall) else MOST_TRIED_LAYERS
        most //= 2 if self.asked.check_contract and most == MOST_TRIED_LAYERS else 1
        line, places = self.trouble.line, self.behind_result
        near = [k for k, node in enumerate(self.program.nodes) if isinstance(node, ast.expr) and node.lineno == line]
        places = self.flow.behind(self.flow.stopped(line)) if line else places
        near += [self.flow.steps[each][0] for each in places]
        tried = candidates.candidate_fixes(self.program, self.flow, near)[:most]
        attempts = zip([self.no_change, *tried], self.runner.try_fixes([self.no_change, *tried], [self.asked]))
        working = [fix for fix, found in attempts if self.is_right(found)]
        if self.no_change in working:  # right once it is made anew
            self.is_kept = self.trouble.error != "NameError"  # changes know the usual names
            return None
        working.sort(key=self.preference)
        for fix in working[:MOST_RIGHT]:
            if time.process_time() < self.end and self.makes_all_right(fix) and self.is_proven(fix):
                return fix
        return None

    def makes_all_right(self, fix):
        """Whether the answer with a fix is right in all calls."""
        if fix.kind == "dropout in evaluation" and not self.trouble.random:
            return False
        return judge(self.exercise, self.runner.try_fixes([fix], self.exercise.calls)[0]).status == RIGHT

    def preference(self, fix):
        """What is tried first: a fix of one place, and one that adds little; a long one may only make up for a mistake.

        Where an argument was changed, one that leaves it alone comes first.
        """
        node = self.program.nodes[fix.number]
        whole = isinstance(node, (ast.FunctionDef, ast.ClassDef))
        added = int((len(fix.new) - len(ast.unparse(node))) / 4)
        return self.trouble.changed and fix.kind != "changed in place", whole, added

    def is_proven(self, fix):
        """Whether a fix that makes all calls right does so in a proven line, on a known way, with new inputs, too."""
        if not self.trouble.breaks_contract and (self.is_outside(fix) or not self.on_known_way(fix)):
            return False
        calls = examples.new_calls(self.exercise, replace(self.call, check_contract=False))
        calls += self.small[0].calls if self.small else []
        found = self.runner.try_fixes([fix], calls)[0] if calls else []
        return all(
            not wrong_cases(self.exercise.asking(call), [0], [reply], False) for call, reply in zip(calls, found)
        )

    def is_outside(self, fix):
        """Whether a fix changes no line in which the mistake is proven to be."""
        number, places = self.block
        node = self.program.nodes[fix.number]
        if number is None or isinstance(node, ast.FunctionDef):
            return False
        statements = [self.program.statement_of(node), *self.program.enclosing(node, ast.If)]
        lines = self.lines_behind(places, number)
        return not any(each.lineno in lines for each in statements)

    def on_known_way(self, fix):
        """Whether right answers make every value on the way to the result of the answer with a fix."""
        flow = self.flow_of(self.call, self.program.text_with(fix))
        end = flow.result()
        path = [] if end is None else flow.behind([end])
        told = [
            place for place in path if not is_uninformative(flow.steps[place][1]) and not is_literal(flow.node(place))
        ]
        return all(flow.is_unfinished(place) or flow.is_known(place, self.known) for place in told)

    def cause_words(self, fix):
        """The sentence on the line of a proven cause, with a question."""
        node = self.program.nodes[fix.number]
        statement = self.program.statement_of(node)
        if isinstance(node, ast.FunctionDef):
            return f"{sentences.cause_in(node.name, node.lineno)} {sentences.question(fix.kind, '')}"
        piece = self.program.before_and_after(fix)[0]
        words = [sentences.cause(statement.lineno, first_line(statement)), sentences.question(fix.kind, piece)]
        if statement.lineno == self.trouble.line:
            words[1:1] = self.values_where_it_stopped()
        return " ".join(words)

    # --- the place

    def place_words(self):
        """The sentences on where an answer goes wrong, with a question; "" where nothing can be told."""
        trouble = self.trouble
        kept = self.program.outer_changes()
        if kept or self.is_kept:
            return sentences.kept(sorted((each.lineno, first_line(each)) for each in kept))
        if trouble.unplaced_parts:
            return look_at(self.program.assignments_to(trouble.unplaced_parts))
        if trouble.line:
            return self.stop_words()
        if trouble.changed:
            changes = self.program.statements(changes_in_place)
            made = self.program.assignments_to([*filter(None, map(changed_name, changes))])
            made = [each for each in made if not isinstance(each.value, (ast.List, ast.BinOp))]  # these make new ones
            return f"{look_at([*made, *changes])} {sentences.WRITTEN_QUESTION}"
        drawn = [place for place in range(len(self.flow.steps)) if trouble.random and self.flow.is_random(place)]
        if drawn:
            statement = self.program.statement_of(self.flow.node(drawn[0]))
            return sentences.random(statement.lineno, first_line(statement))
        if trouble.gradients:
            return look_at(self.program.statements(cuts_gradients))
        if trouble.breaks_contract:
            return look_at(self.program.state_assignments())
        number, places = self.block
        return self.words_on_mendable(number, places) if number is not None else self.words_on_block(places)

    def stop_words(self):
        """The sentences on what the line works with in which an answer stopped."""
        behind = self.flow.behind(self.flow.stopped(self.trouble.line), self.right)
        words = self.values_where_it_stopped()
        question = sentences.QUESTIONS_ON_ERRORS.get(self.trouble.error, sentences.ERROR_QUESTION)
        return self.with_others(" ".join([*words, question]), behind, self.trouble.line)

    def with_others(self, words, places, line):
        """Some sentences on a line, and one on others that steps belong to; of many, those in its function."""
        lines = [each for each in self.lines_behind(places) if each != line]
        around = [
            each
            for each in self.program.nodes
            if isinstance(each, ast.FunctionDef) and each.lineno <= line <= each.end_lineno
        ]
        lines = lines if len(lines) < 3 else [each for each in lines if each > around[0].lineno]
        return "\n".join([words, *([sentences.depends_on(self.with_code(lines))] if lines else [])])

    def values_where_it_stopped(self):
        """[the sentence on the values that the line works with in which an answer stopped], or []."""
        shown = self.shown
        places = shown.stopped(self.trouble.line)
        places = [k for at in places for k in (shown.operands(at) if type(shown.steps[at][1]) is list else [at])]
        values = {ast.unparse(shown.node(each)): shown.steps[each][1] for each in places}
        wanted = (int, torch.Tensor) if self.trouble.error == "IndexError" else torch.Tensor
        told = [(name, sentences.brief(value)) for name, value in values.items() if isinstance(value, wanted)]
        return [sentences.at_that_point(told[:MOST_NAMES])] if told else []

    def words_on_mendable(self, number, places):
        """The sentences on an expression that would only have to give other values, and on the lines that make it."""
        place, turns, call, is_right = None, self.all_mendable[number], self.asked, self.is_right
        if self.small:
            exercise, known = self.small[0], self.small[0].values_on_the_way(0)
            call, is_right = exercise.calls[0], lambda reply: right_in(exercise, 0, reply, False)
            turns = self.mendable(self.shown, known, call, is_right, [number]).get(number)
        if turns:
            several = turns[0].shape == turns[1].shape and len(turns[0]) > 1
            place = self.shown.places[number][self.first_needed(number, turns, call, is_right) if several else 0]
        return self.with_others(self.words_on_value(number, place, True), places, self.program.nodes[number].lineno)

    def first_needed(self, number, turns, call, is_right):
        """The first turn without whose right value the result would still be wrong. turns: (own values, right ones)."""
        differing = [k for k, rows in enumerate(zip(*turns)) if not candidates.is_close(*rows)]
        without = (torch.cat([turns[1][:k], turns[0][k : k + 1], turns[1][k + 1 :]]) for k in differing)
        replies = self.runner.try_fixes([candidates.value_fix(self.shown, number, each) for each in without], [call])
        return next((k for k, reply in zip(differing, replies) if not is_right(reply)), 0)

    def words_on_value(self, number, place, proven):
        """The sentences on the value of an expression. place: its step in the call that is shown, or None."""
        node = self.program.nodes[number]
        statement = self.program.statement_of(node)
        counters = self.shown.counters_at(place) if place is not None else {}
        turn = [(name, sentences.brief(value)) for name, value in counters.items()][:MOST_NAMES]
        seen = self.value_in_words(self.shown.steps[place][1]) if place is not None else ""
        when = sentences.when(turn, self.shown.places[number].index(place)) if seen else ""
        whole = node in (statement, getattr(statement, "value", None))
        part = "" if whole else sentences.shortened(ast.unparse(node))
        given = self.shown_arguments()  # nobody computes by hand what a model gives, or what is not shown
        by_hand = seen and differences.shows_numbers(given) and not any(isinstance(each, dict) for each in given)
        return sentences.look_at_value(statement.lineno, first_line(statement), part, when, seen, proven, by_hand)

    def words_on_block(self, places):
        """The sentences on the lines behind the result that are not proven to be right, and on where to begin."""
        if self.result is None:
            return ""
        (end,) = self.with_code([self.flow.end().lineno])
        nested = any(self.program.enclosing(self.flow.end(), (ast.For, ast.While, ast.If)))
        if isinstance(self.program.parents[id(self.flow.end())], (ast.For, ast.While)):
            return sentences.early_return(*end)
        # what is returned may be right on the way, and only not what is asked for
        nested = nested or self.flow.steps[self.result][0] in self.right
        lines = self.with_code(sorted({*self.lines_behind(places), *([end[0]] if nested else [])}))
        question = sentences.BLOCK_QUESTION if len(lines) > 1 else sentences.LINE_QUESTION
        begin = self.words_on_entry() or self.words_on_start(places) if len(lines) > 1 else ""
        return f"{sentences.block(lines or [end])} {begin or question}"

    def words_on_entry(self):
        """The sentences on the turn that wrote the first wrong entry of a table that was filled; "" for others."""
        end, wanted = self.shown.result(self.trouble.part), self.shown_result()
        is_statement = end is not None and isinstance(self.shown.node(end), ast.stmt)
        name = changed_name(self.shown.node(end)) if is_statement else None
        got = self.shown.steps[end][1] if name else None
        if not isinstance(got, torch.Tensor) or not isinstance(wanted, torch.Tensor) or got.shape != wanted.shape:
            return ""
        wrong = (~torch.isclose(got.double(), wanted.double(), 1e-4, 1e-5, equal_nan=True)).nonzero().tolist()
        if not wrong or not wrong[0]:
            return ""
        entry = tuple(wrong[0])
        makings = sorted(at for number in self.shown.makers[name] for at in self.shown.places.get(number, []))
        tables = [(at, self.shown.steps[at][1]) for at in makings if at <= end]
        tables = [(at, table) for at, table in tables if isinstance(table, torch.Tensor) and table.shape == got.shape]
        changes = [
            at for (_, old), (at, new) in zip(tables, tables[1:]) if old[entry].nan_to_num() != new[entry].nan_to_num()
        ]
        if not changes:
            return sentences.not_written(list(entry), self.shown.node(tables[0][0]).lineno) if tables else ""
        counters = self.shown.counters_at(changes[-1])
        turn = [(each, sentences.brief(value)) for each, value in counters.items()][:MOST_NAMES]
        return sentences.written(list(entry), self.shown.node(changes[-1]).lineno, sentences.when(turn, 0))

    def words_on_start(self, places):
        """The sentences on the first value, among these steps, that right answers do not make, if it fits."""
        for place in sorted(places):
            node, number = self.flow.node(place), self.flow.steps[place][0]
            if isinstance(node, ast.stmt) or name_of(node) or not self.is_strange(self.flow, place, self.known):
                continue
            known = self.small[0].values_on_the_way(0) if self.small else self.known
            found = (each for each in self.shown.places.get(number, []) if self.is_strange(self.shown, each, known))
            at = next(found, None)
            seen = at is not None and self.value_in_words(self.shown.steps[at][1])
            return self.words_on_value(number, at, False) if seen else ""
        return ""

    def is_strange(self, flow, place, known):
        """Whether the value of a step is infinite, or one that right answers do not make."""
        value = flow.steps[place][1]
        numbers = torch.as_tensor(value if isinstance(value, (float, torch.Tensor)) else 0).double()
        if not (numbers < torch.inf).all():
            return True
        if is_uninformative(value) or flow.is_unfinished(place):
            return False
        in_loop = any(self.program.enclosing(flow.node(place), (ast.For, ast.While)))
        return not known.contains_exact(value) or not in_loop and not flow.is_known(place, known)

    def shown_result(self):
        """What the result should be for the input that is shown."""
        exercise, number = (self.small[0], 0) if self.small else (self.asking, self.number)
        values = exercise.reference[number].values
        several = self.trouble.part is not None and values and isinstance(values[0], list)
        return values[0][self.trouble.part] if several else values[0] if values else None

    def with_code(self, lines):
        """(line, code) of the statements in these lines."""
        statements = {node.lineno: node for node in reversed(self.program.statements(lambda node: True))}
        return [(line, first_line(statements[line])) for line in lines if line in statements]

    def value_in_words(self, value):
        """A value that fits beside the input that is shown; "" for others."""
        size = value.numel() if isinstance(value, torch.Tensor) else 1
        if isinstance(value, list) or size > sentences.MOST_NUMBERS:
            return ""
        shows = size == 1 or differences.shows_numbers(self.shown_arguments())
        return sentences.brief(value).removeprefix("is ") if shows else ""

    def shown_arguments(self):
        """The arguments that the message shows."""
        call = self.small[0].calls[0] if self.small else self.call
        return call.arguments if isinstance(call, FunctionCall) else call.inputs[0]


def right_in(exercise, number, data, check_contract):
    """Whether what came back for one call of an exercise is right."""
    try:
        return bool(data) and not wrong_cases(exercise, [number], data, check_contract)
    except untrusted_replies.Unreadable:
        return False


def with_way_out(statement):
    """A statement, and the `break` or `continue` under it, if it is the condition for one."""
    ways = statement.body[-1:] if isinstance(statement, ast.If) else []
    return [statement, *(each for each in ways if isinstance(each, (ast.Break, ast.Continue)))]


def is_plain(statement):
    """Whether a statement only asks for sizes, or is a loop over all there is."""
    if isinstance(statement, ast.For):
        return not any(isinstance(part, (ast.Constant, ast.BinOp)) for part in ast.walk(statement.iter))
    values = getattr(statement.value, "elts", [statement.value]) if isinstance(statement, ast.Assign) else []
    return bool(values) and all(map(locate.asks_for_size, values))


def is_literal(node):
    """Whether an expression holds nothing but numbers, such as 1 / 2."""
    return all(
        isinstance(part, (ast.Constant, ast.operator, ast.unaryop, ast.BinOp, ast.UnaryOp)) for part in ast.walk(node)
    )


def look_at(statements):
    """The sentence on a few statements to look at; "" for none."""
    lines = sorted({each.lineno: first_line(each) for each in statements}.items())[: MOST_LINES + 1]
    return sentences.look_at(lines) if lines else ""


def first_line(statement):
    """The code of a statement; of one that holds others, its first line."""
    return ast.unparse(statement).splitlines()[0]
