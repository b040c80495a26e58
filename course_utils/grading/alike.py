"""Answers that share more than an exercise dictates, for a person to judge: no proof, and no point depends on it.

Compared are the lines that students have written themselves, comments included. A line tells something where few of the
class have it. Who gives other names to everything is not found.
"""

import itertools

MOST, LONGEST, SHORTEST = 60, 120, 4  # lines of an answer that are compared; letters of a line
FEW = 0.05  # of the class, and at least 3 students: so many may have a line that tells something
ENOUGH = 6  # such lines that two share, over all exercises ...
SHARE = 0.6  # ... and their share of the lines of the one who has fewer
SHOWN = 3  # lines in a table


def own_lines(text, handed_out):
    """The lines of an answer that do not stand in what was handed out, a set of lines; without their indentation."""
    lines = (" ".join(line.split())[:LONGEST] for line in text.split("\n"))
    return [line for line in lines if len(line) >= SHORTEST and line not in handed_out][:MOST]


def pairs(answers):
    """[(student, student, [id of each exercise], number of shared lines, a few of them)], most lines first.

    answers: {student: {id of an exercise: own lines}}.
    """
    owners = {}  # (id, line) -> students
    for student, lines_of in answers.items():
        for id, lines in lines_of.items():
            for line in dict.fromkeys(lines):
                owners.setdefault((id, line), []).append(student)
    shared = {}  # two students -> [(id, line)]
    for place, students in owners.items():
        if len(students) <= max(3, FEW * len(answers)):
            for two in itertools.combinations(students, 2):
                shared.setdefault(two, []).append(place)
    written = {student: sum(len(set(lines)) for lines in lines_of.values()) for student, lines_of in answers.items()}
    found = [
        (*two, sorted({id for id, _ in places}), len(places), [line for _, line in places][:SHOWN])
        for two, places in shared.items()
        if len(places) >= max(ENOUGH, SHARE * min(written[student] for student in two))
    ]
    return sorted(found, key=lambda row: -row[3])
