"""python3 -m course_tools exercise new | test | build FOLDER: your own exercises, in a folder beside your downloads.

new FOLDER                writes an example into the folder for you to change
new FOLDER --seed TEXT    writes seven exercises, one from each family of problems; the text decides which
test FOLDER               tests each exercise's oracle, right answers and wrong answers, under several seeds
build FOLDER              writes FOLDER/own_exercises.ipynb, to hand out
"""

import sys
from pathlib import Path

from course_tools import environment
from course_utils import files

USAGE = "usage: python3 -m course_tools exercise new | test | build FOLDER, or exercise new FOLDER --seed TEXT"
NO_SECRET = (
    "Anybody who has this course and the seed can draw the same problems, with their answers, and there are few enough "
    "to try them all. Only what you change or write yourself is new to everyone."
)
EXAMPLE = "nearest_tokens.py"
NOTEBOOK = "own_exercises.ipynb"


def main(arguments):
    """Run the subcommand, or end with a sentence that says why not."""
    match arguments:
        case ["new" | "test" | "build" as what, folder]:
            seed = None
        case ["new" as what, folder, "--seed", seed]:
            pass
        case _:
            sys.exit(USAGE)
    environment.run_with_environment("exercise", arguments)
    from course_tools.grading import exercise_families, own_exercises, own_notebook  # here: they load torch

    folder = Path(folder)
    if what == "new" and seed is None:
        write_new(folder, {EXAMPLE: own_exercises.EXAMPLE.read_text(encoding="utf-8")})
        print(f"{folder / EXAMPLE} is a working example. Rename and edit it, then run: exercise test {folder}")
        return
    if what == "new":
        made = exercise_families.drawn(seed)
        write_new(folder, made)
        print(f"{folder} has {len(made)} more exercises: {', '.join(made)}. {NO_SECRET}")
        return
    found = own_exercises.exercises_of(own_exercises.files_in(folder))
    if not found:
        sys.exit(f"{folder} contains no exercise: `exercise new {folder}` writes one.")
    if what == "build":
        files.replace(folder / NOTEBOOK, own_notebook.notebook(found.values()))
        print(f"{folder / NOTEBOOK} is ready to hand out.")
        return
    wrong = [(exercise, sentence) for exercise in found.values() for sentence in own_exercises.problems(exercise)]
    for exercise, sentence in wrong:
        print(f"{exercise.id} {exercise.name}: {sentence}")
    if wrong:
        sys.exit(1)
    print(f"{len(found)} {'exercise passes' if len(found) == 1 else 'exercises pass'}: {', '.join(found)}.")


def write_new(folder, texts):
    """Write files {name: text} into a folder. Ends the program if one of them already exists."""
    for name in texts:
        if (folder / name).exists():
            sys.exit(f"{folder / name} already exists: rename it first.")
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        files.replace(folder / name, text.encode())
