"""The exercises and questions of chapter 5."""

EXERCISES = ()
QUESTIONS = ()
