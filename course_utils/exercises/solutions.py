"""Right answers: the worked ones, read from the solution regions of the chapters' sources, and others, from people.

The others are in `right_answers/`. `known_values` has their intermediate values; a test checks each of them.
"""

import functools
import re
import tomllib
from dataclasses import replace
from pathlib import Path

from course_utils.explaining import program
from course_utils.explaining.known_values import Known

PACKAGE = Path(__file__).parents[1]
# in a clone, the sources are beside the package; an installed package has the cells that are read here
SOURCE_FOLDERS = (PACKAGE.parent / "solutions", PACKAGE / "solutions")


def worked_answer(id):
    """(code, explanation in Markdown) of exercise "3.2"."""
    cells = re.split(r"(?m)^# %%", source_of(int(id.split(".")[0])))
    name = f'name="exercise-{id.replace(".", "-")}"'
    found = [(k, cell) for k, cell in enumerate(cells) if cell.split("\n", 1)[0].strip().startswith(name)]
    if len(found) != 1:
        raise LookupError(f"the source of exercise {id} has {len(found)} cells with {name}; it needs one")
    ((place, code),) = found
    explanation = next(cell for cell in cells[place:] if '"solution"' in cell.split("\n", 1)[0])
    code = re.sub(r"(?m)^ *### (BEGIN|END) SOLUTION\n", "", code.split("\n", 1)[1])
    return code.strip(), re.sub(r"(?m)^# ?", "", explanation.split("\n", 1)[1]).strip()


def source_of(chapter):
    """The text of a chapter's source."""
    for place in SOURCE_FOLDERS:
        for path in place.glob(f"{chapter:02}_*.py"):
            return path.read_text(encoding="utf-8")
    raise FileNotFoundError(f"the source of chapter {chapter} is not in {' or '.join(map(str, SOURCE_FOLDERS))}")


def answer_from_code(exercise, code):
    """The object that an answer's code defines, with its chapter's imports."""
    names = imports(exercise.chapter)
    exec(compile(code, "<answer>", "exec"), names)
    return names[exercise.name]


@functools.cache
def imported(chapter):
    """The names that a chapter's import cell defines."""
    names = {}
    exec(re.search(r'# %% name="imports"\n(.*?)\n# %%', source_of(chapter), re.DOTALL)[1], names)
    return names


def imports(chapter):
    """The same, as a copy that may be changed."""
    return dict(imported(chapter))


def right_answers(id):
    """The code of every known right answer to exercise "3.2": the worked one, then those of others."""
    text = (Path(__file__).parent / f"right_answers/chapter_{id.split('.')[0]}.toml").read_text(encoding="utf-8")
    return [worked_answer(id)[0], *(each["code"] for each in tomllib.loads(text)["answer"] if each["exercise"] == id)]


def values_on_the_way(exercise, number):
    """Known: the intermediate values of right answers in one call of an exercise."""
    values, call = [], replace(exercise.calls[number], check_contract=False)
    for code in right_answers(exercise.id):
        if parsed := program.parse_program(code, exercise.name, imports(exercise.chapter), "<right answer>"):
            values += [value for _, value in program.watched(parsed, call)]
    return Known(values)


known_values = functools.cache(values_on_the_way)
