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

from course_utils.explaining import candidates, examples, fixes, locate, puzzle_lines, sentences
from course_utils.explaining import program as programs
from course_utils.explaining.known_values import is_uninformative, tensors_in
from course_utils.explaining.lines import (
    MOVING,
    REGROUPING,
    Makers,
    is_empty,
    is_plain,
    look_at,
    place_of,
    with_code,
    with_way_out,
)
from course_utils.explaining.program import MODULES, Fix, changed_name, changes_in_place, cuts_gradients, name_of
from course_utils.explaining.sentences import QUESTIONS, say
from course_utils.judging import contract, differences, errors, judge, untrusted_replies
from course_utils.judging.calls import FunctionCall, run_calls
from course_utils.judging.judge import wrong_cases
from course_utils.judging.result import NOT_YET, RIGHT

MOST_TRIED, MOST_TRIED_LAYERS = 800, 300  # fixes; a layer takes longer, and its contract again as long
MOST_VALUES = 500  # right values that are tried in the place of the answer's
MOST_RIGHT = 5  # changes that make one call right and are tried in all calls
LOOPS = (ast.For, ast.While, ast.ListComp, ast.GeneratorExp)
TURNED = ("inverted", "wrong sign")  # kinds of what can be turned round in any of the lines on the way
MOST_NAMES = 3  # names whose values are told
MOST_TOLD = 4  # numbers of an argument by which a call is told
MOST_SECONDS = 3  # of computing for one answer, after which no more changes and values are tried out


class LocalRunner:
    """Runs an answer in this process, once more."""

    def __init__(self, answer, program):
        self.answer, self.program = answer, program

    def reply(self, calls):
        """What the answer replies to the calls."""
        return run_calls(self.answer, calls)

    def watch(self, call, text=None):
        """The steps of one call, as `watched` gives them. text: of the cell, where it is not the answer's own."""
        return programs.watched(self.program.with_text(text) if text else self.program, call)

    def try_fixes(self, changes, calls):
        """For each Fix, what the answer with it replies to the calls."""
        return self.program.replies_with_fixes(changes, calls)


def explain_locally(exercise, answer, data, result):
    """`explain_result`, for an answer in this process."""
    if result.status != NOT_YET:
        return result
    program = programs.program_of(answer, exercise.name)
    return explain_result(exercise, program, LocalRunner(answer, program), data, result)


def explain_result(exercise, program, runner, data, result):
    """The result of a wrong answer with a small example, a place and a question in its message, and with hints.

    program: the answer's Program; None where its text cannot be had. runner: runs the answer again, as `LocalRunner`
    does. data: what the answer replied, as it came back.
    """
    if exercise.open_ended:
        return explain_puzzle(exercise, program, runner, data, result) if program else result
    small = None
    with contextlib.suppress(Exception):  # a sentence more is no reason to lose the result
        number, trouble = first_trouble(exercise, data)
        if number is None:  # right in each call by itself: the trouble lies between them
            return result
        with contextlib.suppress(Exception):  # what a stranger's code can do has no end
            if small := smallest_failing(exercise, runner, number, trouble, data):
                message = errors.presentable(judge.describe_wrong_case(*small))
                result = replace(result, message=message, maps=judge.maps_to_draw(*small))
        if program:
            return with_explanation(Search(exercise, program, runner, number, trouble, small), result)
    return result


def explain_puzzle(exercise, program, runner, data, result):
    """The result of a wrong answer to a puzzle with the lines in its message that it is about."""
    with contextlib.suppress(Exception):
        case = wrong_cases(exercise, [0], data)[0]
        steps = untrusted_replies.steps(runner.watch(exercise.calls[0]), len(program.nodes))
        return puzzle_lines.with_lines(exercise, locate.Flow(program, steps), case, result)
    return result


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
    comparable = judge.same_shape(case)
    entries = bool(case.value) if isinstance(case.value, list) else None
    return comparable, bool(comparable and (case.got != case.got).any()), judge.mask_words(exercise, case), entries


@dataclass(frozen=True)
class Trouble:
    """What is wrong in the first call that goes wrong.

    line: where it stopped, or 0. error: the type of the error that stopped it, or "NoneType". breaks_contract: its
    values are right. changed: an argument was. gradients: none come back. random: another seed changes what should not
    be random. unplaced_parts: of a layer, in which weights found no place. part: the place of the wrong value where
    several are returned, or None. first_input: the first of a layer's several inputs already goes wrong.
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
    told = judge.told_case(wrong_cases(exercise, range(len(data)), data))
    number = next(number for number, call in enumerate(exercise.calls) if call is told.call)
    for case in wrong_cases(exercise, [number], [data[number]])[:1]:
        line, error = (case.reply.error.line, case.reply.error.type) if case.reply.error else (0, "")
        error = "NoneType" if "NoneType" in case.error else error
        right_values = not line and case.value is not None
        breaks_contract = right_values and case.problem in (judge.changed_arguments(case), judge.broken_contract(case))
        gradients = breaks_contract and bool(contract.check_gradients(case.call, case.reply, case.reference))
        changed = breaks_contract and case.problem == judge.changed_arguments(case)
        unplaced = tuple(name.partition(".")[0] for name in case.reply.unplaced_weights)
        random = not line and contract.draws_at_random(case.reply) and not contract.draws_at_random(case.reference)
        inputs = getattr(case.call, "inputs", [])
        first = right_values and not breaks_contract and len(inputs) > 1 and case.arguments is inputs[0]
        first = first and bool(differences.problem(case.want, case.value))
        several = isinstance(case.value, list) and isinstance(case.want, (list, tuple))
        pairs = zip(case.want, case.value) if several and len(case.value) == len(case.want) else ()
        part = next((k for k, (wanted, found) in enumerate(pairs) if differences.problem(wanted, found)), None)
        return number, Trouble(line, error, breaks_contract, changed, gradients, random, unplaced, part, first)
    return None, None


def with_explanation(search, result):
    """The result with the place and a question in its message, and with hints on this answer."""
    if cause := search.proven_cause():
        message = f"{result.message}\n{search.cause_words(cause)}"
        return replace(result, message=message, mistake=cause.kind, hints=hints_on(search.program, cause))
    words = search.place_words()
    message = f"{result.message}\n{words}".rstrip()
    most = sentences.MOST_WORDS + (sentences.MOST_ON_MASKS if search.exercise.mask else 0)
    if sentences.words_in(message) > most and "\n" in words:  # what a line works with can be left out
        message = message.rpartition("\n")[0]
    return replace(result, message=message)


def hints_on(program, fix):
    """The hints on a proven cause: the kind of slip, then the change."""
    node, slip = program.nodes[fix.number], sentences.SLIPS.get(fix.kind, sentences.SLIPS[""])[1]
    whole = say("definition", line=node.lineno, slip=slip)
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return (whole,)
    old, new = program.before_and_after(fix)
    code = program.code_of(node) if hasattr(node, "body") else sentences.shortened(old)
    if fix.kind == "missing transpose":  # of a product, it is this factor
        code = program.code_of(node)
    first = say("slip", line=node.lineno, code=code, slip=slip)
    if fix.new == "pass":
        removal = "removal_of_all" if isinstance(node, ast.If) else "removal"
        return first, say(removal, line=node.lineno, code=sentences.shortened(program.code_of(node)))
    if isinstance(node, (ast.If, ast.With)) and not new.startswith("if "):
        return first, say("kept_body", line=node.lineno, code=program.code_of(node))
    # where old and new are the same, lines were only moved
    return first, whole if old == new else say("change", line=node.lineno, old=old, new=new)


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
        layer = not isinstance(self.call, FunctionCall)
        self.is_slow = layer or any(isinstance(each, dict) for each in self.call.arguments)
        if trouble.line and self.is_right_anew:  # it stops later
            self.asked = self.call
            del self.is_right_anew
        self.flow = self.flow_of(self.asked)
        self.result = self.flow.result(trouble.part)  # the step that made it, or None
        # what is told are the values for the input that is shown
        self.shown = self.flow_of(small[0].calls[0]) if small else self.flow

    @functools.cached_property
    def is_right_anew(self):
        """Whether the answer is right once it is made anew: then something from earlier calls makes this one wrong."""
        no_change = Fix(0, ast.unparse(self.program.nodes[0]), "")
        return self.is_right(*self.runner.try_fixes([no_change], [self.asked]))

    def flow_of(self, call, text=None):
        """The Flow of the answer, or of the answer with another text, in one call."""
        if not self.trouble.line:
            call = replace(call, check_contract=self.trouble.gradients)
        steps = self.runner.watch(call, text)
        program = self.program.with_text(text) if text else self.program
        return locate.Flow(program, untrusted_replies.steps(steps, len(program.nodes)))

    def is_right(self, data=()):
        """Whether what came back for the call is right."""
        return right_in(self.asking, self.number, data, self.asked.check_contract)

    @functools.cached_property
    def right(self):
        """The numbers of expressions whose values right answers make, in each turn."""
        judged = candidates.judged_values(self.program, self.flow, self.known, self.flow.places)
        found = {number for number, own, _, is_known in judged if is_known and not is_uninformative(own)}
        nodes = {each: self.program.nodes[each] for each in found}
        made = {each: getattr(self.program.statement_of(node), "targets", [None])[0] for each, node in nodes.items()}
        # several names that get values at once may be in the wrong order
        return {each for each in found if not isinstance(made[each], ast.Tuple) and not name_of(nodes[each])}

    @functools.cached_property
    def shown_known(self):
        """What right answers make on their way for the input that is shown."""
        return self.small[0].values_on_the_way(0) if self.small else self.known

    @functools.cached_property
    def makers(self):
        """What finds the lines that values were made in, for the input that is shown."""
        return Makers(self.shown, self.shown_known)

    @functools.cached_property
    def all_mendable(self):
        """What `mendable` finds among all expressions but the result, also for the input that is shown."""
        wanted = self.wanted_in(self.asking, self.number)
        if wanted is None or wanted.dtype is torch.bool and not wanted.ndim:  # another number mends these by accident
            return {}
        numbers = [each for each in self.flow.places if each in self.shown.places]
        found = self.mendable(self.flow, self.known, self.asking, self.number, numbers)
        if found and self.small:
            found = self.mendable(self.shown, self.shown_known, *self.shown_case, [*found])
        elif found and not self.is_slow:
            found = self.mendable_anew(found)
        found = {k: turns for k, turns in found.items() if self.flow.origin(self.flow.places[k][-1]) != self.result}
        return {k: turns for k, turns in found.items() if not self.may_come_later(k, *turns, wanted)}

    def may_come_later(self, number, own, right, wanted):
        """Whether the mistake may lie behind a mendable expression, which it only makes up for."""
        loop, got = self.program.parents[id(self.program.nodes[number])], self.value_of(self.flow, self.result)
        if isinstance(loop, ast.For) and (is_plain(self.program, loop) or sentences.relation(own[0], right[0], "it")):
            return True
        written_on = [k for name in self.flow.names_made_by(number) for k in self.flow.makers[name]]
        if any(isinstance(self.program.nodes[k], ast.stmt) and k in self.flow.places for k in written_on):
            return True  # what it held later counts
        if got is None:
            return False
        if isinstance(self.flow.node(self.result), ast.BinOp) and is_same(own, got):  # which only hands it on
            return True
        return len(own) > 1 and own.dtype is not torch.int64 and is_moved(got, wanted) and is_moved(own, right)

    @functools.cached_property
    def new_calls(self):
        """A few calls like the one that goes wrong, with other numbers."""
        return examples.new_calls(self.exercise, replace(self.call, check_contract=False))

    def mendable_anew(self, found):
        """The rows of `mendable` that hold for a new input as well, if one is found and the answer fails on it."""
        for call in self.new_calls:
            asked = self.exercise.asking(call)
            if wrong_cases(asked, [0], self.runner.reply([call]), False):
                again = self.mendable(self.flow_of(call), asked.values_on_the_way(0), asked, 0, [*found])
                return {k: turns for k, turns in found.items() if k in again}
        return found

    def mendable(self, flow, known, exercise, call, numbers):
        """{number of an expression: (its values, right ones), turn by turn}: with these alone, a call is right."""
        judged = candidates.judged_values(self.program, flow, known, numbers)
        ends = self.value_of(flow, flow.result(self.trouble.part)), self.wanted_in(exercise, call)
        tried = [(number, own, each) for number, own, right, is_known in judged if not is_known for each in right]
        tried = [each for each in tried if not skips_rest(*each[1:], *ends) and not self.adds_numbers(flow, *each[::2])]
        tried = tried[: MOST_VALUES // 2 if self.is_slow else MOST_VALUES]
        fixes = (candidates.value_fix(flow, number, each) for number, _, each in tried)
        asked = [replace(exercise.calls[call], check_contract=False)]
        replies = self.runner.try_fixes([*fixes], asked) if time.process_time() < self.end else []
        found = {}
        for (number, *turns), reply in zip(tried, replies):
            if number not in found and right_in(exercise, call, reply, False):
                found[number] = turns
        return found

    def adds_numbers(self, flow, number, right):
        """Whether a right value has numbers that its expression, which only moves numbers, did not get."""
        places = [flow.origin(at) for at in flow.places[number]]
        node = flow.node(places[0])
        if not isinstance(node, ast.Subscript) and fixes.called(node) not in MOVING:
            return False
        given = [k for at in places for k in [*flow.operands(at), *flow.before(filter(name_of, ast.walk(node)), at)]]
        given = [flow.steps[k][1] for k in given if k is not None and ast.unparse(flow.node(k)) not in MODULES]
        parts = [(each.double() * 1e3).round().flatten() for each in tensors_in([*given, right])]
        return None not in given and not torch.isin(parts[-1], torch.cat([torch.zeros(1), *parts[:-1]])).all()

    @functools.cached_property
    def block(self):
        """(the mendable expression with the fewest lines that may be wrong, or None for the result; their steps)."""
        found = {number: self.flow.behind(self.flow.places[number], self.right) for number in self.all_mendable}
        # no argument, and no size, is a mistake
        names = [k for k in found if name_of(self.program.nodes[k])]
        given = [k for k in names if not self.flow.makers_at(self.program.nodes[k]) or not self.lines_behind(found[k])]
        found = {k: at for k, at in found.items() if k not in given}
        if not found:
            return None, self.behind_result
        best = min(found, key=lambda each: (len(self.lines_behind(found[each], each)), self.flow.places[each][-1]))
        own, wanted = self.all_mendable[best]
        # what leaves right values as they are, but changes the answer's own, may be the mistake as well
        same = [k for k in found if candidates.is_close(self.all_mendable[k][1], wanted)]
        two = (ast.BinOp, ast.BoolOp)  # what joins two values may be it even if it leaves both as they are
        joined = [k for k in same if isinstance(self.program.nodes[k], two)]
        same = [*joined, *(k for k in same if not candidates.is_close(self.all_mendable[k][0], own))]
        best = max([best, *same], key=lambda number: self.flow.places[number][-1])
        while self.has_factor(best) and (around := self.program.product_around(best)) in found:
            best = around  # its other part may have the factor
        at = self.flow.places[best][-1]  # what only hands on a value, such as dropout in evaluation, is no mistake
        given = (
            [] if isinstance(self.flow.node(at), two) else [k for k in self.flow.operands(at) if self.hands_on(k, at)]
        )
        made = [self.flow.steps[self.flow.origin(each)][0] for each in given]
        best = next((number for number in made if number in found), best)
        return best, found[best]

    def has_factor(self, number):
        """Whether the values of a mendable expression are all by the same factor too large."""
        return "times" in sentences.relation(*(each[0] for each in self.all_mendable[number]), "it")

    def hands_on(self, operand, place):
        """Whether a step gives the value that it got from another."""
        own, given = self.value_of(self.flow, place), self.value_of(self.flow, operand)
        return own is not None and given is not None and candidates.is_close(own, given)

    @functools.cached_property
    def behind_result(self):
        """The steps behind the result that are not proven to be right."""
        return [] if self.result is None else self.flow.behind([self.result], self.right)

    def lines_behind(self, places, number=None):
        """The lines that may be wrong of steps, sizes and loops over all there is aside, and that of an expression."""
        made = [each for each in map(self.flow.node, places) if not isinstance(each, (ast.Name, ast.Attribute))]
        statements = [each for each in map(self.program.statement_of, made) if not is_plain(self.program, each)]
        found = {part.lineno for each in statements for part in with_way_out(each)}
        return sorted(found | ({self.program.nodes[number].lineno} if number else set()))

    def proven_cause(self):
        """The Fix that is proven to be the cause; None where there is none."""
        if self.is_right_anew:
            return None
        most = MOST_TRIED_LAYERS if self.is_slow else MOST_TRIED
        most //= 2 if self.asked.check_contract and most == MOST_TRIED_LAYERS else 1
        line, places = self.trouble.line, self.behind_result
        near = [k for k, node in enumerate(self.program.nodes) if isinstance(node, ast.expr) and node.lineno == line]
        places = self.flow.behind(self.flow.stopped(line)) if line else places
        near += [self.flow.steps[each][0] for each in places]
        tried = candidates.candidate_fixes(self.program, self.flow, near)[:most]
        attempts = zip(tried, self.runner.try_fixes(tried, [self.asked]))
        working = sorted((fix for fix, found in attempts if self.is_right(found)), key=self.preference)
        if self.trouble.error == "NameError":  # changes know the usual names: elsewhere they hide what stopped it
            working = [fix for fix in working if self.program.nodes[fix.number].lineno == line]
        for fix in working[:MOST_RIGHT]:
            if time.process_time() < self.end and self.makes_all_right(fix) and self.is_proven(fix):
                return fix
        return None

    def makes_all_right(self, fix):
        """Whether the answer with a fix is right in all calls."""
        if fix.kind == "dropout in evaluation" and not self.trouble.random:
            return False
        return judge.judge(self.exercise, self.runner.try_fixes([fix], self.exercise.calls)[0]).status == RIGHT

    def preference(self, fix):
        """What is tried first: a fix of one place, and one that adds little; a long one may only make up for a mistake.

        Where an argument was changed, one that leaves it alone comes first.
        """
        node = self.program.nodes[fix.number]
        whole = isinstance(node, (ast.FunctionDef, ast.ClassDef))
        added = int((len(fix.new) - len(ast.unparse(node))) / 4)
        turned = fix.kind in TURNED or fix.kind == "arguments swapped" and fixes.called(node) == "where"
        last = fix.kind == "order of names", whole, turned, added
        return self.trouble.changed and fix.kind != "changed in place", *last

    def is_proven(self, fix):
        """Whether a fix that makes all calls right does so in a proven line, on a known way, with new inputs, too."""
        sure = self.trouble.breaks_contract or fix.kind == "result thrown away"
        if not sure and (self.is_outside(fix) or not self.on_known_way(fix)):
            return False
        calls = [*self.new_calls, *(self.small[0].calls if self.small else ())]
        found = self.runner.try_fixes([fix], calls)[0] if calls else []
        pairs = zip(calls, found)
        return not any(wrong_cases(self.exercise.asking(call), [0], [reply], False) for call, reply in pairs)

    def is_outside(self, fix):
        """Whether a fix changes no line in which the mistake is proven to be."""
        number, places = self.block
        node = self.program.nodes[fix.number]
        if number is None or isinstance(node, ast.FunctionDef):
            return False
        statements = [self.program.statement_of(node), *self.program.enclosing(node, ast.If)]
        if fix.kind == "arguments swapped" and isinstance(node, ast.Call) and self.program.definition(node):
            return not {self.program.statement_of(self.flow.node(each)) for each in places} & {*statements}
        return not {each.lineno for each in statements} & {*self.lines_behind(places, number)}

    def on_known_way(self, fix):
        """Whether right answers make every value on the way to the result of the answer with a fix."""
        if fix.kind == "loop left too early":  # sums of all turns, too
            return True
        flow = self.flow_of(self.call, self.program.text_with(fix))
        path = [] if flow.result() is None else flow.behind([flow.result()])
        told = [each for each in path if not is_uninformative(flow.steps[each][1]) and not is_literal(flow.node(each))]
        return all(flow.is_unfinished(place) or flow.is_known(place, self.known) for place in told)

    def cause_words(self, fix):
        """The sentence on the line of a proven cause, with a question."""
        node = self.program.nodes[fix.number]
        statement = self.program.statement_of(node)
        if isinstance(node, ast.FunctionDef):
            return f"{say('cause_in', code=node.name, line=node.lineno)} {sentences.question(fix.kind, '')}"
        places = self.flow.places.get(fix.number, []) if fix.kind in TURNED else []
        if any(Makers(self.flow, self.known).lines(each) for each in places):
            lines = with_code(self.program, {*self.lines_behind(self.flow.behind([self.result])), statement.lineno})
            return f"{say(fix.kind, place=sentences.block_of(lines))} {sentences.question(fix.kind, '')}"
        piece = self.program.code_of(node) if fix.kind == "missing transpose" else self.program.before_and_after(fix)[0]
        given = self.values_where_it_stopped() if statement.lineno == self.trouble.line else []
        question = sentences.question(fix.kind, piece)
        if given and sentences.is_general(fix.kind):
            question = QUESTIONS["error"]
        return " ".join([say("cause", place=place_of(self.program, statement)), *given, question])

    def place_words(self):
        """The sentences on where an answer goes wrong, with a question; "" where nothing can be told."""
        trouble = self.trouble
        kept = self.program.outer_changes()
        if trouble.line and self.asked.check_contract:  # it stopped in a later call
            kept += self.program.state_changes()
        if kept or self.is_right_anew and trouble.error != "NameError":  # changes know the usual names
            return say("kept", where=look_at(self.program, kept))
        if trouble.unplaced_parts:
            return look_at(self.program, self.program.assignments_to(trouble.unplaced_parts))
        if trouble.line:
            return self.stop_words()
        if trouble.changed:
            changes = self.program.statements(changes_in_place)
            made = self.program.assignments_to([*filter(None, map(changed_name, changes))])
            made = [each for each in made if not isinstance(each.value, (ast.List, ast.BinOp))]  # these make new ones
            return f"{look_at(self.program, [*made, *changes])} {QUESTIONS['changed']}"
        drawn = [place for place in range(len(self.flow.steps)) if trouble.random and self.flow.is_random(place)]
        if drawn:
            return say("random", place=place_of(self.program, self.program.statement_of(self.flow.node(drawn[0]))))
        if trouble.gradients:
            cut = look_at(self.program, self.program.statements(cuts_gradients))
            return f"{cut} {sentences.question('gradients off', '')}" if cut else ""
        if trouble.breaks_contract:
            return look_at(self.program, self.program.state_changes())
        if contract.draws_at_random(self.asking.reference[self.number]):  # no value on the way is known
            return look_at(self.program, [*map(self.program.statement_of, filter(locate.draws, self.program.nodes))])
        if words := self.words_on_way_out():
            return words
        if lost := self.program.statements(self.is_overwritten):
            return say("overwritten", place=place_of(self.program, lost[0]))
        if early := self.program.statements(self.ends_first_turn):
            return say("early_return", line=early[0].lineno, code=self.program.code_of(early[0]))
        if words := self.words_on_names() or self.words_on_same() or self.words_on_lost():
            return words
        number, places = self.block
        return self.words_on_mendable(number) if number is not None else self.words_on_block(places)

    def words_on_way_out(self):
        """The sentence on a condition under which an argument, or a fixed value, is returned; "" where none is."""
        end = self.shown.returned_step(self.trouble.part)
        node = None if end is None else self.shown.node(end)
        fixed = isinstance(node, ast.Constant) or name_of(node) and not self.shown.makers_at(node)
        statement = self.program.statement_of(node) if fixed else None
        test = next(self.program.enclosing(statement), None)
        if not isinstance(test, ast.If) or statement not in test.body:
            return ""
        words = say("way_out", end=place_of(self.program, statement), place=place_of(self.program, test))
        return self.with_makers(words, [each for each in self.shown.before([test.test], end) if each is not None])

    def is_overwritten(self, node):
        """Whether a statement makes the result that is wrong, in each turn of a loop from what that turn has."""
        end = self.flow.node(self.result) if self.result is not None else None
        names = [name_of(target) for target in getattr(node, "targets", [])]
        loop = self.program.parents[id(node)]
        if not isinstance(node, ast.Assign) or node.value is not end or not isinstance(loop, (ast.For, ast.While)):
            return False
        inside = [part for part in ast.walk(loop) if isinstance(getattr(part, "ctx", None), ast.Load)]
        outside = loop not in self.program.enclosing(self.flow.end())
        return outside and names != [None] and not {*names} & {*map(name_of, inside)}

    def ends_first_turn(self, node):
        """Whether a statement returns something, and so ends a loop, whatever its first turn finds."""
        loop = self.program.parents[id(node)]
        whole = isinstance(loop, (ast.For, ast.While)) and node in loop.body and always_returns(node)
        return whole and not any(isinstance(each, ast.Continue) for each in ast.walk(loop))

    def words_on_names(self):
        """The sentence on an argument that nothing reads, or on what a loop left behind; "" where there is neither."""
        nodes, reads = self.program.nodes, self.program.read_names()
        arguments = [part.arg for part in ast.walk(self.program.tree) if isinstance(part, ast.arg)]
        unused = [name for name in arguments if reads.get(name) == [] and name[0] != "_"]
        if unused and isinstance(self.call, FunctionCall):  # a layer may need less than it is given
            return say("unused", name=unused[0])
        stored = [part for part in nodes if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)]
        inner = {name_of(part) for node in nodes for each in getattr(node, "generators", []) for part in ast.walk(each)}
        loops = self.program.statements(lambda each: isinstance(each, ast.For))
        inner |= {None, *arguments}
        named = [(part.id, loop) for loop in loops for part in ast.walk(loop.target) if name_of(part) not in inner]
        around = {name: [part for part in stored if part.id == name] for name, _ in named}
        once = [name for name, loop in named if all(loop in self.program.enclosing(part) for part in around[name])]
        left = [(k, name) for name in once for k in reads[name] if fixes.is_left_over(self.program, nodes[k], name)]
        left = [(k, name) for k, name in left if any(self.program.enclosing(nodes[k], (ast.For, ast.While)))]
        return say("left_over", line=nodes[left[0][0]].lineno, name=left[0][1]) if left else ""

    def words_on_same(self):
        """The sentence on entries of a list that are one and the same object, on which the code writes; or ""."""
        for node in self.program.nodes:
            name = None
            loop = next(self.program.enclosing(node, (ast.For, ast.While)), None)
            if loop and fixes.called(node) == "append" and name_of(node.args[0]):
                name, within = name_of(node.args[0]), [*ast.walk(loop)]
            elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and isinstance(node.left, ast.List):
                made = self.flow.names_made_by(self.program.numbers[id(node)])
                name, within = (made or [None])[0], self.program.nodes
            if not name or isinstance(node, ast.BinOp) and all(map(is_literal, node.left.elts)):
                continue
            makers = [self.program.nodes[each] for each in self.flow.makers_at(node, name)]
            others = [each for each in makers if isinstance(each, ast.expr) and each is not node]
            sources = [self.flow.makers_at(each) if name_of(each) else [each] for each in others]  # another name for it
            sources = [self.program.nodes[each] if type(each) is int else each for found in sources for each in found]
            anew = [each for each in sources if each in within and isinstance(each, ast.expr)]
            written = [each for each in makers if each in within and isinstance(each, ast.stmt)]
            if written and not anew:
                statement = self.program.statement_of(node)
                return f"{look_at(self.program, [statement])} {sentences.question('the same again', '')}"
        return ""

    def stop_words(self):
        """The sentences on what the line works with in which an answer stopped."""
        own = self.program.statements(lambda each: isinstance(each, ast.FunctionDef) and "return " in ast.unparse(each))
        partly = [each for each in own if isinstance(each.body[-1], ast.If) and not always_returns(each.body[-1])]
        if partly and self.trouble.error == "NoneType":
            return say("partly", code=partly[0].name, place=place_of(self.program, partly[0].body[-1]))
        places = self.shown.stopped(self.trouble.line)
        question = QUESTIONS.get(self.trouble.error, QUESTIONS["error"])
        return self.with_makers(" ".join([*self.values_where_it_stopped(), question]), places)

    def with_makers(self, words, places, more=()):
        """Some sentences on steps, and one on the lines that gave the names in them their values, and on `more`."""
        operations = [getattr(self.shown.node(each), "op", ast.MatMult()) for each in places]
        only = self.trouble.line or not all(isinstance(each, ast.MatMult) for each in operations)
        found = {line for each in places for line in self.makers.lines(each, only)}
        if only and not found:
            found = {line for each in places for line in self.makers.lines(each)}
        found |= {*more} - {self.shown.node(each).lineno for each in places}
        depends = say("depends_on", place=sentences.lines_of(with_code(self.program, found))) if found else ""
        return f"{words}\n{depends}".rstrip()

    def values_where_it_stopped(self):
        """[the sentence on the values that the line works with in which an answer stopped], or []."""
        shown = self.shown
        places = shown.stopped(self.trouble.line)
        places = [k for at in places for k in (shown.operands(at) if type(shown.steps[at][1]) is list else [at])]
        values = {self.program.code_of(shown.node(each)): shown.steps[each][1] for each in places}
        wanted = (int, torch.Tensor) if self.trouble.error == "IndexError" else torch.Tensor
        values = {name: value for name, value in values.items() if isinstance(value, wanted)}
        shapes = any(getattr(each, "ndim", 0) > 2 or "shape" in sentences.brief(each) for each in values.values())
        told = [(name, sentences.brief(value, shapes)) for name, value in values.items()]
        return [*filter(None, [sentences.there(told[:MOST_NAMES])])]

    def words_on_mendable(self, number):
        """The sentences on an expression that would only have to give other values, and on the lines that make it."""
        turns = self.all_mendable[number]
        wrong = [k for k, rows in enumerate(zip(*turns)) if not candidates.is_close(*rows)]
        end, got, wanted = self.ends
        rows = [] if got is None or wanted is None else [entry[0] for entry in wrong_entries(got, wanted)[:1] if entry]
        same = len(self.shown.places[number]) == len(turns[0]) == len(got) if rows else False  # a turn for each row
        turn = rows[0] if same and rows[0] in wrong else wrong[0] if turns[0].shape == turns[1].shape else 0
        place = self.shown.places[number][turn]
        node = self.program.nodes[number]
        test = self.program.statement_of(node)
        if isinstance(test, ast.If) and test.test is node and turns[0].dtype is torch.bool:
            value, turn = bool(self.value_of(self.shown, place)), sentences.turn(self.when(place))
            then = (test.body if value else test.orelse or [test])[0].lineno
            words = say(
                "decides", place=place_of(self.program, test), value=value, other=not value, turn=turn, then=then
            )
            return self.with_makers(words, [place])
        relation = sentences.relation(turns[0][0], turns[1][0], "it") if len(turns[0]) == 1 else ""
        question = self.question_on_entry(place, *(each[turn] for each in turns))
        words = self.words_on_value(number, place, True, [relation] if relation else [], question)
        behind = [each for each in self.block[1] if not isinstance(self.flow.steps[each][1], int)]  # no counters
        return self.with_makers(words, [place], self.lines_behind(behind))

    def question_on_entry(self, place, own, right):
        """The question on the first wrong entry of a step's mask, or indices; "" for others."""
        value = self.value_of(self.shown, place)
        if value is None or value.shape != own.shape or own.shape != right.shape or value.dtype.is_floating_point:
            return ""
        differs, (_, got, wanted) = own != right, self.ends
        if got is not None and wanted is not None and got.shape == wanted.shape == own.shape:
            differs = differs & (got != wanted)  # others make no difference
        first = next(iter(differs.nonzero().tolist()), None)
        turn = sentences.turn(self.when(place))
        return QUESTIONS["entry_of_value"].format(value[tuple(first)].item(), first, turn) if first else ""

    def words_on_value(self, number, place, proven, seen_of_it=(), question=""):
        """The sentences on the value of an expression in a step of the call that is shown.

        question: where there is no room for a value that is proven to be wrong, if there is one.
        """
        node = self.program.nodes[number]
        statement = self.program.statement_of(node)
        seen = self.value_in_words(self.shown.steps[place][1])
        whole = node in (statement, getattr(statement, "value", None))
        where = f"`{sentences.shortened(self.program.code_of(node))}` in line {node.lineno}"
        where = place_of(self.program, statement) if whole else where
        given = [say("is" if name_of(node) else "seen", when=self.when(place), value=seen)] if seen else []
        if not proven:
            if seen and whole:  # what it works with, where that stands in the same line
                makers = {None, *self.shown.makers}  # an argument is shown already
                parts = [k for k in self.shown.operands(place) if name_of(self.shown.node(k)) in makers]
                parts = [each for each in self.named(parts) if each[1].strip("is `") != seen.strip("`")]
                values = {"values": sentences.named_values(parts)} if parts else {}
                given = [say("seen_from" if parts else "seen", when=self.when(place), value=seen, **values)]
            sizes = [each.ndim for each in self.ends[1:] if each is not None]
            returned = place == self.ends[0] and name_of(self.shown.node(self.shown.returned_step(self.trouble.part)))
            question = "returned" if returned and not self.shown.counters_at(place) else "begin"
            question = QUESTIONS[question] if given else self.question_on_names(place) or QUESTIONS["line"]
            if len({*sizes}) == 2:
                question = QUESTIONS["dropped" if sizes[0] < sizes[1] else "added"]
            return " ".join([say("begin", place=where), *given, question])
        question = not given and not seen_of_it and (question or self.question_on_names(place)) or QUESTIONS["value"]
        return " ".join([say("look_at", place=where), *given, *seen_of_it, say("proven"), question])

    def question_on_names(self, place):
        """The question on the names in a step whose value has no room beside the input; "" for none, or many."""
        node = self.shown.node(place)
        turn = sentences.turn(self.when(place))
        if isinstance(node, ast.Subscript) or fixes.called(node) in MOVING:
            kind = "dimensions" if fixes.called(node) in REGROUPING else "picked" if not fixes.called(node) else "moved"
            shape = sentences.brief(self.shown.steps[place][1], True)
            seen = say("shape", when=self.when(place), shape=shape) if "shape" in shape else ""
            return f"{seen} {QUESTIONS[kind].format(turn='' if seen else turn)}".strip()
        called = [part.func for part in ast.walk(node) if isinstance(part, ast.Call)]
        read = [part for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)]
        read = [part for part in read if part not in called and part.id != "self"]
        makers = {part.id: [self.program.nodes[each] for each in self.shown.makers_at(node, part.id)] for part in read}
        names = [k for k, made in makers.items() if not all(is_plain(self.program, each) for each in made)]
        found = self.shown.before(read, place)
        values = [None if at is None else self.shown.steps[at][1] for part, at in zip(read, found) if part.id in names]
        values = [each for each in values if not isinstance(each, torch.Tensor) or not is_uninformative(each)]
        told = [k for k in values if not isinstance(k, (torch.Tensor, float)) or self.makers.is_told(k, 1, True)]
        listed = sentences.listed([f"`{name}`" for name in names])
        if len(names) > MOST_NAMES:
            return ""
        if any(f"`{name}`" in turn for name in names):  # it is by its value that the call is told
            return f"Here,{turn.removeprefix(' when')}. {QUESTIONS['names'].format(names=listed, turn='')}"
        layer = "" if self.program.definition(node) else name_of(getattr(node, "func", None)) or ""
        unknown = told or names and name_of(node)
        known = "whole" if name_of(node) else "inputs" if layer.startswith("self.") else "parts"
        return QUESTIONS["names" if unknown else known].format(names=listed, layer=layer, turn=turn)

    def when(self, place):
        """In which turn of its loops, or in which call of its function, a step came about, in words."""
        node, runs = self.shown.node(place), self.shown.places[self.shown.steps[place][0]]
        if (turn := self.turn_of(place)) or len(runs) == 1:
            return sentences.when(turn, "")
        if any(self.program.enclosing(node, LOOPS)):
            return sentences.when([], f"iteration {runs.index(place) + 1}")
        around = next(self.program.enclosing(node, ast.FunctionDef))
        passed = {each.arg: self.shown.last(self.shown.makers_at(node, each.arg), place) for each in around.args.args}
        passed = {name: at for name, at in passed.items() if at is not None and not is_literal(self.shown.node(at))}
        given = [(name, self.shown.steps[at][1]) for name, at in passed.items()]
        given = [
            (name, self.value_in_words(value)) for name, value in given if getattr(value, "numel", int)() <= MOST_TOLD
        ]
        if told := [(name, f"is {words}") for name, words in given if words][:MOST_NAMES]:
            return sentences.when(told, "")
        calls = [k for k in self.shown.places if self.program.definition(self.program.nodes[k]) is around]
        after = min((at for k in calls for at in self.shown.places[k] if at > place), default=place)
        several = len({self.program.nodes[k].lineno for k in calls}) > 1
        run = (
            f"the call in line {self.shown.node(after).lineno}"
            if several
            else f"call {runs.index(place) + 1} of `{around.name}`"
        )
        return sentences.when(self.turn_of(after), run)

    def turn_of(self, place):
        """[(name, words)] of the loops around a step, in its turn."""
        counters = self.shown.counters_at(place).items()
        return [(name, sentences.brief(value)) for name, value in counters][:MOST_NAMES]

    def words_on_lost(self):
        """The sentences on the first step that gave nan, or infinity, where the result should have numbers; or ""."""
        end, got, wanted = self.ends
        same = got is not None and wanted is not None and got.shape == wanted.shape
        if not same or lost_in(wanted.double().abs()) or not lost_in(got.double().abs()):
            return ""
        left = lost_in(got) or "-inf"
        behind = {self.shown.steps[each][0] for each in self.shown.behind([end])}
        for place in sorted(at for number in behind for at in self.shown.places[number]):
            node, value = self.shown.node(place), self.value_of(self.shown, place)
            if isinstance(node, ast.stmt) or name_of(node) or value is None or fixes.called(node) in MOVING:
                continue
            logarithm = "log" in getattr(getattr(node, "func", None), "attr", "")
            lost = lost_in(value) or logarithm and lost_in(-value.double()) and "-inf"
            known = lost == "inf" and self.shown_known.contains_unordered(value)  # no result comes from nan
            if lost and ((value == torch.inf).all() or not known) and (lost == "nan" or "inf" not in ast.unparse(node)):
                code, turn = sentences.shortened(self.program.code_of(node)), sentences.turn(self.when(place))
                there = sentences.there(self.named(self.shown.operands(place)))
                becomes = "" if lost in ("nan", left) else f", which becomes {left},"
                what = f"{lost}{becomes}"
                words = functools.partial(say, "lost", what=what, code=code, line=node.lineno, turn=turn)
                told = f"{words(there=there)} {QUESTIONS['lost'].format(lost)}"
                return self.words_on_zeros(words(there=""), place) or self.with_makers(told, [place])
        return ""

    def words_on_zeros(self, words, lost):
        """Some sentences, and one on the exponentials that became 0 on the way to a step; "" where none did."""
        inside = [(each, self.value_of(self.shown, each)) for each in self.shown.operands(lost)]
        zero = [each for each, value in inside if value is not None and (value == 0).any()]
        for place in sorted(self.shown.behind(zero[-1:])):
            node, value = self.shown.node(place), self.value_of(self.shown, place)
            if fixes.called(node) not in ("exp", "softmax") or value is None or not (value == 0).any():
                continue
            given = [self.value_of(self.shown, each) for each in self.shown.operands(place)]
            given = [each for each in given if each is not None and each.shape == value.shape]
            if any(((value == 0) & each.isfinite()).any() for each in given):
                code, there = sentences.shortened(self.program.code_of(node)), self.named(self.shown.operands(place))
                whose = sentences.shortened(self.program.code_of(self.shown.node(zero[-1])))
                turn = sentences.turn(self.when(place))
                parts = {"whose": whose, "turn": turn, "there": sentences.there(there)}
                zeros = say("zeros", code=code, line=node.lineno, **parts)
                return self.with_makers(f"{words} {zeros} {QUESTIONS['lost'].format(0)}", [place])
        return ""

    def words_on_block(self, places):
        """The sentences on where to begin among the steps behind the result, or else on all their lines."""
        if self.result is None:
            return ""
        end, got, wanted = self.ends
        relation = sentences.relation(got, wanted, "your result")
        odd = got is not None and wanted is not None and got.shape != wanted.shape
        grown = odd and len(self.shown.places[self.shown.steps[end][0]]) > 1 and self.words_on_end()  # in several turns
        inverted = bool(relation) and got.dtype is torch.bool
        words = not inverted and self.words_on_entry() or grown or not relation and self.words_on_start(places)
        if not (words := words or self.words_on_end()):
            lines = with_code(self.program, {*self.lines_behind(places), self.flow.end().lineno})
            question = QUESTIONS["relation" if relation else "lines" if len(lines) > 1 else "line"]
            words = f"{say('cause' if len(lines) > 2 else 'look_at', place=sentences.block_of(lines))} {question}"
        return f"{relation} {words}".strip()

    def words_on_end(self):
        """The sentences on the step that made the result; "" where it is not known."""
        end, got, wanted = self.ends
        if got is not None and wanted is not None and isinstance(self.shown.node(end), ast.stmt):
            made = self.shown.makers_at(self.shown.node(end), changed_name(self.shown.node(end)))
            made = [k for k in made if isinstance(self.program.nodes[k], ast.expr)]
            end = self.shown.last(made, end) if got.shape != wanted.shape else None  # where a table got its shape
        if end is None or got is None or wanted is None:
            return ""
        number, lines = self.shown.steps[end][0], self.makers.lines(end)
        if lines and got.shape == wanted.shape and self.adds_numbers(self.shown, number, wanted):  # others make these
            begun = [k for k in self.behind_result if is_empty(self.flow.node(k))]
            lines |= {*self.lines_behind(self.behind_result)} - {*self.lines_behind(begun)}
            lines = with_code(self.program, {*lines, self.shown.node(end).lineno, self.flow.end().lineno})
            return f"{say('look_at', place=sentences.block_of(lines))} {QUESTIONS['lines']}"
        tests = self.program.enclosing(self.flow.end(), ast.If)  # under which it returns
        tests = [each.lineno for each in tests]
        if is_literal(self.shown.node(end)):  # then what counts is when it runs
            deciding = map(self.shown.node, self.shown.deciding(end))
            tests += [each.lineno for each in deciding if not is_plain(self.program, each)]
        if got.ndim > wanted.ndim:
            behind = map(self.shown.node, self.shown.behind([end]))
            tests += [node.lineno for node in behind if adds_dimension(node)]
        return self.with_makers(self.words_on_value(number, end, False), [end], tests)

    def words_on_entry(self):
        """The sentences on the turn that wrote the first wrong entry of a table that was filled; "" for others."""
        end, got, wanted = self.ends
        if not (wrong := wrong_entries(got, wanted)):
            return ""
        entry, node = tuple(wrong[0]), self.shown.node(end)
        filled = fixes.called(node) == "tensor" and name_of(node.args[0])
        if name := filled or isinstance(node, ast.stmt) and changed_name(node):
            words = self.words_on_written(name, entry, end, got)
        return name and words or self.words_on_appended(entry, node, got)

    def words_on_written(self, name, entry, end, got):
        """The same for a table with a name."""
        makings = sorted(at for number in self.shown.makers[name] for at in self.shown.places.get(number, []))
        if any(fixes.called(getattr(self.shown.node(at), "value", None)) == "append" for at in makings):
            return ""
        tables = [(at, as_table(self.shown.steps[at][1])) for at in makings if at <= end]
        tables = [(at, each.nan_to_num()) for at, each in tables if each is not None and each.shape == got.shape]
        changes = [at for (_, old), (at, new) in zip(tables, tables[1:]) if old[entry] != new[entry]]
        if not tables:
            return ""
        if changes:
            node = self.shown.node(changes[-1])
            return self.words_on_making("written", entry, changes[-1], getattr(node, "value", node))
        ends = {self.shown.node(at).lineno: at for at, _ in tables}  # of each line that writes, the last time
        first, *later = ends
        kind = "left" if len(later) == 1 else "not_written"
        words = say(kind, entry=[*entry], line=first, last=[*later, first][0])
        tests = [at for line in later for at in self.shown.deciding(ends[line])]
        tests = [at for at in tests if not is_plain(self.program, self.shown.node(at))]
        tested = [self.program.statement_of(self.shown.node(at)) for at in tests]
        lines = {part.lineno for each in tested for part in with_way_out(each)}
        lines |= {line for at in [*map(ends.get, later), *tests] for line in self.makers.lines(at)}
        lines = with_code(self.program, lines - {first})
        return f"{words}\n{say('look_at', place=sentences.lines_of(lines))}" if lines else words

    def words_on_appended(self, entry, node, got, span=(0, None), above=()):
        """The same for what became of a list, to which one entry was appended in each turn.

        span: the first step that counts, and the one before which all are. above: the place of `got` in the result.
        """
        names = {name_of(part) for part in ast.walk(node)} & {*self.shown.makers}
        made = [self.program.nodes[each] for name in names for each in self.shown.makers[name]]
        made = [each.value.args[0] for each in made if isinstance(each, ast.Expr) and each.value.func.attr == "append"]
        places = sorted(at for each in made for at in self.shown.places.get(self.program.numbers[id(each)], []))
        places = [at for at in places if at in range(len(self.shown.steps))[slice(*span)]]
        if len(names) != 1 or len(places) != len(got):
            return ""
        place, part = places[entry[0]], got[entry[0]]
        value = self.value_of(self.shown, place)
        if value is None or not is_same(value, part):
            return ""
        above, node = (*above, entry[0]), self.shown.node(place)
        span = max((at + 1 for at in places if at < place), default=0), place
        inner = part.ndim and len(entry) > 1 and self.words_on_appended(entry[1:], node, part, span, above)
        return inner or self.words_on_making("appended", above, place, node)

    def words_on_making(self, kind, entry, place, node):
        """The sentences on the step that made an entry, and on the values that it worked with."""
        parts = [node] if name_of(node) else [*locate.child_expressions(node)]
        inner = {part: [*locate.child_expressions(part)] if isinstance(part, ast.BinOp) else [part] for part in parts}
        parts = [each for found in inner.values() for each in found]
        if all(isinstance(each, ast.Constant) for each in parts):  # then what counts is where it is written
            tests = [self.shown.node(at) for at in self.shown.deciding(place)]
            tests = [each for each in tests if not is_plain(self.program, each)]
            inner = [each for each in tests if isinstance(each, (ast.Compare, ast.Call))]
            parts = [part for each in tests for part in (locate.child_expressions(each) if each in inner else [each])]
        counters = self.shown.counters_at(place)
        values = self.named(filter(None, self.shown.before(parts, place + 1)), counters)
        values = values or self.named([place], counters)
        turn, line = sentences.turn(self.when(place)), self.shown.node(place).lineno
        words = say(kind, entry=[*entry], line=line, turn=turn, there=sentences.there(values))
        question = "entry_of_several" if len(values) > 1 else "entry_of_one" if values else "entry"
        tests = []
        if entry[0] >= len(self.ends[2]):  # there are too many
            question, tests = "extra", [self.shown.node(each).lineno for each in self.shown.deciding(place)]
        return self.with_makers(f"{words} {QUESTIONS[question].format([*entry])}", [place], tests)

    def named(self, places, but=()):
        """(code, words) for the values of a few steps that a sentence has room for."""
        found = [(self.shown.node(each), sentences.brief(self.shown.steps[each][1])) for each in places]
        found = [
            (node, words)
            for node, words in found
            if "shape" not in words and not isinstance(node, (ast.List, ast.Tuple))
        ]
        named = [(self.program.code_of(node), words) for node, words in found if words and not is_literal(node)]
        return [each for each in dict.fromkeys(named) if each[0] not in but][:MOST_NAMES]

    def words_on_start(self, places):
        """The sentences on the first value, among these steps, that right answers do not make."""
        for place in sorted(places):
            node, number = self.flow.node(place), self.flow.steps[place][0]
            skipped = isinstance(node, (ast.stmt, ast.Subscript)) or name_of(node) or getattr(node, "attr", "") == "inf"
            counts = getattr(self.flow.steps[place][1], "dtype", None) is torch.int64 and not self.is_slow
            skipped = skipped or counts or fixes.called(node) in ("cat", "float")  # parts and indices may be right
            if skipped and place != self.result or not self.is_strange(self.flow, place, self.known):
                continue
            at = [k for k in self.shown.places.get(number, []) if self.is_strange(self.shown, k, self.shown_known)][:1]
            if place == self.result or not at:  # `words_on_end` says more
                return ""
            return self.with_makers(self.words_on_value(number, at[0], False), at)
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

    @property
    def shown_case(self):
        """(the exercise, the number of its call) whose input is shown."""
        return (self.small[0], 0) if self.small else (self.asking, self.number)

    def wanted_in(self, exercise, call):
        """What the result should be in a call of an exercise, as a tensor; None where it is none, and no number."""
        values = exercise.reference[call].values
        several = self.trouble.part is not None and values and isinstance(values[0], list)
        found = values[0][self.trouble.part] if several else values[0] if values else None
        return torch.as_tensor(found) if isinstance(found, (torch.Tensor, float, bool)) else None

    @functools.cached_property
    def ends(self):
        """(the step that made the result, its value, what it should be) for the input that is shown."""
        end = self.shown.result(self.trouble.part)
        return end, self.value_of(self.shown, end), self.wanted_in(*self.shown_case)

    @staticmethod
    def value_of(flow, place):
        """The value of a step as a tensor; None where it is none, and no number."""
        value = flow.steps[place][1] if place is not None else None
        return torch.as_tensor(value) if isinstance(value, (torch.Tensor, float, int)) else None

    def value_in_words(self, value):
        """A value that fits beside the input that is shown; "" for others."""
        size = value.numel() if isinstance(value, torch.Tensor) else 1
        call, words = self.small[0].calls[0] if self.small else self.call, sentences.brief(value)
        shown = call.arguments if isinstance(call, FunctionCall) else call.inputs[0]
        shows = size == 1 or differences.shows_numbers(shown)
        return words.removeprefix("is ") if shows and words[:2] == "is" else ""


def right_in(exercise, number, data, check_contract):
    """Whether what came back for one call of an exercise is right."""
    try:
        return bool(data) and not wrong_cases(exercise, [number], data, check_contract)
    except untrusted_replies.Unreadable:
        return False


def as_table(value):
    """A tensor, or a list of numbers or rows, as a tensor; None for anything else."""
    try:
        return value if isinstance(value, torch.Tensor) else torch.tensor(value)
    except (TypeError, ValueError, RuntimeError):
        return None


def wrong_entries(got, wanted):
    """The places of the wrong entries of a table that has the right columns, or more rows; [] for others."""
    sizes = [each.shape for each in (got, wanted) if each is not None and each.ndim]
    if len(sizes) < 2 or sizes[0][1:] != sizes[1][1:] or sizes[0] < sizes[1]:
        return []
    wanted = torch.cat([wanted.double(), torch.full_like(got.double(), torch.inf)[len(wanted) :]])  # too much is wrong
    return (~torch.isclose(got.double(), wanted, 1e-4, 1e-5, equal_nan=True)).nonzero().tolist()


def skips_rest(own, right, got, wanted):
    """Whether a right value is what the whole answer should give, and its own is not what the answer gives."""
    return got is not None and wanted is not None and is_same(right, wanted) and not is_same(own, got)


def adds_dimension(node):
    """Whether an expression is one that gives a tensor a dimension more."""
    return fixes.called(node) == "unsqueeze" or isinstance(node, ast.Subscript) and "None" in ast.unparse(node.slice)


def is_same(value, other):
    """Whether two tensors hold the same numbers, in the same order."""
    return candidates.is_close(value.flatten(), other.flatten())


def is_moved(value, other):
    """Whether two tensors hold the same numbers, in any order."""
    return value.shape == other.shape and is_same(value.flatten().sort()[0], other.flatten().sort()[0])


def lost_in(value):
    """ "nan" or "inf" if these are among numbers; "" otherwise."""
    return "nan" if value.isnan().any() else "inf" if (value == torch.inf).any() else ""


def always_returns(node):
    """Whether a statement is a `return`, or an `if` that returns either way."""
    ends = [node.body[-1], *node.orelse[-1:]] if isinstance(node, ast.If) else []
    return isinstance(node, ast.Return) or len(ends) == 2 and all(map(always_returns, ends))


def is_literal(node):
    """Whether an expression holds nothing but numbers, such as 1 / 2."""
    kinds = (ast.Constant, ast.operator, ast.unaryop, ast.BinOp, ast.UnaryOp)
    return all(isinstance(part, kinds) for part in ast.walk(node))
