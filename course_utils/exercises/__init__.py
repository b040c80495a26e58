"""All exercises and questions of the course, two files a chapter: data that `checking` and `grading` read.

What belongs here: calls, right answers, words. Not: how an answer is run, or where its result is shown.
A new chapter needs a new `chapter_N.py` and a new `chapter_N.toml` here. A new exercise is a new `Exercise` in the
first, with its words in the second; a new question is an entry in the second. Nothing else names them.
"""

import importlib
import pkgutil

from course_utils.exercises.exercise import Exercise
from course_utils.exercises.question import Question, questions_of

NAME = "chapter_"
numbers = sorted(int(name.removeprefix(NAME)) for _, name, _ in pkgutil.iter_modules(__path__) if name.startswith(NAME))
CHAPTERS = {number: importlib.import_module(f"{__name__}.{NAME}{number}") for number in numbers}
EXERCISES = {
    entry.id: entry for chapter in CHAPTERS.values() for entry in vars(chapter).values() if isinstance(entry, Exercise)
}
ASKED = {question.id: question for number in numbers for question in questions_of(number)}
QUESTIONS = {id: question for id, question in ASKED.items() if isinstance(question, Question)}
FILL_INS = {id: question for id, question in ASKED.items() if id not in QUESTIONS}
