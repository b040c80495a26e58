"""Own exercises that differ by student: a folder with a student's name replaces some of the class's files."""

import sys

from course_tools.grading.assignment import names_of_student
from course_tools.grading.platforms.gradebook import normalized_name
from course_tools.names_on_disk import from_disk

NOBODY = "{}: {} has no submission here."
SEVERAL = "{} could be the folder of {} students: {}. Rename it after a student's page or id."
TWO_FOLDERS = "{} and {} could both be the folder of {}: keep one."
WITHOUT = "{}: these students have no folder of their own, so they are graded with the class's exercises: {}."


def files_of_folders(folder, of_class):
    """{name of a folder within this one: the class's files (name, text), of which those in the folder replace some}.

    Ends the program if such a folder makes no sense.
    """
    from course_tools.grading import own_exercises  # here: it loads torch

    found = {}
    points = {id: exercise.points for id, exercise in own_exercises.exercises_of(of_class).items()}
    for within in sorted(path for path in folder.iterdir() if path.is_dir()):
        own = dict(own_exercises.files_in(within))
        if other := own.keys() - dict(of_class).keys():
            sys.exit(f"{within / min(other)} matches no file in {folder}: rename it to match one.")
        if own:
            found[from_disk(within.name)] = merged = tuple((dict(of_class) | own).items())
            if points != {id: exercise.points for id, exercise in own_exercises.exercises_of(merged).items()}:
                sys.exit(f"{within}: give its exercises the POINTS that they have in {folder}.")
    return found


def files_by_student(folder, of_class, students, full_names):
    """({key of a student with a folder: the student's files}, sentences on folders and on students that match none).

    full_names: {key of a student: the name in a gradebook}. Ends the program if it is unclear whose folder one is.
    """
    files = files_of_folders(folder, of_class)
    owner, sentences = {}, []
    for name in files:
        called = [student.key for student in students if is_called(student, full_names.get(student.key, ""), name)]
        if not called:
            sentences.append(NOBODY.format(folder / name, name))
        elif len(called) > 1:
            sys.exit(SEVERAL.format(folder / name, len(called), ", ".join(called)))
        elif called[0] in owner:
            sys.exit(TWO_FOLDERS.format(folder / owner[called[0]], folder / name, called[0]))
        else:
            owner[called[0]] = name
    if files and (others := sorted(student.name for student in students if student.key not in owner)):
        sentences.append(WITHOUT.format(folder, ", ".join(others)))
    return {key: files[name] for key, name in owner.items()}, sentences


def is_called(student, full_name, name):
    """Whether a folder's name is a student's name, however it is written, or one of the ids."""
    return name in names_of_student(student) or normalized_name(name) in map(normalized_name, (student.name, full_name))
