"""What a reply and its hints say about the place and the cause of a mistake."""

import ast
import functools
import re

import torch

from course_utils.explaining import candidates, fixes, locate, sentences
from course_utils.explaining.known_values import is_uninformative
from course_utils.explaining.lines import EMPTY, MOVING, REGROUPING, Makers, is_plain, with_code, with_way_out
from course_utils.explaining.program import changed_name, changes_in_place, cuts_gradients, name_of
from course_utils.explaining.search import TURNED, Search, is_literal, is_same
from course_utils.explaining.sentences import QUESTIONS, say
from course_utils.judging import contract, differences
from course_utils.judging.calls import FunctionCall

LOOPS = (ast.For, ast.While, ast.ListComp, ast.GeneratorExp)
FILLED = ("zeros", "ones", "full", "zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full")
MOST_LINES = 3  # to look at
MOST_NAMES = 3  # names whose values are told
MOST_TOLD = 4  # numbers of an argument by which a call is told


class Words(Search):
    """A Search that puts what it finds into words."""

    @functools.cached_property
    def makers(self):
        """What finds the lines that values were made in, for the input that is shown."""
        return Makers(self.shown, self.shown_known)

    def look_at(self, statements):
        """The sentence on a few statements to look at; "" for none."""
        lines = sorted({each.lineno: self.program.code_of(each) for each in statements}.items())[:MOST_LINES]
        return say("look_at", place=sentences.places(lines)) if lines else ""

    def place_of(self, statement):
        """A statement as a sentence names it."""
        return sentences.places([(statement.lineno, self.program.code_of(statement))])

    def cause_words(self, fix):
        """The sentence on the line of a proven cause, with a question."""
        node = self.program.nodes[fix.number]
        statement = self.program.statement_of(node)
        if isinstance(node, ast.FunctionDef):
            return f"{say('cause_in', code=node.name, line=node.lineno)} {sentences.question(fix.kind, '')}"
        places = self.flow.places.get(fix.number, []) if fix.kind in TURNED else []
        if any(Makers(self.flow, self.known).lines(each) for each in places):
            lines = with_code(self.program, {*self.lines_behind(self.flow.behind([self.result])), statement.lineno})
            return f"{say(fix.kind, place=sentences.lines_of(lines))} {sentences.question(fix.kind, '')}"
        piece = self.program.code_of(node) if fix.kind == "missing transpose" else self.program.before_and_after(fix)[0]
        piece = re.sub(r"^\w+\.append\((.*)\)$", r"\1", piece)  # append itself gives None
        given = self.values_where_it_stopped() if statement.lineno == self.trouble.line else []
        question = sentences.question(fix.kind, piece)
        if isinstance(node, ast.Constant) and piece == ast.unparse(node):
            question = QUESTIONS["number"]
        if given and not (fix.kind and sentences.SLIPS.get(fix.kind, [""])[0]):  # the question of any kind
            question = QUESTIONS["error"]
        return " ".join([say("cause", place=self.place_of(statement)), *given, question])

    def place_words(self):
        """The sentences on where an answer goes wrong, with a question; "" where nothing can be told."""
        trouble = self.trouble
        kept = self.program.outer_changes()
        if trouble.line and (self.asked.check_contract or self.starts_right):  # it stopped in a later call
            kept += self.program.state_changes()
        if kept or self.is_right_anew and trouble.error != "NameError":  # changes know the usual names
            made = self.program.assignments_to([*filter(None, map(changed_name, kept))])
            return say("kept", where=self.look_at([*made, *kept]))
        if trouble.unplaced_parts:
            return self.look_at(self.program.assignments_to(trouble.unplaced_parts))
        if trouble.line:
            return self.stop_words()
        if trouble.changed:
            changes = self.program.statements(changes_in_place)
            made = self.program.assignments_to([*filter(None, map(changed_name, changes))])
            made = [each for each in made if not isinstance(each.value, (ast.List, ast.BinOp))]  # these make new ones
            return f"{self.look_at([*made, *changes])} {QUESTIONS['changed']}"
        drawn = [place for place in range(len(self.flow.steps)) if trouble.random and self.flow.is_random(place)]
        if drawn:
            return say("random", place=self.place_of(self.program.statement_of(self.flow.node(drawn[0]))))
        if trouble.gradients:
            cut = self.look_at(self.program.statements(cuts_gradients))
            return f"{cut} {sentences.question('gradients off', '')}" if cut else ""
        if trouble.breaks_contract:
            return self.look_at(self.program.state_changes())
        if contract.draws_at_random(self.asking.reference[self.number]):  # no value on the way is known
            drawn = {at for at in self.behind_result if locate.draws(self.flow.node(at))}
            after = [at for at in self.behind_result if drawn & {*self.flow.behind([at])}]
            lines = {node.lineno for node in self.program.nodes if locate.draws(node)} | {*self.lines_behind(after)}
            return say("look_at", place=sentences.lines_of(with_code(self.program, lines))) if lines else ""
        if words := self.words_on_way_out():
            return words
        if lost := self.program.statements(self.is_overwritten):
            return say("overwritten", place=self.place_of(lost[0]))
        if early := self.program.statements(self.ends_first_turn):
            return say("early_return", line=early[0].lineno, code=self.program.code_of(early[0]))
        if words := self.words_on_names() or self.words_on_same() or self.words_on_lost():
            return words
        number, places = self.block
        words = self.words_on_join()
        return words or (self.words_on_block(places) if number is None else self.words_on_mendable(number))

    def words_on_way_out(self):
        """The sentence on a condition under which an argument, or a fixed value, is returned; "" where none is."""
        end = self.shown.returned_step(self.trouble.part)
        node = None if end is None else self.shown.node(end)
        made = self.shown.makers_at(node) if name_of(node) else [None]
        ran = [self.program.nodes[each] for each in made if each in self.shown.places]
        given = (fixes.called(each) in FILLED or name_of(each) and not self.shown.makers_at(each) for each in ran)
        fixed = isinstance(node, ast.Constant) or None not in made and all(given)
        statement = self.program.statement_of(node) if fixed else None
        test = next(self.program.enclosing(statement), None)
        if not isinstance(test, ast.If) or statement not in test.body:
            return ""
        words = say("way_out", end=self.place_of(statement), place=self.place_of(test))
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

    def words_on_join(self):
        """The sentences on masks whose `&` or `|` is the result, of which each may make it wrong; "" for others."""
        end, got, wanted = self.ends
        node = None if end is None else self.shown.node(end)
        kind = type(getattr(node, "op", None))
        if kind not in (ast.BitAnd, ast.BitOr):
            return ""
        undecided = kind is ast.BitOr  # what the result should be where all of them are the opposite
        entry = next((each for each in wrong_entries(got, wanted) if bool(wanted[tuple(each)]) is undecided), None)
        sides = [node]
        while joined := [each for each in sides if isinstance(getattr(each, "op", None), kind)]:
            sides = [part for each in sides for part in ([each.left, each.right] if each in joined else [each])]
        places = zip(sides, self.shown.before(sides, end + 1))
        unsure = [side for side, at in places if self.shown.steps[self.shown.origin(at)][0] not in self.right]
        if entry is None or len(unsure) < 2:
            return ""
        values = sentences.named_values([(self.program.code_of(each), f"is {not undecided}") for each in unsure])
        words = say("joined", place=self.place_of(self.program.statement_of(node)), entry=entry, values=values)
        return self.with_makers(words, [end])

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
                statements = map(self.program.statement_of, [*others, node])  # also where the object is made
                return f"{self.look_at(statements)} {sentences.question('the same again', '')}"
        return ""

    def stop_words(self):
        """The sentences on what the line works with in which an answer stopped."""
        own = self.program.statements(lambda each: isinstance(each, ast.FunctionDef) and "return " in ast.unparse(each))
        partly = [each for each in own if isinstance(each.body[-1], ast.If) and not always_returns(each.body[-1])]
        if partly and self.trouble.error == "NoneType":
            return say("partly", code=partly[0].name, place=self.place_of(partly[0].body[-1]))
        places = self.shown.stopped(self.trouble.line)
        question = QUESTIONS.get(self.trouble.error, QUESTIONS["error"])
        return self.with_makers(" ".join([*self.values_where_it_stopped(), question]), places)

    def with_makers(self, words, places, more=(), two=False):
        """Sentences on steps, and one on the lines that made what they use, or in `more`. two: name two at least."""
        operations = [getattr(self.shown.node(each), "op", ast.MatMult()) for each in places]
        only = self.trouble.line or not all(isinstance(each, ast.MatMult) for each in operations)
        found = {line for each in places for line in self.makers.lines(each, only)}
        found = found or {line for each in places for line in self.makers.lines(each)}
        own = [self.program.statement_of(self.shown.node(each)) for each in places]  # and what a condition decides on
        loops = [loop for each in own for loop in self.program.enclosing(each, ast.For)]
        counted = {name_of(part) for each in loops for part in ast.walk(each.target)} - {None}
        if self.trouble.error == "IndexError":  # an index may have come too far
            counted &= {name_of(part) for each in own for part in ast.walk(each)}
        elif not counted & {*map(name_of, map(self.shown.node, places))}:
            loops = []
        found |= {loop.lineno for loop in loops if counted}
        inside = {part.lineno for each in own for part in ast.walk(each) if isinstance(part, ast.stmt)}
        found |= {*more} - inside
        if two and len(found) == 1:
            found |= {*self.lines_nearest(places, found | inside)[:1]}
        if not found:
            return words
        node, place = self.shown.node(places[0]), sentences.lines_of(with_code(self.program, found))
        statement = self.program.statement_of(node)
        line = (statement if node is getattr(statement, "value", None) else node).lineno
        return f"{words}\n{say('depends_on', line=line, place=place)}"

    def lines_nearest(self, places, but):
        """The lines that steps came from, nearest first, without sizes, right values and the lines in `but`."""
        nodes = map(self.shown.node, self.shown.behind(places, self.right))
        made = (self.program.statement_of(each) for each in nodes if not name_of(each))
        lines = (each.lineno for each in made if not is_plain(self.program, each))
        return [line for line in dict.fromkeys(lines) if line not in but]

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
        converted = self.shown.node(place).lineno
        while fixes.called(self.shown.node(place)) in ("from_numpy", "as_tensor"):  # what they convert is told
            place = self.shown.origin(self.shown.operands(place)[-1])
        number = self.shown.steps[place][0]
        node = self.program.nodes[number]
        test = self.program.statement_of(node)
        tested = getattr(test, "test", None)
        turned = isinstance(getattr(tested, "op", None), ast.Not) and tested.operand is node
        if isinstance(test, ast.If) and (tested is node or turned) and turns[0].dtype is torch.bool:
            value, turn = bool(self.value_of(self.shown, place)) != turned, sentences.turn(self.when(place))
            then = (test.body if value else test.orelse or [test])[0].lineno
            kind = "decides" if len(wrong) == 1 else "decides_often"
            words = say(kind, place=self.place_of(test), value=value, other=not value, turn=turn, then=then)
            return self.with_makers(words, [place])
        counts = turns[0].dtype is torch.int64  # places in another order are other places
        relation = "" if counts or len(turns[0]) > 1 else sentences.relation(turns[0][0], turns[1][0], "it")
        question = self.question_on_entry(place, *(each[turn] for each in turns))
        words = self.words_on_value(number, place, len(wrong), [relation] if relation else [], question)
        behind = [each for each in self.block[1] if not isinstance(self.flow.steps[each][1], int)]  # no counters
        return self.with_makers(words, [place], {*self.lines_behind(behind)} - {converted})

    def question_on_entry(self, place, own, right):
        """The question on the first wrong entry of a step's mask; "" for others."""
        value = self.value_of(self.shown, place)
        _, got, wanted = self.ends  # where these do not have its shape, an entry may make no difference
        shapes = {None if each is None else each.shape for each in (value, own, right, got, wanted)}
        if None in shapes or len(shapes) > 1 or value.dtype is not torch.bool:
            return ""
        first = next(iter(((own != right) & (got != wanted)).nonzero().tolist()), None)
        turn = sentences.turn(self.when(place))
        return QUESTIONS["entry_of_value"].format(value[tuple(first)].item(), first, turn) if first else ""

    def words_on_value(self, number, place, times, seen_of_it=(), question=""):
        """The sentences on the value of an expression in a step of the call that is shown.

        times: how many of its values are proven to be wrong. question: where there is no room for such a value, if
        there is one.
        """
        node = self.program.nodes[number]
        statement = self.program.statement_of(node)
        seen = self.value_in_words(self.shown.steps[place][1])
        whole = node in (statement, getattr(statement, "value", None))
        where = f"`{sentences.shortened(self.program.code_of(node))}` in line {node.lineno}"
        where = self.place_of(statement) if whole else where
        when = "There" if name_of(node) in self.shown.counters_at(place) else self.when(place)
        given = [say("is" if name_of(node) else "seen", when=when, name=name_of(node), value=seen)] if seen else []
        if not times:
            if seen and whole:  # what it works with, where that stands in the same line
                makers = {None, *self.shown.makers}  # an argument is shown already
                parts = [k for k in self.shown.operands(place) if name_of(self.shown.node(k)) in makers]
                parts = [each for each in self.named(parts) if each[1].strip("is `") != seen.strip("`")]
                values = {"values": sentences.named_values(parts)} if parts else {}
                given = [say("seen_from" if parts else "seen", when=self.when(place), value=seen, **values)]
            sizes = [each.ndim for each in self.ends[1:] if each is not None]
            returned = place == self.ends[0] and name_of(self.shown.node(self.shown.returned_step(self.trouble.part)))
            views = self.views_written_on() if returned else []
            if views:
                return f"{self.look_at(views)} {QUESTIONS['lines']}"
            question = "returned" if returned and not self.shown.counters_at(place) else "begin"
            question = QUESTIONS[question] if given else self.question_on_names(place, "line")
            if len({*sizes}) == 2 and not isinstance(getattr(statement, "targets", [None])[0], ast.Tuple):
                question = QUESTIONS["dropped" if sizes[0] < sizes[1] else "added"]
            return " ".join([say("begin", place=where), *(given or self.words_on_shape(place)), question])
        if given or seen_of_it:
            question = QUESTIONS["name" if name_of(node) else "value"]
        question = question or self.question_on_names(place, "instead")
        given = given or self.words_on_shape(place)
        proven = "proven_often" if times > 1 else "proven"
        return " ".join([say("look_at", place=where), *given, *seen_of_it, say(proven), question])

    def views_written_on(self):
        """The statements that take a part, or another shape, of what is returned, and those that write on that."""
        name = name_of(self.shown.node(self.shown.returned_step(self.trouble.part)))
        taken = [each for each in self.program.nodes if isinstance(each, ast.Assign) and only_moves(each.value)]
        taken = [each for each in taken if name in map(name_of, ast.walk(each.value))]
        names = {name_of(target) for each in taken for target in each.targets} - {None}
        written = self.program.statements(lambda each: changed_name(each) in names)
        return [*taken, *written] if written else []

    def words_on_shape(self, place):
        """[the sentence on the shape of what only moves numbers], or []."""
        shape = sentences.brief(self.shown.steps[place][1], True)
        moved = "shape" in shape and only_moves(self.shown.node(place))
        return [say("shape", when=self.when(place), shape=shape)] if moved else []

    def question_on_names(self, place, known):
        """The question on the names in a step whose value has no room beside the input; `known` for none, or many."""
        node = self.shown.node(place)
        turn = sentences.turn(self.when(place))
        if isinstance(node, ast.Compare):  # what is compared may be right
            return sentences.question("wrong comparison", "")
        if only_moves(node):
            several = getattr(self.shown.steps[place][1], "ndim", 0) > 1 and fixes.called(node) in REGROUPING
            kind = "dimensions" if several else "picked" if isinstance(node, ast.Subscript) else "moved"
            return QUESTIONS[kind].format(turn="" if self.words_on_shape(place) else turn)
        called = [part.func for part in ast.walk(node) if isinstance(part, ast.Call)]
        read = [part for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)]
        read = [part for part in read if part not in called and part.id != "self"]
        makers = {part.id: [self.program.nodes[each] for each in self.shown.makers_at(node, part.id)] for part in read}
        names = [k for k, made in makers.items() if not all(is_plain(self.program, each) for each in made)]
        found = self.shown.before(read, place)
        values = [None if at is None else self.shown.steps[at][1] for part, at in zip(read, found) if part.id in names]
        values = [each for each in values if not isinstance(each, torch.Tensor) or not is_uninformative(each)]
        told = [k for k in values if type(k) is not int and self.makers.is_told(k, 1, True)]
        listed = sentences.listed([f"`{name}`" for name in names])
        if len(names) > MOST_NAMES:
            return QUESTIONS[known].format(turn=turn)
        if any(f"`{name}`" in turn for name in names):  # it is by its value that the call is told
            return f"Here,{turn.removeprefix(' when')}. {QUESTIONS['names'].format(names=listed, turn='')}"
        layer = "" if self.program.definition(node) else name_of(getattr(node, "func", None)) or ""
        unknown = told or names and name_of(node)
        known = "whole" if name_of(node) else "inputs" if layer.startswith("self.") else known
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
        given = [(name, value) for name, value in given if getattr(value, "numel", int)() <= MOST_TOLD]
        given = [(name, self.value_in_words(value)) for name, value in given]
        if told := [(name, f"is {words}") for name, words in given if words][:MOST_NAMES]:
            return sentences.when(told, "")
        calls = [k for k in self.shown.places if self.program.definition(self.program.nodes[k]) is around]
        after = min((at for k in calls for at in self.shown.places[k] if at > place), default=place)
        run = f"call {runs.index(place) + 1} of `{around.name}`"
        if len({self.program.nodes[k].lineno for k in calls}) > 1:
            run = f"the call in line {self.shown.node(after).lineno}"
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
            if lost and (lost == "nan" or "inf" not in ast.unparse(node)):
                code, turn = sentences.shortened(self.program.code_of(node)), sentences.turn(self.when(place))
                there = sentences.there(self.named(self.shown.operands(place)))
                becomes = "" if lost in ("nan", left) else f", which becomes {left},"
                what = f"{lost}{becomes}"
                words = functools.partial(say, "lost", what=what, code=code, line=node.lineno, turn=turn)
                told = f"{words(there=there)} {QUESTIONS['lost'].format(lost)}"
                made = {self.shown.node(self.shown.origin(at)).lineno for at in self.shown.operands(place)}
                return self.words_on_zeros(words(there=""), place) or self.with_makers(
                    told, [place], made - {node.lineno}
                )
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
                zeros = say("zeros", code=code, line=node.lineno, whose=whose, turn=turn, there=sentences.there(there))
                made = map(self.shown.origin, self.shown.operands(place))
                behind = [line for each in made for line in self.makers.lines(each)]
                question = QUESTIONS["zero"].format(fixes.called(node))
                return self.with_makers(f"{words} {zeros} {question}", [place], behind)
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
            question = QUESTIONS["relation" if relation else "lines" if len(lines) > 1 else "line"].format(turn="")
            words = f"{say('cause' if len(lines) > 2 else 'look_at', place=sentences.lines_of(lines))} {question}"
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
            begun = [k for k in self.behind_result if isinstance(self.flow.node(k), EMPTY)]
            lines |= {*self.lines_behind(self.behind_result)} - {*self.lines_behind(begun)}
            lines = with_code(self.program, {*lines, self.shown.node(end).lineno, self.flow.end().lineno})
            return f"{say('look_at', place=sentences.lines_of(lines))} {QUESTIONS['lines']}"
        if words := self.words_on_kept(end):
            return words
        statement, loops = self.program.statement_of(self.shown.node(end)), (ast.For, ast.While)
        tests = [each.lineno for each in self.program.enclosing(self.flow.end(), ast.If)]  # under which it returns
        tests += self.makers.lines_of_tests(statement)
        if got.shape[:1] < wanted.shape[:1]:  # a loop may have ended too early
            behind = map(self.shown.node, self.shown.behind([end]))
            tests += [loop.lineno for node in behind for loop in self.program.enclosing(node, loops)]
        if is_literal(self.shown.node(end)):  # then what counts is when it runs
            deciding = map(self.shown.node, self.shown.deciding(end))
            tests += [each.lineno for each in deciding if not is_plain(self.program, each)]
        if got.ndim > wanted.ndim:
            behind = map(self.shown.node, self.shown.behind([end]))
            tests += [node.lineno for node in behind if adds_dimension(node)]
        return self.with_makers(self.words_on_value(number, end, 0), [end], tests, two=True)

    def words_on_kept(self, end):
        """The sentences on a number with which a name begins, and that no line of a loop has changed; "" for others."""
        node, returned = self.shown.node(end), self.shown.node(self.shown.returned_step(self.trouble.part))
        others = [self.program.nodes[k] for k in self.shown.makers_at(returned) if k not in self.shown.places]
        loops = [each for part in others for each in self.program.enclosing(part, (ast.For, ast.While, ast.If))]
        if not is_literal(node) or not loops:
            return ""
        tests = [getattr(each, "iter", getattr(each, "test", None)) for each in loops]
        tests = self.shown.before(tests, len(self.shown.steps))
        lines = {line for at in tests if at is not None for line in self.makers.lines(at)}
        lines |= {each.lineno for each in [*others, *loops]}
        place = sentences.lines_of(with_code(self.program, lines))
        return f"{say('kept_value', line=node.lineno)}\n{say('look_at', place=place)}"

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
        written = [self.shown.node(at) for at in makings if isinstance(self.shown.node(at), ast.stmt)]
        if not written or any(fixes.called(getattr(each, "value", None)) == "append" for each in written):
            return ""
        tables = [(at, as_table(self.shown.steps[at][1])) for at in makings if at <= end]
        tables = [(at, each.nan_to_num()) for at, each in tables if each is not None and each.shape == got.shape]
        changes = [at for (_, old), (at, new) in zip(tables, tables[1:]) if old[entry] != new[entry]]
        if not tables:
            return ""
        changes = changes or [at for at, _ in tables if self.index_written(at) == entry]  # it had this value already
        if changes:
            node = self.shown.node(changes[-1])
            return self.words_on_making("written", entry, changes[-1], getattr(node, "value", node))
        ends = {self.shown.node(at).lineno: at for at, _ in tables}  # of each line that writes, the last time
        first, *later = ends
        filled = fixes.called(getattr(self.program.statement_of(self.shown.node(ends[first])), "value", None)) in FILLED
        kind = "left" if len(later) == 1 and filled else "not_written"
        words = say(kind, entry=[*entry], line=first, last=[*later, first][0])
        tests = [at for line in later for at in self.shown.deciding(ends[line])]
        tests = [at for at in tests if not is_plain(self.program, self.shown.node(at))]
        tested = [self.program.statement_of(self.shown.node(at)) for at in tests]
        lines = {part.lineno for each in tested for part in with_way_out(each)}
        lines |= {line for at in [*map(ends.get, later), *tests] for line in self.makers.lines(at)}
        lines |= {*later} if kind == "not_written" else set()
        lines = with_code(self.program, lines - {first})
        return f"{words}\n{say('look_at', place=sentences.lines_of(lines))}" if lines else words

    def index_written(self, at):
        """The whole numbers at which a statement, such as `table[i, j] = 0`, writes in a step; None for others."""
        (target,) = getattr(self.shown.node(at), "targets", [None])[:1]
        index = getattr(target, "slice", None)
        places = self.shown.before(getattr(index, "elts", [index]), at) if index else [None]
        return None if None in places else tuple(self.shown.steps[each][1] for each in places)

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
        fixed = all(isinstance(each, ast.Constant) for each in parts)
        if fixed:  # then what counts is where it is written
            tests = [self.shown.node(at) for at in self.shown.deciding(place)]
            tests = [each for each in tests if not is_plain(self.program, each)]
            inner = [each for each in tests if isinstance(each, (ast.Compare, ast.Call))]
            parts = [part for each in tests for part in (locate.child_expressions(each) if each in inner else [each])]
        target = getattr(self.shown.node(place), "targets", [node])[0]  # where it writes
        names = [part for part in ast.walk(getattr(target, "slice", ast.Pass())) if name_of(part)]
        made = [[self.program.nodes[each] for each in self.shown.makers_at(part)] for part in names]
        parts += [part for part, found in zip(names, made) if not all(is_plain(self.program, each) for each in found)]
        counters = self.shown.counters_at(place)
        values = self.named(filter(None, self.shown.before(parts, place + 1)), counters)
        own = name_of(node) or not values
        values = values or self.named([place], counters)
        turn, line = sentences.turn(self.when(place)), self.shown.node(place).lineno
        words = say(kind, entry=[*entry], line=line, turn=turn, there=sentences.there(values))
        question = "entry" if fixed or not values else "entry_of_several" if len(values) > 1 else "entry_of_one"
        if question == "entry_of_one" and not (kind == "appended" and own) and "[" in values[0][1]:  # one of many
            question = "entry_of_table"
        tests = []
        if entry[0] >= len(self.ends[2]):  # there are too many
            question, tests = "extra", [self.shown.node(each).lineno for each in self.shown.deciding(place)]
        return self.with_makers(f"{words} {QUESTIONS[question].format([*entry])}", [place], tests)

    def named(self, places, but=()):
        """(code, words) for the values of a few steps that a sentence has room for."""
        found = [(self.shown.node(each), sentences.brief(self.shown.steps[each][1])) for each in places]
        found = [(node, words) for node, words in found if words and "shape" not in words and not is_literal(node)]
        found = [(node, words) for node, words in found if isinstance(node, ast.expr)]
        named = [(self.program.code_of(k), words) for k, words in found if not isinstance(k, (ast.List, ast.Tuple))]
        return [each for each in dict.fromkeys(named) if each[0] not in but][:MOST_NAMES]

    def words_on_start(self, places):
        """The sentences on the first value, among these steps, that right answers do not make."""
        for place in sorted(places):
            node, number = self.flow.node(place), self.flow.steps[place][0]
            skipped = isinstance(node, (ast.stmt, ast.Subscript)) or name_of(node) or getattr(node, "attr", "") == "inf"
            counts = getattr(self.flow.steps[place][1], "dtype", None) is torch.int64 and not self.is_slow
            skipped = skipped or counts or fixes.called(node) in ("cat", "float", "roll", "sort")  # parts may be right
            if skipped and place != self.result or not self.is_strange(self.flow, place, self.known):
                continue
            at = [k for k in self.shown.places.get(number, []) if self.is_strange(self.shown, k, self.shown_known)][:1]
            if place == self.result or not at:  # `words_on_end` says more
                return ""
            later = [line for line in self.lines_behind(self.behind_result) if line > node.lineno]
            later = sentences.lines_of(with_code(self.program, later)) if later else ""
            words = [self.words_on_value(number, at[0], 0), *([say("go_on", place=later)] if later else [])]
            return self.with_makers(" ".join(words), at, two=True)
        return ""

    def is_strange(self, flow, place, known):
        """Whether the value of a step is infinite, or one that right answers do not make."""
        value = flow.steps[place][1]
        numbers = torch.as_tensor(value if isinstance(value, (float, torch.Tensor)) else 0).double()
        if not (numbers < torch.inf).all():
            return True
        if is_uninformative(value) or flow.is_unfinished(place):
            return False
        if len(flow.places[flow.steps[place][0]]) == 1:
            return not known.contains_exact(value) or not flow.is_known(place, known)
        # of a few heads, each may be known
        parts = value.flatten(0, -3) if isinstance(value, torch.Tensor) and value.ndim > 2 else [value]
        return not all(map(known.contains_exact, parts))

    def value_in_words(self, value):
        """A value that fits beside the input that is shown; "" for others."""
        size = value.numel() if isinstance(value, torch.Tensor) else 1
        call, words = self.small[0].calls[0] if self.small else self.call, sentences.brief(value)
        shown = call.arguments if isinstance(call, FunctionCall) else call.inputs[0]
        shows = size == 1 or differences.shows_numbers(shown)
        return words.removeprefix("is ") if shows and words[:2] == "is" else ""


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


def only_moves(node):
    """Whether an expression only moves numbers: it picks some, puts some together, or gives them another shape."""
    picks = isinstance(node, ast.Subscript) and not isinstance(node.value, ast.Call) and not adds_dimension(node)
    return picks or fixes.called(node) in MOVING


def adds_dimension(node):
    """Whether an expression is one that gives a tensor a dimension more."""
    return fixes.called(node) == "unsqueeze" or isinstance(node, ast.Subscript) and "None" in ast.unparse(node.slice)


def lost_in(value):
    """ "nan" or "inf" if these are among numbers; "" otherwise."""
    return "nan" if value.isnan().any() else "inf" if (value == torch.inf).any() else ""


def always_returns(node):
    """Whether a statement is a `return`, or an `if` that returns either way."""
    ends = [node.body[-1], *node.orelse[-1:]] if isinstance(node, ast.If) else []
    return isinstance(node, ast.Return) or len(ends) == 2 and all(map(always_returns, ends))
