"""All exercises and questions of the course, one file a chapter: data that `checking` and `grading` read.

What may come in: calls, oracles, right answers, words. Not: how an answer is run, or where its result is shown.
A new chapter is a new file here; a new exercise is a new `Exercise` in its chapter's file, and nothing else to enter.
"""

import importlib
import pkgutil

from course_utils.exercises.exercise import Exercise

NAME = "chapter_"
numbers = sorted(
    int(module.name.removeprefix(NAME)) for module in pkgutil.iter_modules(__path__) if module.name.startswith(NAME)
)
CHAPTERS = {number: importlib.import_module(f"{__name__}.{NAME}{number}") for number in numbers}
EXERCISES = {
    entry.id: entry for chapter in CHAPTERS.values() for entry in vars(chapter).values() if isinstance(entry, Exercise)
}
QUESTIONS = {question.id: question for chapter in CHAPTERS.values() for question in chapter.QUESTIONS}
FILL_INS = {fill_in.id: fill_in for chapter in CHAPTERS.values() for fill_in in getattr(chapter, "FILL_INS", ())}
