"""What a chapter offers for its exercises: `check`, `hint`, `solution`, `progress`; `answer` and
`review` for the questions, `quiz` for those about one's own code. `check_packed` checks what an instructor adds.

What may come in: what a learner calls, and what is kept of it. Not: how an answer is judged, or a grade.
"""

from course_utils.checking.commands import answer, check, hint, progress, quiz, review, solution
from course_utils.checking.packed import check_packed

__all__ = ["answer", "check", "check_packed", "hint", "progress", "quiz", "review", "solution"]
