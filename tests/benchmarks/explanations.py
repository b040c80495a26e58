"""What mutants of right answers hear: python -m tests.benchmarks.explanations [HOW_MANY]

Right answers with one or two small changes at random, HOW_MANY of them (5,000), the same each time. Printed: how many
are accepted (see whether a user could tell), how many hear a proven cause, a place, an error with its line, or only
what was seen; how many places lie before the first line that was changed; and the seconds of a failed
check: median, 99 of 100, longest.
"""

import ast
import os
import random
import re
import statistics
import sys
import time
from collections import Counter

from course_utils.exercises import EXERCISES
from tests.support import mutants
from tests.support.answers import Answer, right


def changed(chance, exercise):
    """(an Answer made of a right one by one or two changes, the lines that were changed)."""
    code, lines = ast.unparse(ast.parse(chance.choice(right(exercise.id)).code)), []
    for _ in range(chance.choice([1, 2])):
        name, code = chance.choice(list(mutants.of(code)) or [("line 1", code)])
        lines.append(int(name.split()[1].rstrip(":")))
    return Answer(exercise.id, code), lines


def main(how_many):
    """Print what was heard."""
    os.environ["COURSE_PROGRESS"] = ""
    from course_utils.checking import commands

    chance, heard, seconds, before = random.Random(0), Counter(), [], []
    for _ in range(how_many):
        exercise = chance.choice(list(EXERCISES.values()))
        answer, lines = changed(chance, exercise)
        try:
            attempt = answer.object()
        except Exception:  # it does not even define the answer
            heard["defines nothing"] += 1
            continue
        begin = time.perf_counter()
        result = commands.judge_attempt(exercise, attempt)
        if result.status == "right":
            heard["accepted"] += 1
            print(f"accepted, {exercise.id}, lines {lines} changed:\n{answer.code}\n")
            continue
        seconds.append(time.perf_counter() - begin)
        kind = kind_of_explanation(result)
        heard[kind] += 1
        if kind == "a place" and lines_named(result)[0] < min(lines):
            before.append(answer)
            print(f"before, {exercise.id}, lines {lines} changed: {result.message}\n{answer.code}\n")
    failed = len(seconds)
    for kind, count in heard.most_common():
        print(f"{kind:28} {count:5}  {count / failed:6.1%} of those that failed")
    print(f"places before the change     {len(before):5}  {len(before) / failed:6.1%}")
    print(f"seconds: median {statistics.median(seconds):.2f}, 99 of 100 within", end=" ")
    print(f"{sorted(seconds)[int(0.99 * failed)]:.2f}, longest {max(seconds):.2f}")


def kind_of_explanation(result):
    """The kind of explanation that a result has."""
    if result.mistake:
        return "a proven cause"
    if "stopped in line" in result.message:
        return "an error with its line"
    return "a place" if lines_named(result) else "only what was seen"


def lines_named(result):
    """The numbers of the lines that a result names, the suspected one first."""
    return [int(number) for number in re.findall(r"\b[Ll]ine (\d+)", result.message)]


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5000)
