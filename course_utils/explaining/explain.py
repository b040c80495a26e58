"""Why an answer is wrong, found out and not looked up: one change that makes it right, or where it leaves the path.

No mistake has to be known for this. Changes are tried out on the answer itself; the path is that of right answers.
"""

import ast
from dataclasses import dataclass, replace

import torch

from course_utils.explaining import fixes, locate
from course_utils.explaining.known import Known, is_uninformative
from course_utils.explaining.program import Fix, name_of, program_of, watched
from course_utils.judging import comparing, contract, replies
from course_utils.judging.calls import FunctionCall
from course_utils.judging.judge import broken_contract, changed_arguments, judge, wrong_cases
from course_utils.judging.result import NOT_YET, RIGHT

MOST_TRIED, MOST_TRIED_LAYERS = 800, 300  # fixes; a layer takes longer, and its contract again as long
MOST_RIGHT = 5  # changes that make one call right and are tried in all calls
MOST_REPLACEMENTS, LARGEST_REPLACEMENT = 200, 400  # values tried in the place of others, and their numbers
MOST_OTHER_LINES = 3  # places named besides the first
LONGEST = 140  # characters of a piece of code in a sentence


class LocalRunner:
    """Runs an answer in this process, once more."""

    def __init__(self, program):
        self.program = program

    def watch(self, call):
        """The steps of one call, as `watched` gives them."""
        return watched(self.program, call)

    def try_fixes(self, changes, calls):
        """For each Fix, what the answer with it replies to the calls."""
        return self.program.replies_with_fixes(changes, calls)


def explain_locally(exercise, answer, data, result):
    """`explain_result`, for an answer in this process."""
    if result.status != NOT_YET:
        return result
    program = program_of(answer, exercise.name)
    return explain_result(exercise, program, LocalRunner(program), data, result)


def explain_result(exercise, program, runner, data, result):
    """The result of a wrong answer, with a sentence on the change or the place where one can be found.

    program: the answer's Program; None where its text cannot be had. runner: runs the answer again, as `LocalRunner`
    does. data: what the answer replied, as it came back.
    """
    try:
        known_ways = program and not exercise.open_ended
        return add_explanation(exercise, program, runner, data, result) if known_ways else result
    except Exception:  # a sentence more is no reason to lose the result: what a stranger's code can do has no end
        return result


def add_explanation(exercise, program, runner, data, result):
    """The same; may raise whatever looking into a stranger's code may raise."""
    number, trouble = first_trouble(exercise, data)
    if number is None:  # right in each call by itself: the trouble lies between them
        return result
    call = exercise.calls[number]
    steps = runner.watch(replace(call, check_contract=trouble.gradients))
    flow = locate.Flow(program, replies.steps(steps, len(program.nodes)))
    places = places_of(trouble, flow, exercise.known_values(number))
    no_change = Fix(0, ast.unparse(program.nodes[0]), "")
    asked = call if trouble.breaks_contract else replace(call, check_contract=False)
    if trouble.line and is_right(exercise, number, *runner.try_fixes([no_change], [asked]), False):  # it stops later
        asked = call
    most = MOST_TRIED if isinstance(call, FunctionCall) else MOST_TRIED_LAYERS // (2 if asked.check_contract else 1)
    tried = list(candidate_fixes(program, flow, places, trouble.line))[:most]
    attempts = zip([no_change, *tried], runner.try_fixes([no_change, *tried], [asked]))
    working = [fix for fix, found in attempts if is_right(exercise, number, found, asked.check_contract)]
    if no_change in working:  # right once it is made anew, as with a name that was not defined: no fix proves anything
        return result
    working.sort(key=lambda fix: (trouble.changed and fix.kind != "changed in place", *added_length(program, fix)))
    for fix, found in zip(working[:MOST_RIGHT], runner.try_fixes(working[:MOST_RIGHT], exercise.calls)):
        if judge(exercise, found).status == RIGHT:
            return replace(result, message=f"{fix_sentence(program, fix)} {result.message}", mistake=fix.kind)
    if trouble.unplaced_parts:
        sentence = layer_parts_sentence(program, trouble.unplaced_parts)
    elif trouble.line:
        sentence = stop_sentence(flow, trouble.line, places, exercise.known_values(number))
    elif trouble.changed:
        sentence = in_place_sentence(program)
    elif places:
        sentence = place_sentence(flow, places[0], trouble, exercise.known_values(number))
        wanted = exercise.reference[number].values
        tried = [] if trouble.breaks_contract else list(value_replacements(flow, exercise.known_values(number), wanted))
        tried = tried[: MOST_REPLACEMENTS // (1 if isinstance(call, FunctionCall) else 2)]
        answers = zip(tried, runner.try_fixes(tried, [replace(call, check_contract=False)]))
        working = (fix for fix, found in answers if is_right(exercise, number, found, False))
        if fix := next(working, None):
            sentence = replacement_sentence(program.nodes[fix.number], flow.node(places[0]), sentence)
    else:
        sentence = returned_argument_sentence(flow, call, trouble)
    return replace(result, message=f"{result.message} {sentence}".rstrip())


def added_length(program, fix):
    """Whether a fix replaces a whole definition, and by how many characters, in fours, it makes a program longer.

    A fix of one place is better, and one that only makes up for a mistake elsewhere is long.
    """
    node = program.nodes[fix.number]
    return isinstance(node, (ast.FunctionDef, ast.ClassDef)), int((len(fix.new) - len(ast.unparse(node))) / 4)


@dataclass(frozen=True)
class Trouble:
    """What is wrong in the first call that goes wrong.

    line: where it stopped, or 0. breaks_contract: its values are right. changed: an argument was. gradients: none come
    back. unplaced_parts: of a layer, in which weights found no place. part: the place of the wrong value where several
    are returned, or None.
    """

    line: int = 0
    breaks_contract: bool = False
    changed: bool = False
    gradients: bool = False
    unplaced_parts: tuple[str, ...] = ()
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
        right_values = not line and case.value is not None
        breaks_contract = right_values and case.problem in (changed_arguments(case), broken_contract(case))
        gradients = breaks_contract and bool(contract.check_gradients(case.call, case.reply, case.reference))
        changed = breaks_contract and case.problem == changed_arguments(case)
        unplaced = tuple(name.partition(".")[0] for name in case.reply.unplaced_weights)
        return number, Trouble(line, breaks_contract, changed, gradients, unplaced, wrong_part(case))
    return None, None


def wrong_part(case):
    """The place of the first wrong value of several, or None."""
    if isinstance(case.value, list) and isinstance(case.want, (list, tuple)) and len(case.value) == len(case.want):
        pairs = enumerate(zip(case.want, case.value))
        return next((k for k, (wanted, found) in pairs if comparing.problem(wanted, found)), None)
    return None


def places_of(trouble, flow, known):
    """The steps to look at, the first of which is named."""
    if trouble.breaks_contract:
        return locate.lost_gradients(flow) if trouble.gradients else []
    if trouble.line:
        starts = [
            each for each in flow.distinctive_sources(flow.stopped(trouble.line)) if not flow.is_known(each, known)
        ]
    else:
        starts = [each for each in [flow.result(trouble.part)] if each is not None]
    find = locate.reorderings if all(flow.is_known(each, known) for each in starts) else locate.first_unknown
    places, ends = (
        [place for place in map(flow.origin, found) if not isinstance(flow.node(place), (ast.Constant, ast.Name))]
        for found in (find(flow, starts, known), starts)
    )
    return places or ends


def fix_sentence(program, fix):
    """The sentence on a fix that makes everything right."""
    node = program.nodes[fix.number]
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return f"In `{node.name}`: {fix.kind}. With that changed, and nothing else, everything comes out right."
    old, new = map(shortened, program.before_and_after(fix))
    if old == new:  # lines were only moved
        return f"Line {node.lineno}: {fix.kind}. With that changed, and nothing else, everything comes out right."
    return f"Line {node.lineno}: with `{new}` in the place of `{old}`, everything comes out right."


def place_sentence(flow, place, trouble, known):
    """The sentence on the step where an answer leaves the path, and on what shows there neither right nor wrong."""
    number, value, _ = flow.steps[place]
    node = flow.program.nodes[number]
    where = f"Line {node.lineno}, `{shortened(ast.unparse(node))}`,"
    if trouble.gradients:
        return f"{where} is where gradients get lost: what it is made of still has them."
    reordered = flow.is_known(place, known) and not known.contains_exact(value)
    doubtful = [*map(flow.node, flow.doubtful(flow.operands_and_layer(place), known)), *flow.sources_of_names(place)]
    if flow.is_known(place, known):
        doubtful += flow.constant_index_values(node)
    others = other_lines(flow.program, doubtful, node.lineno)
    more = f"; look from there on, and at {' and '.join(others)}, whose value alone does not tell whether it is right."
    more = more if others else "."
    end = flow.ending()
    rest = f"from there to line {end.lineno}, `{shortened(ast.unparse(end))}`," if end else "after it"
    rest = f"{rest if end and end.lineno != node.lineno else 'after it'} a step is missing or wrong"
    if value is not None and is_uninformative(value):
        opening = f"{where} comes to this{describe_value(value)}"
        return f"{opening}, which does not tell whether the slip is there, before or after{more}"
    if not flow.is_known(place, known):
        opening = f"{where} gives the first value that no solution known here makes{describe_value(value)}"
        return opening + (more if others else "; what it is made of, they make: look there, and after it.")
    if not reordered:
        opening = f"{where} gives what solutions known here make on their way{describe_value(value)}"
        return f"{opening}: {rest}, or it is not what is asked for{more}"
    opening = f"{where} has numbers that solutions known here make"
    return f"{opening}, but not in this order or shape{describe_value(value)}{more}"


def value_replacements(flow, known, wanted):
    """Fixes that put values of right answers in the place of each value on the way to the result, first to last.

    wanted: what the result should be, which proves nothing.
    """
    final = Known(wanted)
    values = [
        value for value in known.values if value.numel() <= LARGEST_REPLACEMENT and not final.contains_unordered(value)
    ]
    for place in flow.path_to(flow.result()):
        number, value, _ = flow.steps[place]
        if not isinstance(value, (float, torch.Tensor)) or known.contains_tensor(value) or flow.is_filled(number):
            continue
        old = torch.as_tensor(value)
        for new in values:
            fits = all(a == b or 1 in (a, b) for a, b in zip(old.shape, new.shape))
            if fits and (old.ndim, old.dtype) == (new.ndim, new.dtype):
                text = f"torch.tensor({new.tolist()})" if old is value else f"{new.tolist()}"
                yield Fix(number, text.replace("inf", "torch.inf").replace("nan", "torch.nan"), "")


def replacement_sentence(node, place, sentence):
    """The sentence on an expression in whose place a value of right answers would make the result right.

    place: where the answer leaves the path. sentence: the one on that.
    """
    suggestion = f"Line {node.lineno}: with a value that solutions known here make in the place of"
    suggestion += f" `{shortened(ast.unparse(node))}`, this comes out right"
    if node.lineno < place.lineno:
        return f"{suggestion}: look there, and on to line {place.lineno}, `{shortened(ast.unparse(place))}`."
    return sentence if node.lineno == place.lineno else f"{sentence} {suggestion}."


def returned_argument_sentence(flow, call, trouble):
    """The sentence on an argument that is returned as it came; "" where none is."""
    place, end = flow.result(trouble.part), flow.ending()
    if trouble.breaks_contract or place is None or not isinstance(flow.node(place), ast.Name):
        return ""
    given = any(contract.same_values(flow.steps[place][1], each) for each in getattr(call, "arguments", []))
    tests = flow.program.around(end, "test")
    under = f", under the condition `{shortened(ast.unparse(tests[0]))}` in line {tests[0].lineno}" if tests else ""
    return f"Line {end.lineno} returns `{flow.node(place).id}` as it was given{under}." if given else ""


def in_place_sentence(program):
    """The sentence on where a program writes on what it did not make itself, or may; "" for no such place."""
    lines = {
        node.lineno: f"line {node.lineno}, `{shortened(ast.unparse(node))}`"
        for node in program.nodes
        if isinstance(node, ast.stmt) and changes_in_place(node)
    }
    return f"Look at {' and '.join(list(lines.values())[:MOST_OTHER_LINES])}." if lines else ""


def changes_in_place(statement):
    """Whether a statement writes on a tensor that is there already."""
    if isinstance(statement, ast.AugAssign):
        return True
    if isinstance(statement, ast.Assign):
        return any(isinstance(each, (ast.Subscript, ast.Attribute)) for each in statement.targets)
    called = (part.func for part in ast.walk(statement) if isinstance(part, ast.Call))
    names = [each.attr for each in called if isinstance(each, ast.Attribute)]
    return not hasattr(statement, "body") and any(name.endswith("_") and not name.startswith("_") for name in names)


def stop_sentence(flow, line, places, known):
    """The sentence on what may have stopped an answer in this line, from lines before; "" for none."""
    behind = [each for place in places for each in flow.operands_and_layer(place)]
    places = [*places, *flow.doubtful(flow.stopped(line), known), *flow.doubtful(behind, known)]
    others = other_lines(flow.program, [*map(flow.node, places), *flow.program.state_assignments()], line)
    return f"What it works with may be wrong before: look at {' and '.join(others)}." if others else ""


def layer_parts_sentence(program, names):
    """The sentence on where parts of a layer are made; "" where they are not."""
    assignments = [node for node in program.nodes if isinstance(node, ast.Assign)]
    wanted = {f"self.{name}" for name in names} | {*names}
    lines = [
        f"line {node.lineno}, `{shortened(ast.unparse(node))}`"
        for node in assignments
        if wanted & {name_of(part) for target in node.targets for part in ast.walk(target)}
    ]
    return f"Look at {' and '.join(lines[:MOST_OTHER_LINES])}." if lines else ""


def other_lines(program, nodes, line):
    """Pieces of a program's code, each with its line; a few, and none in the line itself."""
    found = {}
    for node in nodes:
        if isinstance(node, (ast.Name, ast.Attribute)):  # no place: where it was made is, or where it got another name
            node = program.parents[id(node)]
            if not isinstance(node, ast.Assign):
                continue
        if node.lineno != line:
            found.setdefault(node.lineno, f"line {node.lineno}, `{shortened(ast.unparse(node))}`")
    return list(found.values())[:MOST_OTHER_LINES]


def describe_value(value):
    """The shape and sums of a value, or the number that it is, in a few words."""
    if not isinstance(value, torch.Tensor):
        return f" ({comparing.format_value(value)})" if isinstance(value, (bool, int, float)) else ""
    words = f"shape {tuple(value.shape)}"
    if value.ndim > 1 and value.is_floating_point() and value.min() >= 0:
        sums = value.sum(dim=-1)
        words += f", its rows sum to {sums.min():.4g}" + (
            f" … {sums.max():.4g}" if sums.max() - sums.min() > 1e-4 else ""
        )
    return f" ({words})"


def is_right(exercise, number, data, check_contract):
    """Whether what came back for one call is right."""
    try:
        return bool(data) and not wrong_cases(exercise, [number], data, check_contract)
    except replies.Unreadable:
        return False


def candidate_fixes(program, flow, places, line):
    """Fixes to try, each once, nearest to the first unknown value first. line: where the answer stopped, or 0."""
    values = {number: value for number, value, _ in reversed(flow.steps)}
    near = [flow.steps[place][0] for place in places]
    if line:
        near = [k for k, node in enumerate(program.nodes) if isinstance(node, ast.expr) and node.lineno == line]
    for place in places:
        for operand in flow.operands(place):
            near += flow.makers.get(name_of(program.nodes[flow.steps[operand][0]]) or "", [])
    near = list(
        dict.fromkeys(k for number in near for k in [*descendants(program, number), *ancestors(program, number)])
    )
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
        return fixes.fixes_around(program, number, values[number], sizes) if number in values else ()

    return dict.fromkeys(
        (
            *(Fix(program.numbers[id(node)], "pass", "something too much") for node in program.state_assignments()),
            *(fix for number in [*functions, *near] for fix in fixes.fixes_at(program, number, values, names, sizes)),
            *(fix for number in near[:12] for fix in around(number)),
            *(
                fix
                for number in whole
                if number in values
                for fix in fixes.fixes_for_unused_layers(program, number, values[number])
            ),
            *(fix for number in far for fix in fixes.fixes_at(program, number, values, names, sizes)),
            *(fix for number in whole for fix in around(number)),
        )
    )


def descendants(program, number):
    """The numbers of a node and of all that it is made of."""
    return [program.numbers[id(part)] for part in ast.walk(program.nodes[number]) if id(part) in program.numbers]


def ancestors(program, number):
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
