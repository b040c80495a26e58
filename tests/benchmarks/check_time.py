"""How long a check takes: python -m tests.benchmarks.check_time

The median over 20 checks of the worked answer, in milliseconds, for each exercise. The course wants a function's check
under 50 ms and a layer's under 150 ms on two cores.
"""

import os
import statistics
import sys
import time

from course_utils.exercises import EXERCISES, solutions
from course_utils.judging.calls import LayerCall

LIMITS = {"function": 50, "layer": 150}  # milliseconds
ROUNDS = 20


def main():
    """Print a line per exercise; end with an error when one is over its limit."""
    os.environ["COURSE_PROGRESS"] = ""
    from course_utils.checking import check

    slow = []
    for exercise in EXERCISES.values():
        answer = solutions.answer_from_code(exercise, solutions.worked_answer(exercise.id)[0])
        check(exercise.id, answer)  # the first one draws the numbers
        times = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            check(exercise.id, answer)
            times.append(1000 * (time.perf_counter() - start))
        kind = "layer" if any(isinstance(call, LayerCall) for call in exercise.calls) else "function"
        median = statistics.median(times)
        print(f"{exercise.id:5} {kind:8} {median:6.1f} ms")
        if median > LIMITS[kind]:
            slow.append(exercise.id)
    sys.exit(f"over the limit: {', '.join(slow)}" if slow else 0)


if __name__ == "__main__":
    main()
