"""Where the values of an answer came from: of each step, the steps that its value, or its being run, depends on."""

import ast
import functools
import itertools

import torch

from course_utils.explaining.known_values import is_mask
from course_utils.explaining.program import changed_name, name_of

RANDOM_FUNCTIONS = ("rand", "randn", "rand_like", "randn_like", "bernoulli", "randperm", "multinomial", "normal")
SIZE_FUNCTIONS = ("shape", "ndim", "size", "dim", "len", "numel")


class Flow:
    """The steps of one call of an answer, and for each the steps that its value came from."""

    def __init__(self, program, steps):
        self.program, self.steps = program, steps
        self.places = {}  # number of a node -> its steps, in order
        for place, (number, _) in enumerate(self.steps):
            self.places.setdefault(number, []).append(place)
        self.makers = {}  # name -> numbers of the nodes that give it a value
        self.scopes = {}  # (name, such a number) -> the functions in which it has this value
        for number, node in enumerate(program.nodes):
            given = [(name, maker, program.scope_of(name, node)) for name, maker in makers(node)]
            for name, maker, scope in [*given, *passed_arguments(program, node)]:
                made = program.numbers[id(maker)] if maker else number
                self.makers.setdefault(name, []).append(made)
                self.scopes.setdefault((name, made), []).append(scope)

    def node(self, place):
        """The expression or statement whose step this is."""
        return self.program.nodes[self.steps[place][0]]

    def makers_at(self, node, name=None):
        """The numbers of the nodes that give a name its value where a node stands; the name, if not the node's."""
        name = name or name_of(node)
        scope = self.program.scope_of(name, node)
        return [number for number in self.makers.get(name, []) if scope in self.scopes[name, number]]

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
        names = [part for each in loops for part in ast.walk(each.target) if (name_of(part) or "_") != "_"]
        found = {}
        for part in names:
            at = self.last([self.program.numbers[id(part)]], place + 1)
            if at is not None and type(self.steps[at][1]) is int:
                found.setdefault(name_of(part), self.steps[at][1])
        return found

    def deciding(self, place):
        """The steps that decide whether, and how often, a statement runs: what is around it, and ways out before it."""
        statement = self.program.statement_of(self.node(place))
        around = self.program.enclosing(statement, (ast.For, ast.While, ast.FunctionDef))
        tests = [getattr(each, "test", getattr(each, "iter", None)) for each in self.program.enclosing(statement)]
        tests = [each for each in tests if each]
        tests += [test for each in around for test in leaving(each) if test.lineno < statement.lineno]
        return [each for each in self.before(tests, place) if each is not None]

    def operands(self, place):
        """The steps that the value of a step came from."""
        node = self.node(place)
        if isinstance(node, ast.Call) and (own := self.program.definition(node)):
            found = [self.last(self.returned(own), place)]
        elif name := name_of(node):
            found = [self.last(self.makers_at(node), place)]
            found += self.written_through(found[0], place)
            if found[0] is not None and isinstance(self.node(found[0]), ast.Constant):  # set in many turns: the first
                found = self.places[self.steps[found[0]][0]][:1]
        else:
            children = node.value if isinstance(node, ast.Expr) else node
            lazy = isinstance(node, ast.GeneratorExp)  # what it gives is made when somebody asks for it
            found = self.before(child_expressions(children), len(self.steps) if lazy else place)
            if isinstance(node, ast.Assign):  # where it puts its value
                names = (part for target in node.targets for part in ast.walk(target) if name_of(part))
                found += self.before(names, place)
            if isinstance(node, ast.stmt) and (name := changed_name(node)):
                found.append(self.last(self.makers_at(node, name), place))
        return [each for each in found if each is not None]

    def is_known(self, place, known):
        """Whether the value of a step is known: for a table that is being filled, number by number."""
        node, value = self.node(place), self.steps[place][1]
        if self.is_random(place):
            return True
        if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
            return True
        if isinstance(node, ast.Assign) and isinstance(value, torch.Tensor) and value.numel():
            return all(map(known.is_entry, value.double().unique().tolist()))
        return known.contains_unordered(value)

    def is_random(self, place):
        """Whether a step draws random numbers, which are new each time."""
        return draws(self.node(self.origin(place)), RANDOM_FUNCTIONS)

    def written_through(self, made, place):
        """The last step after one that wrote on what it shows a part of, and before another; in a list, or []."""
        node = self.node(made) if made is not None else None
        if not isinstance(node, (ast.Subscript, ast.Attribute, ast.Call)):
            return []
        names = {name_of(part) for part in ast.walk(node)}
        makers = [number for name in names - {None} for number in self.makers_at(node, name)]
        at = self.last([number for number in makers if isinstance(self.program.nodes[number], ast.stmt)], place)
        return [at] if at is not None and at > made else []

    def lines_through(self, name):
        """The lines that change what a name holds through the name of a loop over it, as in `for row in rows:`."""
        loops = [each for each in self.program.nodes if isinstance(each, ast.For) and name_of(each.iter) == name]
        parts = [(part, name_of(each.target)) for each in loops for part in ast.walk(each)]
        return {part.lineno for part, row in parts if isinstance(part, ast.stmt) and changed_name(part) == row}

    def behind(self, ends, right=()):
        """The steps behind some, and these, nearest first; nothing behind expressions with the numbers in `right`."""
        found, waiting = {}, list(ends)
        while waiting:
            place = waiting.pop(0)
            if place in found or place not in ends and self.steps[place][0] in right:
                continue
            found[place] = True
            waiting += [*self.operands(place), *self.layer(place), *self.deciding(place)]
        return list(found)

    def is_unfinished(self, place):
        """Whether a loop goes on adding to what this step gives, or a later line writes on the mask that it gives."""
        number, value = self.steps[place]
        if self.is_read_to_grow(self.program.nodes[number]):
            return True
        name = self.grown_name(number)
        if name is None and not (isinstance(value, torch.Tensor) and is_mask(value)):
            return False
        names = [name] if name else self.names_made_by(number)
        later = [(at, n) for each in names for n in self.makers[each] for at in self.places.get(n, []) if at > place]
        following = min(later)[1] if later else None
        written_on = following is not None and changed_name(self.program.nodes[following])
        return following == number or not name and bool(written_on)

    def is_read_to_grow(self, node):
        """Whether an expression reads what a loop is filling, in the statement that fills it."""
        statement = self.program.statement_of(node)
        if node is statement or not any(self.program.enclosing(node, (ast.For, ast.While))):
            return False
        names = {changed_name(statement), *map(name_of, getattr(statement, "targets", []))} - {None}
        return bool(names & {*map(name_of, ast.walk(node))})

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

    def layer(self, place):
        """The step that made the layer that a step calls, or what the function returns that it hands on; in a list."""
        node = self.node(place)
        name = name_of(node.func) if isinstance(node, ast.Call) else None
        found = [self.last(self.makers_at(node.func), place)] if name else []
        own = [each for each in self.program.nodes if isinstance(each, ast.FunctionDef) and each.name == name_of(node)]
        found += [at for each in own for number in self.returned(each) for at in self.places.get(number, [])]
        return [each for each in found if each is not None]

    def returned_step(self, part=None):
        """The last step of what an answer returned, or of its value `part` if it returned several; None for no step."""
        place = self.last(self.returned(self.program.tree), len(self.steps))
        node = self.node(place) if place is not None else None
        if part is not None and isinstance(node, ast.Tuple) and len(node.elts) > part:
            return self.last([self.program.numbers[id(node.elts[part])]], place)
        return place

    def result(self, part=None):
        """The step that made what an answer returned; None for no step."""
        place = self.returned_step(part)
        return None if place is None else self.origin(place)

    def end(self):
        """The `return` that ran."""
        return self.program.statement_of(self.node(self.last(self.returned(self.program.tree), len(self.steps))))

    def returned(self, within):
        """The numbers of the values that functions return."""
        returns = [node.value for node in ast.walk(within) if isinstance(node, ast.Return) and node.value]
        return [self.program.numbers[id(value)] for value in returns]


def draws(node, functions=(*RANDOM_FUNCTIONS, "dropout", "drop")):
    """Whether an expression is a call that draws random numbers."""
    return isinstance(node, ast.Call) and getattr(node.func, "attr", "") in functions


def asks_for_size(node):
    """Whether an expression asks for a size."""
    node = node.value if isinstance(node, ast.Subscript) else node
    asked = node.func if isinstance(node, ast.Call) else node
    return getattr(asked, "attr", getattr(asked, "id", "") if isinstance(node, ast.Call) else "") in SIZE_FUNCTIONS


@functools.lru_cache(maxsize=64)  # asked again for each step
def leaving(loop):
    """The tests under which a loop is left, or a turn of it."""
    tests = [each for each in ast.walk(loop) if isinstance(each, ast.If)]
    loops = [part for part in ast.walk(loop) if isinstance(part, (ast.For, ast.While)) and part is not loop]
    inner = [each for part in loops for each in ast.walk(part)]
    found = [each for each in tests if isinstance(each.body[-1], (ast.Break, ast.Continue, ast.Return))]
    return [each.test for each in found if isinstance(each.body[-1], ast.Return) or each not in inner]


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
    if isinstance(node, ast.stmt) and (name := changed_name(node)) and name != "self":
        yield name, None


def passed_arguments(program, node):
    """(name of an argument, the expression that gives it its value, the function) for a call of one of the program."""
    own = program.definition(node) if isinstance(node, ast.Call) else None
    if own:
        names = [each.arg for each in own.args.args if each.arg != "self"]
        yield from ((name, value, own) for name, value in zip(names, node.args))
        yield from ((keyword.arg, keyword.value, own) for keyword in node.keywords if keyword.arg in names)


def child_expressions(node):
    """The expressions right below a node, those of an argument or a slice included."""
    for child in ast.iter_child_nodes(node):
        around = isinstance(child, (ast.keyword, ast.Slice, ast.comprehension, ast.Starred))
        if around or isinstance(node, ast.Call) and child is node.func:  # of `x.softmax()` it is x
            yield from child_expressions(child)
        elif isinstance(child, ast.expr):
            yield child
