"""python3 -m course_tools exercise new | test | build FOLDER: exercises of your own, in a folder beside your downloads.

new FOLDER      writes an example into the folder, to be changed
test FOLDER     says of each exercise what does not hold: oracle, right and wrong answers, under several seeds
build FOLDER    makes FOLDER/own_exercises.ipynb, to hand out
"""

import sys
from pathlib import Path

from course_tools import environment
from course_utils import files

USAGE = "usage: python3 -m course_tools exercise new | test | build FOLDER"
EXAMPLE = "nearest_tokens.py"
NOTEBOOK = "own_exercises.ipynb"


def main(arguments):
    """Do what is asked, or end with a sentence that says why not."""
    if len(arguments) != 2 or arguments[0] not in ("new", "test", "build"):
        sys.exit(USAGE)
    environment.run_with_environment("exercise", arguments)
    from course_tools.grading import own_exercises, own_notebook  # here: they load torch

    what, folder = arguments[0], Path(arguments[1])
    if what == "new":
        path = folder / EXAMPLE
        if path.exists():
            sys.exit(f"{path} is there already: rename it first.")
        folder.mkdir(parents=True, exist_ok=True)
        files.replace(path, own_exercises.EXAMPLE.read_bytes())
        print(f"{path} is an exercise that works. Rename and change it, then: exercise test {folder}")
        return
    found = own_exercises.exercises_of(own_exercises.files_in(folder))
    if not found:
        sys.exit(f"{folder} holds no exercise: `exercise new {folder}` writes one.")
    if what == "build":
        files.replace(folder / NOTEBOOK, own_notebook.notebook(found.values()))
        print(f"{folder / NOTEBOOK} is ready to hand out.")
        return
    wrong = [(exercise, sentence) for exercise in found.values() for sentence in own_exercises.problems(exercise)]
    for exercise, sentence in wrong:
        print(f"{exercise.id} {exercise.name}: {sentence}")
    if wrong:
        sys.exit(1)
    print(f"{len(found)} {'exercise holds' if len(found) == 1 else 'exercises hold'}: {', '.join(found)}.")
