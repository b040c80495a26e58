"""Why an answer is wrong, found out and not looked up: one change that makes it right, or where it leaves the path.

No mistake has to be known for this. Changes are tried out on the answer itself; the path is that of right answers.
"""

import ast
from dataclasses import dataclass, replace

import torch

from course_utils.explaining import locate, slips
from course_utils.explaining.known import Known, says_nothing
from course_utils.explaining.program import Slip, name_of, program_of, watched
from course_utils.judging import comparing, life, replies
from course_utils.judging.calls import FunctionCall
from course_utils.judging.judge import changed_arguments, judge, later_trouble, wrong_cases
from course_utils.judging.result import NOT_YET, RIGHT

MOST_TRIED, MOST_TRIED_LAYERS = 800, 300  # changes; a layer takes longer, and its later life again
MOST_RIGHT = 5  # changes that make one call right and are tried in all calls
MOST_MENDED, LARGEST_MENDED = 200, 400  # values tried in the place of others, and their numbers
MOST_BESIDE = 3  # places named besides the first
LONGEST = 140  # characters of a piece of code in a sentence


class Here:
    """Runs an answer in this process, once more."""

    def __init__(self, program):
        self.program = program

    def watch(self, call):
        """The steps of one call, as `watched` gives them."""
        return watched(self.program, call)

    def attempt(self, changes, calls):
        """For each slip, what the answer without it replies to the calls."""
        return self.program.replies_without(changes, calls)


def explained_here(exercise, answer, data, result):
    """`explained`, for an answer in this process."""
    if result.status != NOT_YET:
        return result
    program = program_of(answer, exercise.name)
    return explained(exercise, program, Here(program), data, result)


def explained(exercise, program, runner, data, result):
    """The result of a wrong answer, with a sentence on the change or the place where one can be found.

    program: the answer's Program; None where its text cannot be had. runner: runs the answer again, as `Here` does.
    data: what the answer replied, as it came back.
    """
    try:
        known_ways = program and not exercise.free
        return with_explanation(exercise, program, runner, data, result) if known_ways else result
    except Exception:  # a sentence more is no reason to lose the result: what a stranger's code can do has no end
        return result


def with_explanation(exercise, program, runner, data, result):
    """The same; may raise whatever looking into a stranger's code may raise."""
    number, trouble = first_trouble(exercise, data)
    if number is None:  # right in each call by itself: the trouble lies between them
        return result
    call = exercise.calls[number]
    flow = locate.Flow(program, replies.steps(runner.watch(replace(call, later=trouble.gradients)), len(program.nodes)))
    places = places_of(trouble, flow, exercise.known(number))
    as_it_is = Slip(0, ast.unparse(program.nodes[0]), "")
    asked = call if trouble.later else replace(call, later=False)
    if trouble.line and is_right(exercise, number, *runner.attempt([as_it_is], [asked]), False):  # it stops later
        asked = call
    most = MOST_TRIED if isinstance(call, FunctionCall) else MOST_TRIED_LAYERS // (2 if asked.later else 1)
    tried = list(candidates(program, flow, places, trouble.line))[:most]
    attempts = zip([as_it_is, *tried], runner.attempt([as_it_is, *tried], [asked]))
    good = [slip for slip, found in attempts if is_right(exercise, number, found, asked.later)]
    if as_it_is in good:  # right once it is made anew, as with a name that was not defined: no change proves anything
        return result
    good.sort(key=lambda slip: (trouble.changed and slip.kind != "changed in place", *growth(program, slip)))
    for slip, found in zip(good[:MOST_RIGHT], runner.attempt(good[:MOST_RIGHT], exercise.calls)):
        if judge(exercise, found).status == RIGHT:
            return replace(result, message=f"{with_change(program, slip)} {result.message}", mistake=slip.kind)
    if trouble.unplaced:
        sentence = with_making(program, trouble.unplaced)
    elif trouble.line:
        sentence = with_stop(flow, trouble.line, places, exercise.known(number))
    elif trouble.changed:
        sentence = with_writing(program)
    elif places:
        sentence = with_place(flow, places[0], trouble, exercise.known(number))
        tried = [] if trouble.later else list(mended(flow, exercise.known(number), exercise.reference[number].values))
        tried = tried[: MOST_MENDED // (1 if isinstance(call, FunctionCall) else 2)]
        answers = zip(tried, runner.attempt(tried, [replace(call, later=False)]))
        good = (slip for slip, found in answers if is_right(exercise, number, found, False))
        if slip := next(good, None):
            sentence = with_mended(program.nodes[slip.number], flow.node(places[0]), sentence)
    else:
        sentence = with_return(flow, call, trouble)
    return replace(result, message=f"{result.message} {sentence}".rstrip())


def growth(program, slip):
    """Whether a change goes through a definition, and by how many characters, in fours, it makes a program longer.

    A place is better than none, and what only makes up for a slip is long.
    """
    node = program.nodes[slip.number]
    return isinstance(node, (ast.FunctionDef, ast.ClassDef)), int((len(slip.new) - len(ast.unparse(node))) / 4)


@dataclass(frozen=True)
class Trouble:
    """What is wrong in the first call that goes wrong: stopped in this line (or 0); later: with right values.

    changed: an argument was. gradients: because none come back. unplaced: parts of a layer in which weights found no
    place. part: the place of the wrong value where several are returned, or None.
    """

    line: int = 0
    later: bool = False
    changed: bool = False
    gradients: bool = False
    unplaced: tuple[str, ...] = ()
    part: int | None = None


def first_trouble(exercise, data):
    """(number of the call that is looked into, its Trouble); (None, None) where no call by itself is wrong.

    It is the first that stopped, or else the first that went wrong, as for what is said to have been seen.
    """
    wrong = {number: wrong_cases(exercise, [number], [reply]) for number, reply in enumerate(data)}
    stopped = [number for number, cases in wrong.items() if cases and cases[0].error]
    for number in [*stopped, *(number for number, cases in wrong.items() if cases)]:
        case = wrong[number][0]
        line = case.reply.error.line if case.reply.error else 0
        later = not line and case.value is not None and case.problem in (changed_arguments(case), later_trouble(case))
        gradients = later and bool(life.gradients(case.call, case.reply, case.reference))
        changed = later and case.problem == changed_arguments(case)
        unplaced = tuple(name.partition(".")[0] for name in case.reply.unplaced)
        return number, Trouble(line, later, changed, gradients, unplaced, wrong_part(case))
    return None, None


def wrong_part(case):
    """The place of the first wrong value of several, or None."""
    if isinstance(case.value, list) and isinstance(case.want, (list, tuple)) and len(case.value) == len(case.want):
        pairs = enumerate(zip(case.want, case.value))
        return next((k for k, (wanted, found) in pairs if comparing.problem(wanted, found)), None)
    return None


def places_of(trouble, flow, known):
    """The steps to look at, the first of which is named."""
    if trouble.later:
        return locate.cuts(flow) if trouble.gradients else []
    if trouble.line:
        starts = [each for each in flow.that_tell(flow.stopped(trouble.line)) if not flow.is_known(each, known)]
    else:
        starts = [each for each in [flow.result(trouble.part)] if each is not None]
    look = locate.turns if all(flow.is_known(each, known) for each in starts) else locate.departures
    places, ends = (
        [place for place in map(flow.origin, found) if not isinstance(flow.node(place), (ast.Constant, ast.Name))]
        for found in (look(flow, starts, known), starts)
    )
    return places or ends


def with_change(program, slip):
    """The sentence on a change that makes everything right."""
    node = program.nodes[slip.number]
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return f"In `{node.name}`: {slip.kind}. With that changed, and nothing else, everything comes out right."
    old, new = map(shortened, program.before_and_after(slip))
    if old == new:  # lines were only moved
        return f"Line {node.lineno}: {slip.kind}. With that changed, and nothing else, everything comes out right."
    return f"Line {node.lineno}: with `{new}` in the place of `{old}`, everything comes out right."


def with_place(flow, place, trouble, known):
    """The sentence on the step where an answer leaves the path, and on what shows there neither right nor wrong."""
    number, value, _ = flow.steps[place]
    node = flow.program.nodes[number]
    where = f"Line {node.lineno}, `{shortened(ast.unparse(node))}`,"
    if trouble.gradients:
        return f"{where} is where gradients get lost: what it is made of still has them."
    turned = flow.is_known(place, known) and not known.has_as_it_is(value)
    doubtful = [*map(flow.node, flow.doubtful(flow.behind(place), known)), *flow.used(place)]
    if flow.is_known(place, known):
        doubtful += flow.picks(node)
    others = beside(flow.program, doubtful, node.lineno)
    more = f"; look from there on, and at {' and '.join(others)}, whose value alone does not tell whether it is right."
    more = more if others else "."
    end = flow.ending()
    rest = f"from there to line {end.lineno}, `{shortened(ast.unparse(end))}`," if end else "after it"
    rest = f"{rest if end and end.lineno != node.lineno else 'after it'} a step is missing or wrong"
    if value is not None and says_nothing(value):
        return (
            f"{where} comes to this{looks(value)}, which does not tell whether the slip is there, before or after{more}"
        )
    if not flow.is_known(place, known):
        made = f"{where} gives the first value that no solution known here makes{looks(value)}"
        return made + (more if others else "; what it is made of, they make: look there, and after it.")
    if not turned:
        made = f"{where} gives what solutions known here make on their way{looks(value)}"
        return f"{made}: {rest}, or it is not what is asked for{more}"
    return f"{where} has numbers that solutions known here make, but not in this order or shape{looks(value)}{more}"


def mended(flow, known, wanted):
    """Slips that put values of right answers in the place of each value on the way to the result, first to last.

    wanted: what the result should be, which proves nothing.
    """
    final = Known(wanted)
    values = [value for value in known.values if value.numel() <= LARGEST_MENDED and not final.has(value)]
    for place in flow.way(flow.result()):
        number, value, _ = flow.steps[place]
        if not isinstance(value, (float, torch.Tensor)) or known.has_whole(value) or flow.is_filled(number):
            continue
        old = torch.as_tensor(value)
        for new in values:
            fits = all(a == b or 1 in (a, b) for a, b in zip(old.shape, new.shape))
            if fits and (old.ndim, old.dtype) == (new.ndim, new.dtype):
                text = f"torch.tensor({new.tolist()})" if old is value else f"{new.tolist()}"
                yield Slip(number, text.replace("inf", "torch.inf").replace("nan", "torch.nan"), "")


def with_mended(node, place, sentence):
    """The sentence on an expression in whose place a value of right answers would make the result right.

    place: where the answer leaves the path. sentence: the one on that.
    """
    told = f"Line {node.lineno}: with a value that solutions known here make in the place of"
    told += f" `{shortened(ast.unparse(node))}`, this comes out right"
    if node.lineno < place.lineno:
        return f"{told}: look there, and on to line {place.lineno}, `{shortened(ast.unparse(place))}`."
    return sentence if node.lineno == place.lineno else f"{sentence} {told}."


def with_return(flow, call, trouble):
    """The sentence on an argument that is returned as it came; "" where none is."""
    place, end = flow.result(trouble.part), flow.ending()
    if trouble.later or place is None or not isinstance(flow.node(place), ast.Name):
        return ""
    given = any(life.same(flow.steps[place][1], each) for each in getattr(call, "arguments", []))
    tests = flow.program.around(end, "test")
    under = f", under the condition `{shortened(ast.unparse(tests[0]))}` in line {tests[0].lineno}" if tests else ""
    return f"Line {end.lineno} returns `{flow.node(place).id}` as it was given{under}." if given else ""


def with_writing(program):
    """The sentence on where a program writes on what it did not make itself, or may; "" for no such place."""
    lines = {
        node.lineno: f"line {node.lineno}, `{shortened(ast.unparse(node))}`"
        for node in program.nodes
        if isinstance(node, ast.stmt) and writes(node)
    }
    return f"Look at {' and '.join(list(lines.values())[:MOST_BESIDE])}." if lines else ""


def writes(statement):
    """Whether a statement writes on a tensor that is there already."""
    if isinstance(statement, ast.AugAssign):
        return True
    if isinstance(statement, ast.Assign):
        return any(isinstance(each, (ast.Subscript, ast.Attribute)) for each in statement.targets)
    called = (part.func for part in ast.walk(statement) if isinstance(part, ast.Call))
    names = [each.attr for each in called if isinstance(each, ast.Attribute)]
    return not hasattr(statement, "body") and any(name.endswith("_") and not name.startswith("_") for name in names)


def with_stop(flow, line, places, known):
    """The sentence on what may have stopped an answer in this line, from lines before; "" for none."""
    behind = [each for place in places for each in flow.behind(place)]
    places = [*places, *flow.doubtful(flow.stopped(line), known), *flow.doubtful(behind, known)]
    others = beside(flow.program, [*map(flow.node, places), *flow.program.keepers()], line)
    return f"What it works with may be wrong before: look at {' and '.join(others)}." if others else ""


def with_making(program, names):
    """The sentence on where parts of a layer are made; "" where they are not."""
    made = [node for node in program.nodes if isinstance(node, ast.Assign)]
    wanted = {f"self.{name}" for name in names} | {*names}
    lines = [
        f"line {node.lineno}, `{shortened(ast.unparse(node))}`"
        for node in made
        if wanted & {name_of(part) for target in node.targets for part in ast.walk(target)}
    ]
    return f"Look at {' and '.join(lines[:MOST_BESIDE])}." if lines else ""


def beside(program, nodes, line):
    """Pieces of a program's code, each with its line; a few, and none in the line itself."""
    found = {}
    for node in nodes:
        if isinstance(node, (ast.Name, ast.Attribute)):  # no place: where it was made is, or where it got another name
            node = program.parents[id(node)]
            if not isinstance(node, ast.Assign):
                continue
        if node.lineno != line:
            found.setdefault(node.lineno, f"line {node.lineno}, `{shortened(ast.unparse(node))}`")
    return list(found.values())[:MOST_BESIDE]


def looks(value):
    """What a value is like, in a few words."""
    if not isinstance(value, torch.Tensor):
        return f" ({comparing.shown(value)})" if isinstance(value, (bool, int, float)) else ""
    words = f"shape {tuple(value.shape)}"
    if value.ndim > 1 and value.is_floating_point() and value.min() >= 0:
        sums = value.sum(dim=-1)
        words += f", its rows sum to {sums.min():.4g}" + (
            f" … {sums.max():.4g}" if sums.max() - sums.min() > 1e-4 else ""
        )
    return f" ({words})"


def is_right(exercise, number, data, later):
    """Whether what came back for one call is right."""
    try:
        return bool(data) and not wrong_cases(exercise, [number], data, later)
    except replies.Unreadable:
        return False


def candidates(program, flow, places, line):
    """Slips to try, each once, nearest to the departure first. line: where the answer stopped, or 0."""
    values = {number: value for number, value, _ in reversed(flow.steps)}
    near = [flow.steps[place][0] for place in places]
    if line:
        near = [k for k, node in enumerate(program.nodes) if isinstance(node, ast.expr) and node.lineno == line]
    for place in places:
        for operand in flow.operands(place):
            near += flow.makers.get(name_of(program.nodes[flow.steps[operand][0]]) or "", [])
    near = list(dict.fromkeys(k for number in near for k in [*below(program, number), *above(program, number)]))
    far = sorted(set(range(len(program.nodes))) - set(near))
    functions = [number for number, node in enumerate(program.nodes) if isinstance(node, ast.FunctionDef)]
    names = program.read_names()
    sizes = [*(name for name, reads in names.items() if not reads), *sizes_of(program, values)]
    statements = (node for node in program.nodes if isinstance(node, (ast.Assign, ast.Return)) and node.value)
    whole = [
        program.numbers[id(part)]
        for node in statements
        for part in (node.value, *ast.iter_child_nodes(node.value))
        if id(part) in program.numbers
    ]

    def around(number):
        return slips.left_out(program, number, values[number], sizes) if number in values else ()

    return dict.fromkeys(
        (
            *(Slip(program.numbers[id(node)], "pass", "something too much") for node in program.keepers()),
            *(slip for number in [*functions, *near] for slip in slips.at(program, number, values, names, sizes)),
            *(slip for number in near[:12] for slip in around(number)),
            *(slip for number in whole if number in values for slip in slips.unused(program, number, values[number])),
            *(slip for number in far for slip in slips.at(program, number, values, names, sizes)),
            *(slip for number in whole for slip in around(number)),
        )
    )


def below(program, number):
    """The numbers of a node and of all that it is made of."""
    return [program.numbers[id(part)] for part in ast.walk(program.nodes[number]) if id(part) in program.numbers]


def above(program, number):
    """The numbers of the expressions and the statement that a node is part of."""
    found, node = [], program.parents.get(id(program.nodes[number]))
    while node is not None and not isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Module)):
        if id(node) in program.numbers:
            found.append(program.numbers[id(node)])
        node = program.parents.get(id(node))
    return found


def sizes_of(program, values):
    """Python for the sizes, and for what is left of the shares, that a program has at hand."""
    found = []
    for number, value in values.items():
        node = program.nodes[number]
        if type(value) is int and (name_of(node) or isinstance(node, ast.Subscript)):
            found.append(ast.unparse(node))
        if type(value) is float and 0 < value < 1 and name_of(node):
            found.append(f"1 - {ast.unparse(node)}")
        if getattr(value, "ndim", 0) and name_of(node):
            found += [f"{ast.unparse(node)}.shape[-1]", f"{ast.unparse(node)}.shape[-2]"][: value.ndim]
    return list(dict.fromkeys(found))[:8]


def shortened(code):
    """A piece of code as a sentence can hold it."""
    lines = [line.strip() for line in code.splitlines()]
    line = " ".join(lines) if any(line.endswith(":") for line in lines) else "; ".join(lines)
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 2]} …"
