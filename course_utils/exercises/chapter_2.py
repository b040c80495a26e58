"""The exercises and questions of chapter 2."""

EXERCISES = ()
QUESTIONS = ()
