"""Classes as they hand in, made for benchmarks: honest students, hostile ones, and those whose files are odd."""

import itertools
import json
import re
import textwrap

from course_utils.exercises import EXERCISES
from tests.support import answers as collected
from tests.support import attacks
from tests.support.handed_in import NAME, RIGHT, WRONG, notebook, packed, zipped

MINE = [exercise for exercise in EXERCISES.values() if exercise.chapter == 3]


def honest(number, own_words=False):
    """{student: {file name: bytes}} of this many, who answer right and wrong in turn, as people did.

    own_words: no two of their answers are the same.
    """
    answers = {exercise.id: itertools.cycle(in_turn(exercise.id)) for exercise in MINE}
    books = ({id: next(texts) for id, texts in answers.items()} for _ in range(number))
    named = {f"student-{k:04}": book for k, book in enumerate(books, start=1)}
    if own_words:
        named = {student: {id: signed(code, student) for id, code in book.items()} for student, book in named.items()}
    return {student: {NAME: packed(notebook(book))} for student, book in named.items()}


def signed(code, student):
    """An answer with a remark on the first line of each of its functions and classes that no other student makes."""
    return re.sub(r"^(def|class) .*", rf"\g<0>  # {student}", code, flags=re.MULTILINE)


def laid(students):
    """{path: bytes} of such a class, each student in a folder."""
    return {f"{student}/{name}": data for student, files in students.items() for name, data in files.items()}


def in_turn(id):
    """The right and the wrong answers to an exercise, one of each in turn."""
    pairs = zip(itertools.cycle(collected.right(id)), collected.wrong(id))
    return [answer.code for pair in pairs for answer in pair]


def answering(code, **more):
    """{file name: bytes} of a chapter 3 with this answer to 3.2."""
    return {NAME: packed(notebook({"3.2": code}, **more))}


def around(before):
    """{file name: bytes} of a chapter 3 with a right answer to 3.2, and this cell before all others."""
    made = notebook({"3.2": RIGHT})
    made["cells"].insert(0, {"cell_type": "code", "source": before, "metadata": {}, "outputs": []})
    return {NAME: packed(made)}


# --- hostile: the answers first, then the files -----------------------------------------------------------------------

DOING = """
def my_causal_weights(scores):
    import ctypes, os, time
    """
HOSTILE_ANSWERS = {
    "computes without end": DOING + "while True: pass",
    "sleeps": DOING + "time.sleep(1000)",
    "closes its socket and sleeps": DOING + "os.closerange(3, 64); time.sleep(1000)",
    "sends without end": DOING + "while True: os.write(3, bytes(10**6))",
    "ends Python": DOING + "os._exit(0)",
    "crashes Python": DOING + "ctypes.string_at(1)",
    "patches comparisons": attacks.FOOLING["comparisons that are always true"],
    "steals from memory": attacks.STEALING["the expected values from memory"],
    "forges replies": DOING + textwrap.indent(attacks.forging(attacks.FORGED["replies that claim points"]), "    "),
    "fills the memory": RIGHT.replace("    T =", "    kept = [bytearray(2**20) for _ in range(3000)]\n    T ="),
    "forks": attacks.reaching(attacks.PROCESSES["a fork bomb"], {}) + DOING + "return attack()",
    "kills its parent": attacks.reaching(attacks.PROCESSES["a kill of the parent"], {}) + DOING + "return attack()",
    "complains at length": DOING + "raise ValueError('=1+1\\x1b[2J' * 10**6)",
}


def hostile():
    """{student: {file name: bytes}} of twenty who want points, the machine, or to be waited for."""
    many = zipped({f"{k:0100}.ipynb": b"" for k in range(2000)})
    hangs = {exercise.id: f"def {exercise.name}(*all):\n    while True: pass" for exercise in MINE}
    files = {
        "many names": {"a.zip": zipped({f"{k}.zip": many for k in range(30)})},
        "a zip bomb": {"a.zip": zipped({"a.zip": zipped({NAME: b"[" * 360_000_000})})},
        "brackets": {NAME: b'{"cells": ' + b"[" * 60_000_000},
        "structure": {NAME: b'{"cells": [' + b"{}," * 1_500_000 + b"{}]}"},
        "a long line": around("x=1;" * 200_000),
        "a long chain": around("\n".join(f"x{k} = x{k + 1}" for k in range(30_000))),
        "every answer hangs": {NAME: packed(notebook(hangs))},
    }
    answers = {name: answering(code) for name, code in HOSTILE_ANSWERS.items()}
    return {f"hostile, {name}": content for name, content in (answers | files).items()}


# --- odd --------------------------------------------------------------------------------------------------------------


def odd():
    """{student: {file name: bytes}} of twenty who mean well, or hand in nothing, and whose files are not as usual."""
    right, text = answering(RIGHT)[NAME], notebook({"3.2": RIGHT})
    old = {"nbformat": 3, "worksheets": [{"cells": [{**cell, "input": cell["source"]} for cell in text["cells"]]}]}
    long = notebook({"3.2": RIGHT})
    long["cells"][1]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "x" * 30_000_000}]
    made = {
        "no marks": answering(RIGHT, marks=False),
        "a zip": {"a.zip": zipped({f"hw/{NAME}": right})},
        "a zip with an environment": {
            "a.zip": zipped({f"venv/lib/{k}.py": b"" for k in range(3000)} | {f"hw/{NAME}": right})
        },
        "a zip in a zip": {"a.zip": zipped({"b.zip": zipped({NAME: right})})},
        "nothing": {NAME: b""},
        "a PDF": {"homework.pdf": b"%PDF-1.7"},
        "an archive of another kind": {"homework.rar": b"Rar!"},
        "half a file": {NAME: right[: len(right) // 2]},
        "a text": {"colab.txt": b"https://colab.research.google.com/drive/1"},
        "two notebooks": {NAME: answering(WRONG)[NAME], "03_again.ipynb": right},
        "another chapter": {"05.ipynb": packed(notebook({}, chapter=5))},
        "untouched": {NAME: packed(notebook({}))},
        "UTF-16": {NAME: json.dumps(text).encode("utf-16")},
        "another ending": {f"{NAME}.txt": right},
        "an old format": {NAME: packed(old)},
        "no cells": {NAME: b'{"cells": []}'},
        "long outputs": {NAME: packed(long)},
        "a module beside": answering("from mine import my_causal_weights")
        | {"mine.py": b"import torch\n" + RIGHT.encode()},
        "a GPU": answering(RIGHT.replace("scores.masked", "scores.cuda().masked").replace("T, T)", "T, T).cuda()")),
        "a loop that builds": around("rows = []\nfor t in range(9):\n    rows.append(torch.ones(t))"),
    }
    return {f"odd, {name}": content for name, content in made.items()}
