"""The exercises and questions of chapter 4."""

EXERCISES = ()
QUESTIONS = ()
