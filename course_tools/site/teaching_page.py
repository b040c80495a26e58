"""The page for instructors: teaching.md with aims, plans and exercises from chapters and tests."""

import re

from course_tools import links, repository
from course_tools.build import minutes
from course_tools.repository import ROOT
from course_tools.site import chapter_page
from course_utils.exercises import CHAPTERS, EXERCISES
from course_utils.exercises.exercise import Puzzle

AIMS, PLANS, TABLES = "<!-- aims -->", "<!-- plans -->", "<!-- exercises -->"
MOST_MISTAKES = 3  # of each exercise
AIMS_IN_CHAPTER = re.compile(r"^\*\*After this chapter you can\*\*\n+((?:\*.*\n(?:  .*\n)*)+)", re.MULTILINE)
WEEKS = {  # plan: (sessions, the chapters that it covers)
    "one week": ("five sessions, one chapter a day", range(1, 6)),
    "four weeks": ("two sessions a week, one chapter each", range(1, 9)),
    "ten weeks": ("one session a week, one chapter each", range(1, 11)),
}


def page(topics):
    """The page in MyST's Markdown. topics: the chapters, ["01_some_topic", ...]."""
    topics = {number: topic for topic in topics if (number := int(topic[:2])) in CHAPTERS}
    text = (ROOT / "course_tools/site/source/teaching.md").read_text(encoding="utf-8")
    text = text.replace(AIMS, "\n".join(aims(topic) for topic in topics.values()))
    text = text.replace(PLANS, "\n".join(plan(name, *what, topics) for name, what in WEEKS.items()))
    return text.replace(TABLES, "\n".join(exercise_table(number, topic) for number, topic in topics.items()))


def all_markdown(topic):
    """All Markdown of a chapter's stored notebook."""
    cells = repository.cells(chapter_page.notebook_path(topic))
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def linked_title(topic):
    """A chapter's title, as a link, and its minutes."""
    title, _, minutes = links.chapter_heading(chapter_page.notebook_path(topic))
    return f"[{title}]({topic}.ipynb)", minutes


def aims(topic):
    """What a student can do after a chapter."""
    return f"**{linked_title(topic)[0]}**\n\n{AIMS_IN_CHAPTER.search(all_markdown(topic) + chr(10))[1]}"


def plan(name, sessions, numbers, topics):
    """A plan's row in the table."""
    minutes = sum(linked_title(topics[number])[1] for number in numbers)
    return f"| {name} | {sessions} | {numbers[0]} to {numbers[-1]} | {minutes / 60:.0f} |"


def exercise_table(number, topic):
    """A chapter's exercises, each with its entry."""
    own = [exercise_entry(exercise) for exercise in EXERCISES.values() if exercise.chapter == number]
    return "\n".join([f"### {linked_title(topic)[0]}", "", *own, ""])


def exercise_entry(exercise):
    """An exercise's entry: what an instructor should know about it."""
    kind = "puzzle" if isinstance(exercise, Puzzle) else "layer" if exercise.name[:1].isupper() else "function"
    points = f"{exercise.points} point{'s' if exercise.points > 1 else ''}"
    head = f"**{exercise.id} {exercise.title}** ({kind}, {points}, {minutes.OF_EXERCISE[exercise.difficulty]} minutes)"
    return f"{head}\n: Mistakes: {'; '.join(mistakes(exercise)[:MOST_MISTAKES])}.\n\n  Ask: *{exercise.hints[0]}*\n"


def mistakes(exercise):
    """The causes of the wrong answers recorded for an exercise, each once."""
    answers = repository.table(f"tests/wrong_answers/chapter_{exercise.chapter}.toml")["answer"]
    causes = dict.fromkeys(each["cause"] for each in answers if each["exercise"] == exercise.id)
    return [cause.replace("<", "\\<") for cause in causes]  # the token <s> would strike out the rest of the page
