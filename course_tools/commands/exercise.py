"""python3 -m course_tools exercise new | test | build FOLDER: your own exercises, in a folder beside your downloads.

new FOLDER                writes an example into the folder for you to change
new FOLDER --seed TEXT    writes seven exercises, one from each family of problems; the text decides which
... --students FILE       also writes each student a personal puzzle; the file has one name per line
test FOLDER               tests each exercise's oracle, right answers and wrong answers, under several seeds
build FOLDER              writes FOLDER/own_exercises.ipynb, to hand out, and one into each student's folder
"""

import sys
from pathlib import Path

from course_tools import environment
from course_tools.names_on_disk import on_disk
from course_utils import files

USAGE = (
    "usage: python3 -m course_tools exercise new | test | build FOLDER, "
    "or exercise new FOLDER --seed TEXT [--students FILE]"
)
NO_SECRET = (
    "Anybody who has this course and the seed can draw the same problems, with their answers, and "
    "there are so few that all can be tried. Only what you change or write yourself is new to everyone."
)
EXAMPLE = "nearest_tokens.py"
NOTEBOOK = "own_exercises.ipynb"


def main(arguments):
    """Run the subcommand, or end with a sentence that says why not."""
    match arguments:
        case ["new" | "test" | "build" as what, folder]:
            seed = names = None
        case ["new" as what, folder, "--seed", seed]:
            names = None
        case ["new" as what, folder, "--seed", seed, "--students", names]:
            pass
        case _:
            sys.exit(USAGE)
    environment.run_with_environment("exercise", arguments)
    from course_tools.grading import (  # here: they load torch
        exercise_families,
        own_exercises,
        own_notebook,
        own_of_students,
    )

    folder = Path(folder)
    if what == "new" and seed is None:
        write_new(folder, {EXAMPLE: own_exercises.EXAMPLE.read_text(encoding="utf-8")})
        print(f"{folder / EXAMPLE} is a working example. Rename and edit it, then run: exercise test {folder}")
        return
    if what == "new":
        made = exercise_families.drawn(seed)
        students = names_in(Path(names)) if names else []
        write_new(folder, made | exercise_families.drawn_for_students(seed, students))
        also = f" {len(students)} students have a puzzle of their own in folders with their names." if students else ""
        print(f"{folder} has {len(made)} more exercises: {', '.join(made)}.{also} {NO_SECRET}")
        return
    files_of_class = own_exercises.files_in(folder)
    found = own_exercises.exercises_of(files_of_class)
    if not found:
        sys.exit(f"{folder} contains no exercise: `exercise new {folder}` writes one.")
    of_students = {
        name: own_exercises.exercises_of(own)
        for name, own in own_of_students.files_of_folders(folder, files_of_class).items()
    }
    if what == "build":
        for name, exercises in {"": found, **of_students}.items():
            files.replace(folder / on_disk(name) / NOTEBOOK, own_notebook.notebook(exercises.values()))
        also = f", and so are those in the folders of {len(of_students)} students" if of_students else ""
        print(f"{folder / NOTEBOOK} is ready to hand out{also}.")
        return
    others = {
        f"{name}, {id}": exercise
        for name, exercises in of_students.items()
        for id, exercise in exercises.items()
        if exercise is not found[id]
    }
    wrong = [(id, each, said) for id, each in (found | others).items() for said in own_exercises.problems(each)]
    for id, exercise, sentence in wrong:
        print(f"{id} {exercise.name}: {sentence}")
    if wrong:
        sys.exit(1)
    also = f" So do {len(others)} in the folders of {len(of_students)} students." if others else ""
    print(f"{len(found)} {'exercise passes' if len(found) == 1 else 'exercises pass'}: {', '.join(found)}.{also}")


def names_in(path):
    """The names in a file, one a line. Ends the program if one of them cannot be the name of a folder."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        sys.exit(f"{path} cannot be read: {error}. Write one name per line, in UTF-8.")
    names = list(dict.fromkeys(filter(None, map(str.strip, lines))))
    if bad := [name for name in names if name.startswith(".") or set(name) & set('/\\<>:"|?*')]:
        sys.exit(f"{path}: {bad[0]!r} cannot be the name of a folder; use the student's id.")
    return names


def write_new(folder, texts):
    """Write files {name: text} into a folder. Ends the program if one of them already exists."""
    for name in texts:
        if (folder / on_disk(name)).exists():
            sys.exit(f"{folder / name} already exists: rename it first.")
    for name, text in texts.items():
        path = folder / on_disk(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        files.replace(path, text.encode())
