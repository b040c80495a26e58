"""Where strangers' code runs: each exercise in a process of its own that can read Python and its packages, nothing else.

    with Sandbox() as sandbox:
        outcome = sandbox.run(cells, "my_causal_weights", exercise.calls, chapter=3)

On the grader's side stand `grader_side` (Sandbox), `machine` (which protection there is) and `reduced` (the course package
that answers may import). Inside stand `server` (loads torch once, forks a child per exercise), `answering` (runs one
exercise) and what holds it there: `isolation` and `system_calls`.
"""

from course_utils.grading.sandbox.grader_side import Outcome, Sandbox
from course_utils.grading.sandbox.machine import Protection, Unprotected, protection

__all__ = ["Outcome", "Protection", "Sandbox", "Unprotected", "protection"]
