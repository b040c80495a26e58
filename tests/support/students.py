"""Notebooks with edits as students make them, and what `check` says of their answers where they were written."""

import ast
import contextlib
import random
import re
import textwrap

from IPython.core.inputtransformer2 import TransformerManager

from course_tools.grading import grader
from course_tools.grading.sandbox.inside.answering import GpuToCpu
from course_utils import checking
from course_utils.exercises import EXERCISES
from tests.support import answers
from tests.support.handed_in import notebook

WRONG_IN = 4  # one answer in so many is wrong
COLAB_IN = 3  # one notebook in so many was in Colab
MOST_EDITS = 4  # of one notebook, each to another exercise


class Book:
    """A chapter as a student works on it. cells: of the notebook, as JSON data."""

    def __init__(self, number):
        """The notebook of this number: the same each time."""
        self.chance = random.Random(number)
        self.chapter = number % 10 + 1
        self.exercises = [exercise for exercise in EXERCISES.values() if exercise.chapter == self.chapter]
        made = notebook({each.id: self.answer(each) for each in self.exercises}, chapter=self.chapter)
        self.whole, self.cells = made, made["cells"]
        untouched = list(self.exercises)
        self.chance.shuffle(untouched)
        self.edits = self.chance.sample(EDITS, self.chance.randint(1, MOST_EDITS))
        for edit, exercise in zip(self.edits, untouched):
            if exercise in self.exercises:
                edit(self, exercise)
        if self.chance.randrange(COLAB_IN) == 0:
            self.lose_marks()

    def lose_marks(self):
        """Colab gives every cell an id of its own."""
        self.whole["metadata"] = {"colab": {"provenance": []}}
        for cell in self.cells:
            cell.pop("id", None)
            cell["metadata"] = {"id": f"{self.chance.randrange(2**40):x}"}

    def answer(self, exercise):
        """An answer that somebody has given."""
        wrong = answers.wrong(exercise.id) if not self.chance.randrange(WRONG_IN) else []
        return self.chance.choice(wrong or answers.right(exercise.id)).code

    def place(self, exercise, kind="exercise"):
        """Where the cell of an exercise stands, or its check."""
        id = f"{kind}-{exercise.id.replace('.', '-')}"
        return next(k for k, cell in enumerate(self.cells) if cell.get("id") == id)

    def text(self, exercise):
        """The text of an exercise's cell."""
        return source(self.cells[self.place(exercise)])

    def write(self, exercise, text):
        """Put another text there."""
        self.cells[self.place(exercise)]["source"] = text

    def insert(self, place, *texts):
        """New cells, as they come without a mark."""
        made = [{"cell_type": "code", "source": text, "metadata": {}, "outputs": []} for text in texts]
        self.cells[place:place] = made

    def above(self, exercise, *texts):
        """New cells above that of an exercise."""
        self.insert(self.place(exercise), *texts)

    def below(self, exercise, *texts):
        """New cells between that of an exercise and its check."""
        self.insert(self.place(exercise) + 1, *texts)

    def below_check(self, exercise, *texts):
        """New cells below the check of an exercise."""
        self.insert(self.place(exercise, "check") + 1, *texts)

    def early(self, *texts):
        """New cells somewhere above all exercises, below the imports."""
        first = min(map(self.place, self.exercises))
        self.insert(self.chance.randint(imports_at(self.cells) + 1, first), *texts)

    def own_name(self, exercise):
        """(a name that the answer gets, its text with this name)."""
        name = f"{exercise.name}_{self.chance.choice(['v2', 'new', 'helper', 'final'])}"
        return name, re.sub(rf"\b{exercise.name}\b", name, self.text(exercise))


def source(cell):
    """A cell's text."""
    return "".join(cell["source"])


def imports_at(cells):
    """The place of the cell of imports."""
    return next(k for k, cell in enumerate(cells) if cell.get("id") == "imports")


# --- edits: each is given the book and the exercise that it is about --------------------------------------------------


def answer_and_check_moved_to_the_end(book, exercise):
    for kind in ("exercise", "check"):
        book.cells.append(book.cells.pop(book.place(exercise, kind)))


def answer_moved_up(book, exercise):
    cell = book.cells.pop(book.place(exercise))
    book.cells.insert(book.chance.randint(imports_at(book.cells) + 1, book.place(exercise, "check")), cell)


def helper_above(book, exercise):
    name, text = book.own_name(exercise)
    book.above(exercise, text)
    book.write(exercise, f"{exercise.name} = {name}")


def helper_far_above_and_gone_afterwards(book, exercise):
    name, text = book.own_name(exercise)
    book.early(text)
    book.write(exercise, f"{exercise.name} = {name}")
    book.below_check(exercise, f"{name} = None")


def helper_below(book, exercise):
    name, text = book.own_name(exercise)
    book.below(exercise, text)
    book.write(exercise, f"def {exercise.name}(*all, **named):\n    return {name}(*all, **named)")


def helper_by_partial(book, exercise):
    name, text = book.own_name(exercise)
    book.write(exercise, f"from functools import partial\n{text}\n{exercise.name} = partial({name})")


def merged_with_its_check(book, exercise):
    check = book.cells.pop(book.place(exercise, "check"))
    book.write(exercise, f"{book.text(exercise)}\n\n{source(check)}")


def merged_with_the_next(book, exercise):
    others = [other for other in book.exercises if book.place(other) > book.place(exercise)]
    if others:
        other = others[0]
        book.write(exercise, f"{book.text(exercise)}\n\n{book.text(other)}")
        del book.cells[book.place(other)]
        book.exercises.remove(other)  # it has no cell of its own any more


def duplicated(book, exercise):
    book.below(exercise, book.text(exercise))


def prints_and_plots(book, exercise):
    book.below(exercise, f"print({exercise.name}, torch.ones(2).shape)")
    book.early("import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.imshow(torch.eye(3))\nplt.show()")
    book.write(exercise, f"print('here')\n{book.text(exercise)}")


def old_attempts_above(book, exercise):
    book.above(exercise, *(each.code for each in answers.wrong(exercise.id)[:2]))


def old_attempt_below(book, exercise):
    book.below_check(exercise, f"# first try\n{answers.wrong(exercise.id)[0].code}")


def old_attempt_as_a_comment(book, exercise):
    old = textwrap.indent(answers.wrong(exercise.id)[0].code, "# ")
    book.write(exercise, f"{old}\n{book.text(exercise)}\n'''\n{exercise.name}(what did not work)\n'''")


def answered_in_a_new_cell(book, exercise):
    book.below(exercise, book.text(exercise))
    book.write(exercise, f"def {exercise.name}(*all):\n    raise NotImplementedError")


def answered_again_below(book, exercise):
    check = source(book.cells[book.place(exercise, "check")])
    book.below_check(exercise, answers.right(exercise.id)[0].code, check)


def with_magics(book, exercise):
    book.early("!pip install -q einops\n%matplotlib inline", "files = !ls\n%time x = 3", "torch.softmax?")
    book.write(exercise, f"%%time\n{book.text(exercise)}")


def words_changed(book, exercise):
    for cell in book.cells:
        if cell["cell_type"] == "markdown" and book.chance.random() < 0.3:
            cell["source"] = "# my notes\n" + source(cell)[:50]
    book.cells.insert(book.place(exercise), {"cell_type": "markdown", "source": "I think it is this:", "metadata": {}})


def on_a_gpu(book, exercise):
    name, text = book.own_name(exercise)
    move = "[each.cuda() if torch.is_tensor(each) else each for each in all]"
    book.above(exercise, text)
    if exercise.name[0].islower():
        book.write(exercise, f"def {exercise.name}(*all):\n    return {name}(*{move})")
    else:
        book.write(exercise, f"{exercise.name} = {name}\ntorch.ones(3).to('cuda:0')")


def on_a_device(book, exercise):
    name, text = book.own_name(exercise)
    book.early("device = torch.device('cuda')", "zeros = torch.zeros(3, device=device)")
    book.write(exercise, f"{text}\n_ = zeros.to(device)\n{exercise.name} = {name}")


def imports_of_its_own(book, exercise):
    text = re.sub(r"\btorch\.(?!nn\b)", "th.", book.text(exercise))
    book.early("import torch as th\nimport math, numpy as np\nfrom torch import nn, einsum")
    book.write(exercise, f"import torch.nn.functional as F\n{text}")


def imports_of_what_may_be_missing(book, exercise):
    book.above(exercise, "try:\n    import einops\nexcept ImportError:\n    einops = None\nimport pandas_is_not_here")


def kept_in_a_dict(book, exercise):
    name, text = book.own_name(exercise)
    book.early("kept = {}")
    book.above(exercise, text, f"kept.update(answer={name})")
    book.write(exercise, f"{exercise.name} = kept['answer']")


def kept_in_a_list(book, exercise):
    name, text = book.own_name(exercise)
    book.above(exercise, "steps = []", text, f"steps.append({name})")
    book.write(exercise, f"{exercise.name} = steps[-1]")


def kept_by_setattr(book, exercise):
    name, text = book.own_name(exercise)
    book.early("class Box:\n    pass")
    book.above(exercise, f"{text}\nsetattr(Box, 'answer', {name})")
    book.write(exercise, f"{exercise.name} = Box.answer")


def registered_by_a_decorator(book, exercise):
    name, text = book.own_name(exercise)
    book.early("known = {}\ndef register(made):\n    known[made.__name__] = made\n    return made")
    book.above(exercise, re.sub(rf"(?m)^(def|class) {name}\b", rf"@register\n\1 {name}", text))
    book.write(exercise, f"{exercise.name} = known[{name!r}]")


def broken_cells_elsewhere(book, exercise):
    broken = ["1 / 0", "def broken(:", "assert False", "torch.ones(2) @ torch.ones(3)", "raise SystemExit", "undefined"]
    book.early(book.chance.choice(broken))
    book.below_check(exercise, book.chance.choice(broken))


def tests_of_their_own(book, exercise):
    book.below(exercise, f"def test():\n    assert callable({exercise.name})\n\nfor _ in range(3):\n    test()")
    book.below_check(exercise, f"assert {exercise.name} is None, 'hm'")


def other_names_used_again(book, exercise):
    book.early("scores = torch.rand(2, 3)\nT, x, q = 5, 3, None", "weights = [1, 2]")
    book.below_check(exercise, "scores = T = weights = 'something else'")


def inside_an_if(book, exercise):
    book.write(exercise, f"MINE = True\nif MINE:\n{textwrap.indent(book.text(exercise), '    ')}")


def settings(book, exercise):
    book.early(
        "torch.manual_seed(42)\nimport warnings\nwarnings.filterwarnings('ignore')\nimport random\nrandom.seed(1)"
    )


def other_cells_deleted(book, exercise):
    kept = re.compile("imports|(exercise|check)-.*")
    book.cells[:] = [cell for cell in book.cells if not cell.get("id") or kept.fullmatch(cell["id"])]


def handed_out_answer_left(book, exercise):
    stub = notebook({}, chapter=book.chapter)["cells"]
    id = f"exercise-{exercise.id.replace('.', '-')}"
    book.write(exercise, source(next(cell for cell in stub if cell["id"] == id)))


EDITS = [
    answer_and_check_moved_to_the_end,
    answer_moved_up,
    helper_above,
    helper_far_above_and_gone_afterwards,
    helper_below,
    helper_by_partial,
    merged_with_its_check,
    merged_with_the_next,
    duplicated,
    prints_and_plots,
    old_attempts_above,
    old_attempt_below,
    old_attempt_as_a_comment,
    answered_in_a_new_cell,
    answered_again_below,
    with_magics,
    words_changed,
    on_a_gpu,
    on_a_device,
    imports_of_its_own,
    imports_of_what_may_be_missing,
    kept_in_a_dict,
    kept_in_a_list,
    kept_by_setattr,
    registered_by_a_decorator,
    broken_cells_elsewhere,
    tests_of_their_own,
    other_names_used_again,
    inside_an_if,
    settings,
    other_cells_deleted,
    handed_out_answer_left,
]


# --- where the student works ------------------------------------------------------------------------------------------


class Magics:
    """What IPython makes of a cell's magics calls these: code runs, nothing else happens."""

    def __init__(self, names):
        self.names = names

    def run_line_magic(self, name, line):
        if name == "time":
            exec(line, self.names)

    def run_cell_magic(self, name, line, cell):
        exec(cell, self.names)

    def system(self, line):
        return []

    getoutput = system


def checked(book):
    """{id: the status that `check` gave last} where the cells run in their order, and one that fails stops no other.

    The machine has a GPU, as far as the cells can tell. The chapter's own cells are left out.
    """
    said, names = {}, {"__name__": "__main__"}
    names["get_ipython"] = lambda: Magics(names)

    def recorded(id, answer):
        result = checking.check(id, answer)
        said[id] = result.status
        return result

    own = re.compile(rf"check|(def|class) ({'|'.join(exercise.name for exercise in EXERCISES.values())})\b")
    for cell in book.cells:
        text = source(cell)
        if cell["cell_type"] == "code" and (own.search(text) or text.strip() not in grader.provided_texts()):
            with contextlib.suppress(Exception, SystemExit):
                tree = GpuToCpu().visit(ast.parse(TransformerManager().transform_cell(text)))
                exec(compile(ast.fix_missing_locations(tree), "<cell>", "exec"), names)
            names |= {"check": recorded} if "check" in names else {}
    return said
