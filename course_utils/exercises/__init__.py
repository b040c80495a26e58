"""All exercises and questions of the course, one file a chapter: data that `checking` and `grading` read."""

from course_utils.exercises import (
    chapter_1,
    chapter_2,
    chapter_3,
    chapter_4,
    chapter_5,
    chapter_6,
    chapter_7,
    chapter_8,
)

CHAPTERS = (chapter_1, chapter_2, chapter_3, chapter_4, chapter_5, chapter_6, chapter_7, chapter_8)
EXERCISES = {exercise.id: exercise for chapter in CHAPTERS for exercise in chapter.EXERCISES}
QUESTIONS = {question.id: question for chapter in CHAPTERS for question in chapter.QUESTIONS}
