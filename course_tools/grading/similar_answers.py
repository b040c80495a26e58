"""Answers that share more than an exercise requires, for a person to judge: this proves nothing and costs no points.

It compares the lines that students have written themselves, including comments. A line is telling if few students have
it. Copies in which every name was changed are not found.
"""

import itertools
from collections import Counter

MOST_LINES, LONGEST_LINE, SHORTEST_LINE = 60, 120, 4  # lines of an answer that are compared; letters of a line
RARE_SHARE = 0.05  # of the class, or 3 students if that is more, may have a telling line
FEWEST_SHARED_LINES = 6  # such lines that two share, over all exercises ...
SHARED_SHARE = 0.6  # ... and their share of the lines of the one who has fewer
LINES_SHOWN = 3  # lines in a table


def own_lines(text, handed_out):
    """The lines of an answer that were not handed out, as a set, without indentation."""
    lines = (" ".join(line.split())[:LONGEST_LINE] for line in text.split("\n"))
    return [line for line in lines if len(line) >= SHORTEST_LINE and line not in handed_out][:MOST_LINES]


def similar_pairs(answers):
    """[(student, student, [id of each exercise], number of shared lines, a few of them)], most lines first.

    answers: {student: {id of an exercise: own lines}}.
    """
    own = {who: dict.fromkeys((id, line) for id in lines for line in lines[id]) for who, lines in answers.items()}
    owners = {}  # {(id, line): students}
    for student, places in own.items():
        for place in places:
            owners.setdefault(place, []).append(student)
    telling = {place: students for place, students in owners.items() if len(students) <= max(3, RARE_SHARE * len(own))}
    shared = Counter(two for students in telling.values() for two in itertools.combinations(students, 2))
    found = []
    for (one, other), number in shared.items():
        if number >= FEWEST_SHARED_LINES and number >= SHARED_SHARE * min(len(own[one]), len(own[other])):
            places = [place for place, students in telling.items() if one in students and other in students]
            lines = [line for _, line in places[:LINES_SHOWN]]
            found.append((one, other, sorted({id for id, _ in places}), number, lines))
    return sorted(found, key=lambda row: -row[3])
