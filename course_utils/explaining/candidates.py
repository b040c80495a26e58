"""What is tried out on a wrong answer: changes of its code."""

import ast

from course_utils.explaining import fixes
from course_utils.explaining.program import Fix, name_of


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

    return list(
        dict.fromkeys(
            (
                *(Fix(program.numbers[id(node)], "pass", "something too much") for node in program.state_assignments()),
                *(
                    fix
                    for number in [*functions, *near]
                    for fix in fixes.fixes_at(program, number, values, names, sizes)
                ),
                *(fix for number in near[:12] for fix in around(number)),
                *(fix for number in far for fix in fixes.fixes_at(program, number, values, names, sizes)),
                *(fix for number in whole for fix in around(number)),
            )
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
