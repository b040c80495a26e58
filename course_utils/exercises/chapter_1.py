"""The exercises and questions of chapter 1."""

EXERCISES = ()
QUESTIONS = ()
