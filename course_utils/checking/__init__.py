"""What a chapter offers for its exercises: `check`, `hint`, `solution`, `progress`, and `answer` for the questions."""

from course_utils.checking.commands import answer, check, hint, progress, solution

__all__ = ["answer", "check", "hint", "progress", "solution"]
