"""A chapter's commands: `check`, `hint`, `solution` and `progress` for exercises; `answer` and `review` for
questions; `quiz` for questions about one's own code. `check_packed` and `add_hints` serve what an instructor adds.

What belongs here: commands that a learner calls, and their records. Not: how an answer is judged, or a grade.
"""

from course_utils.checking.commands import answer, check, hint, progress, quiz, review, solution
from course_utils.checking.packed import add_hints, check_packed

__all__ = ["add_hints", "answer", "check", "check_packed", "hint", "progress", "quiz", "review", "solution"]
