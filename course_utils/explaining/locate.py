"""Where an answer leaves the path: the first value, against the flow of the data, that no right answer makes.

Right answers, watched on the same call, give the known values. From the wrong result one goes back: a value that is not
known came from operands; where all of those are known, that step is the one to look at. What leads back to known values
is never reported, however unusual it is. But a known value may stand where another belongs: an operand whose numbers
right answers do not make as it stands, or which they never put together with the others, is doubtful.
"""

import ast
import itertools

import torch

from course_utils.explaining.known_values import is_distinctive, is_mask, is_uninformative
from course_utils.explaining.program import changed_name, name_of

RANDOM_FUNCTIONS = ("rand", "randn", "rand_like", "randn_like", "bernoulli", "randperm")
TENSORS = (torch.Tensor, float)  # a float may have been an array without dimensions
SIZE_FUNCTIONS = ("shape", "ndim", "size", "dim", "len", "numel")


class Flow:
    """The steps of one call of an answer, and for each the steps that its value came from."""

    def __init__(self, program, steps):
        self.program, self.steps, self.cached_operands = program, steps, {}
        self.places = {}  # number of a node -> its steps, in order
        for place, (number, *_) in enumerate(self.steps):
            self.places.setdefault(number, []).append(place)
        self.makers = {}  # name -> numbers of the nodes that give it a value
        for number, node in enumerate(program.nodes):
            for name, maker in [*makers(node), *passed_arguments(program, node)]:
                self.makers.setdefault(name, []).append(program.numbers[id(maker)] if maker else number)

    def node(self, place):
        """The expression or statement whose step this is."""
        return self.program.nodes[self.steps[place][0]]

    def last(self, numbers, before):
        """The last step of one of these nodes before a step, or None."""
        found = [place for number in numbers for place in self.places.get(number, []) if place < before]
        return max(found, default=None)

    def before(self, nodes, place):
        """The last step of each of these nodes before a step, or None."""
        return [self.last([self.program.numbers[id(node)]], place) for node in nodes]

    def counters_at(self, place):
        """{name: whole number} of the names in a statement of a loop, in the turn of a step."""
        statement = self.program.statement_of(self.node(place))
        loops = list(self.program.enclosing(statement, ast.For))[::-1]
        names = [part for each in loops for part in ast.walk(each.target) if name_of(part)]
        found = {}
        for part in names:
            at = self.last([self.program.numbers[id(part)]], place + 1)
            if at is not None and type(self.steps[at][1]) is int:
                found.setdefault(name_of(part), self.steps[at][1])
        return found

    def made_inside(self, loops, parts):
        """The names among these that stand for whole numbers made in these loops."""
        names = [part for part in parts if loops and name_of(part)]
        read = [(part, self.places.get(self.program.numbers[id(part)])) for part in names]
        made = [(part, self.origin(places[0])) for part, places in read if places]
        return [
            part
            for part, at in made
            if type(self.steps[at][1]) is int and any(loop in self.program.enclosing(self.node(at)) for loop in loops)
        ]

    def decisions(self, place):
        """The steps that decide with which index, and whether, a statement runs: in its loop, and its conditions."""
        statement = self.program.statement_of(self.node(place))
        loops = list(self.program.enclosing(statement, (ast.For, ast.While)))
        turn = [each.iter for each in loops[: isinstance(self.node(place), ast.stmt)] if isinstance(each, ast.For)]
        numbers = self.made_inside(loops, [*ast.walk(statement), *(part for each in turn for part in ast.walk(each))])
        tests = [*self.program.around(statement, "test"), *(each for loop in loops for each in leaving(loop))]
        made = [self.origin(each) for each in self.before(numbers, place + 1) if each is not None]
        return made + [each for each in self.before([*tests, *turn], place) if each is not None]

    def operands(self, place):
        """The steps that the value of a step came from."""
        number, *_ = self.steps[place]
        node = self.program.nodes[number]
        if isinstance(node, ast.Constant):
            found = self.before(self.program.around(node, "test"), place)
        elif isinstance(node, ast.Call) and (own := self.program.definition(node)):
            found = [self.last(self.returned(own), place)]
        elif name := name_of(node):
            found = [self.last(self.makers.get(name, []), place)]
            if found[0] is not None and isinstance(self.node(found[0]), ast.Constant):  # set in many turns: the first
                found = self.places[self.steps[found[0]][0]][:1]
        else:
            children = node.value if isinstance(node, ast.Expr) else node
            found = self.before(child_expressions(children), place)
            if isinstance(node, ast.Assign):  # where it puts its value
                names = (part for target in node.targets for part in ast.walk(target) if name_of(part))
                found += self.before(names, place)
            if isinstance(node, ast.stmt) and (name := changed_name(node)):
                found.append(self.last(self.makers.get(name, []), place))
                found += self.before(self.program.around(node, "test"), place)
                found += self.before(self.program.around(node, "iter"), place)
        return [each for each in found if each is not None]

    def is_known(self, place, known):
        """Whether the value of a step is known: for a table that is being filled, number by number."""
        number, value, _ = self.steps[place]
        node = self.program.nodes[number]
        if self.is_random(place):
            return True
        if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
            return True
        if isinstance(node, ast.Assign) and isinstance(value, torch.Tensor) and value.numel():
            return all(map(known.is_entry, value.double().unique().tolist()))
        return known.contains_unordered(value)

    def is_random(self, place):
        """Whether a step draws random numbers, which are new each time."""
        node = self.node(self.origin(place))
        return isinstance(node, ast.Call) and getattr(node.func, "attr", "") in RANDOM_FUNCTIONS

    def is_size(self, place):
        """Whether a step asks for a size: what a tensor holds plays no part in it."""
        node = self.node(place)
        asked = node.func if isinstance(node, ast.Call) else node
        return getattr(asked, "attr", getattr(asked, "id", "") if isinstance(node, ast.Call) else "") in SIZE_FUNCTIONS

    def distinctive_operands(self, place):
        """The operands of a step. In place of one that tells nothing, such as True or a half-filled list, those of it.

        Kept: in a loop, one step may lead to another a thousand times.
        """
        if place not in self.cached_operands:
            found, seen, waiting = [], set(), [] if self.is_size(place) else self.operands(place)
            while waiting:
                each = waiting.pop(0)
                if each not in seen:
                    seen.add(each)
                    telling = is_distinctive(self.steps[each][1]) and not self.is_unfinished(each)
                    found += [each] if telling else []
                    waiting += [] if telling or self.is_size(each) else self.operands(each)
            self.cached_operands[place] = found
        return self.cached_operands[place]

    def distinctive_among(self, places):
        """These steps; in the place of those that tell nothing, the steps behind them."""
        found = ([each] if is_distinctive(self.steps[each][1]) else self.distinctive_operands(each) for each in places)
        return list(dict.fromkeys(itertools.chain.from_iterable(found)))

    def is_unfinished(self, place):
        """Whether a loop goes on adding to what this step gives, or a later line writes on the mask that it gives."""
        number, value, _ = self.steps[place]
        name = self.grown_name(number)
        if name is None and not (isinstance(value, torch.Tensor) and is_mask(value)):
            return False
        names = [name] if name else self.names_made_by(number)
        later = [(at, n) for each in names for n in self.makers[each] for at in self.places.get(n, []) if at > place]
        following = min(later)[1] if later else None
        written_on = following is not None and changed_name(self.program.nodes[following])
        return following == number or not name and bool(written_on)

    def grown_name(self, number):
        """The name of what a node adds to or fills; None for other nodes."""
        node = self.program.nodes[number]
        if isinstance(node, ast.stmt):
            return changed_name(node)
        names = self.names_made_by(number) if isinstance(self.program.parents[id(node)], ast.Assign) else []
        return next((each for each in names if any(name_of(part) == each for part in ast.walk(node))), None)

    def names_made_by(self, number):
        """The names that a node gives a value to."""
        return [name for name, made in self.makers.items() if number in made]

    def doubtful(self, places, known):
        """The steps behind these, whose values are known, at which something may be wrong that does not show.

        These are, nearest first, all values that right answers do not make as whole tensors: parts, another order or
        shape, and what is not distinctive: slices, layers, zeros, masks, random numbers; sizes last.
        """
        found, waiting = [], list(places)
        while waiting:
            place = self.origin(waiting.pop(0))
            value = self.steps[place][1]
            decimals = isinstance(value, torch.Tensor) and value.is_floating_point()
            right = decimals and known.contains_exact(value) and not is_uninformative(value)
            if place not in found and (self.is_random(place) or not right):
                found.append(place)
                waiting += [] if self.is_size(place) else self.operands_and_layer(place)
        return sorted(found, key=lambda place: type(self.steps[place][1]) in (int, list) or self.is_size(place))

    def operands_and_layer(self, place):
        """The operands of a step, and what made the layer that it calls."""
        return [*self.operands(place), *self.layer(place)]

    def stopped(self, line):
        """The last steps of an answer, in the line in which it stopped, whose values were not used any more."""
        last = itertools.takewhile(lambda place: self.node(place).lineno == line, reversed(range(len(self.steps))))
        last = list(last)[::-1]
        used = {each for place in last for each in self.operands(place)}
        return [place for place in last if place not in used]

    def origin(self, place):
        """The step that made a value, or gave it another name; a name only refers to one."""
        while name_of(self.node(place)) and not self.is_renamed(self.node(place)) and (made := self.operands(place)):
            place = made[0]
        return place

    def is_renamed(self, node):
        """Whether an expression is a name that gets another one, as `b` in `a = b`."""
        parent = self.program.parents.get(id(node))
        return bool(name_of(node)) and isinstance(parent, ast.Assign) and all(map(name_of, parent.targets))

    def source_of(self, place, quality):
        """The step at which a value got a quality that it has, such as its shape."""
        wanted = quality(self.steps[place][1])
        while True:
            values = [(each, self.steps[each][1]) for each in map(self.origin, self.operands(place))]
            tensors = [(each, torch.as_tensor(value)) for each, value in values if isinstance(value, TENSORS)]
            place, before = next((each for each, value in tensors if quality(value) == wanted), None), place
            if place is None:
                return before

    def path_to(self, end):
        """The steps that led to one, and that one, in order."""
        found, waiting = set(), [end]
        while waiting:
            place = waiting.pop()
            if place is not None and place not in found:
                found.add(place)
                waiting += self.operands(place)
        return sorted(found)

    def layer(self, place):
        """The step that made the layer that a step calls, in a list; [] for other steps."""
        node = self.node(place)
        name = name_of(node.func) if isinstance(node, ast.Call) else None
        source = self.last(self.makers.get(name, []), place) if name else None
        return [] if source is None else [source]

    def result(self, part=None):
        """The last step whose value an answer returned; None for no step.

        part: the place of a value among several that are returned together.
        """
        place = self.last(self.returned(self.program.tree), len(self.steps))
        node = self.node(place) if place is not None else None
        if part is not None and isinstance(node, ast.Tuple) and len(node.elts) > part:
            place = self.last([self.program.numbers[id(node.elts[part])]], place)
        return None if place is None else self.origin(place)

    def returned(self, within):
        """The numbers of the values that functions return."""
        returns = [node.value for node in ast.walk(within) if isinstance(node, ast.Return) and node.value]
        return [self.program.numbers[id(value)] for value in returns]


def leaving(loop):
    """The tests under which a loop is left, or a turn of it."""
    tests = [each for each in ast.walk(loop) if isinstance(each, ast.If)]
    return [each.test for each in tests if isinstance(each.body[-1], (ast.Break, ast.Continue))]


def makers(node):
    """(name, the expression that gives it its value, or None for the statement itself) for what a node sets."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            several = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
            apart = len(getattr(node.value, "elts", ())) == len(several) > 1
            for part, value in zip(several, node.value.elts if apart else [node.value] * len(several)):
                if name := name_of(part):
                    yield name, value
    for loop in [node] if isinstance(node, ast.For) else getattr(node, "generators", []):
        for part in loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target]:
            if name := name_of(part):
                yield name, loop.iter
    if isinstance(node, ast.stmt) and (name := changed_name(node)):
        yield name, None


def passed_arguments(program, node):
    """(name of an argument, the expression that gives it its value) where a program calls a function of its own."""
    own = program.definition(node) if isinstance(node, ast.Call) else None
    if own:
        names = [each.arg for each in own.args.args if each.arg != "self"]
        yield from zip(names, node.args)
        yield from ((keyword.arg, keyword.value) for keyword in node.keywords if keyword.arg in names)


def child_expressions(node):
    """The expressions right below a node, those of an argument or a slice included."""
    for child in ast.iter_child_nodes(node):
        if (
            isinstance(node, ast.Call)
            and child is node.func
            or isinstance(child, (ast.keyword, ast.Slice, ast.comprehension, ast.Starred))
        ):  # of `x.softmax()` it is x
            yield from child_expressions(child)
        elif isinstance(child, ast.expr):
            yield child


def first_unknown(flow, starts, known):
    """The steps, first to last, whose values are not known while those they came from are."""
    found = []
    for place in first_failing(flow, starts, lambda place: flow.is_known(place, known)):
        decided = isinstance(flow.node(place), ast.Constant) and flow.operands(place)
        found.append(decided[0] if decided else place)
    return sorted(found)


def reorderings(flow, starts, known):
    """The steps at which known numbers got an order or a shape that is not known."""
    found = first_failing(
        flow, starts, lambda place: flow.is_random(place) or known.contains_exact(flow.steps[place][1])
    )
    return [flow.origin(place) for place in found]


def first_failing(flow, starts, holds):
    """The first steps, on the way to these, for which `holds` is false."""
    found, seen, waiting = [], set(), list(starts)
    while waiting:
        place = waiting.pop()
        if place in seen:
            continue
        seen.add(place)
        ceased = [each for each in flow.distinctive_operands(place) if not holds(each)]
        waiting += ceased
        if not ceased:
            found.append(place)
    return found


def makes_something(flow, place):
    """Whether a step is more than a number, an empty list, or a name that gives its value no other name."""
    node = flow.node(place)
    bare = isinstance(node, (ast.Constant, ast.Name)) or isinstance(node, ast.List) and not node.elts
    return flow.is_renamed(node) or not bare


def places_of(trouble, flow, known):
    """The steps to look at, the first of which is named."""
    if trouble.breaks_contract:
        return []
    if trouble.line:
        starts = [each for each in flow.distinctive_among(flow.stopped(trouble.line)) if not flow.is_known(each, known)]
    else:
        starts = [each for each in [flow.result(trouble.part)] if each is not None]
    whole = all(is_distinctive(flow.steps[each][1]) and flow.is_known(each, known) for each in starts)
    find = reorderings if whole else first_unknown
    places, ends = (
        [place for place in map(flow.origin, found) if makes_something(flow, place)]
        for found in (find(flow, starts, known), starts)
    )
    return places or ends
