"""What `--quiz` and `--oral` write: questions about each student's own code, on paper, for Moodle and as text."""

import html
import itertools
from xml.etree import ElementTree

from course_tools.grading.grades_and_pages import template
from course_utils import files
from course_utils.judging.result import rich

QUIZ_FILES, ORAL_FILES = ("quiz.html", "quiz_key.html", "quiz_moodle.xml", "quiz.txt"), ("oral.html",)
QUESTIONS_IN_TALK = 3
LETTERS = "abcd"
NOTHING_TO_ASK = "No questions for {}: there is no answer, or none that runs."


def file_names(options):
    """The names of the files that `write` makes."""
    return [*(QUIZ_FILES if options.quiz else ()), *(ORAL_FILES if options.oral else ())]


def asked_for(options, assignment):
    """The fields of a Task for the questions; None if there are none."""
    count = max(options.quiz, QUESTIONS_IN_TALK if options.oral else 0)
    return {"questions": count, "chapters": tuple(assignment.chapters)} if count else None


def write(options, reports, names):
    """Write the requested files into the output folder. Returns sentences to print. names: {key: gradebook name}."""
    if not file_names(options):
        return
    students = [(names.get(report.student.key, report.student.name), report.quiz) for report in reports]
    asked = [(name, quiz) for name, quiz in students if quiz]
    if options.quiz:
        quizzes = [(name, quiz[: options.quiz]) for name, quiz in asked]
        pages = [(name, by_answer(quiz)) for name, quiz in quizzes]
        made = {
            "quiz.html": template("quiz.html").render(students=pages, letters=LETTERS).encode(),
            "quiz_key.html": template("quiz_key.html").render(students=quizzes, letters=LETTERS).encode(),
            "quiz_moodle.xml": moodle_xml(quizzes),
            "quiz.txt": "\n\n".join(itertools.starmap(as_text, pages)).encode(),
        }
        for name, content in made.items():
            files.replace(options.out / name, content)
        yield f"{options.out / 'quiz.html'} asks {len(asked)} students about their own code; quiz_key.html has the key."
    if options.oral:
        talks = [(name, quiz[:QUESTIONS_IN_TALK]) for name, quiz in asked]
        files.replace(options.out / "oral.html", template("oral.html").render(students=talks).encode())
        yield f"{options.out / 'oral.html'} has questions for two-minute interviews with {len(asked)} students."
    if silent := [name for name, quiz in students if not quiz]:
        yield NOTHING_TO_ASK.format(", ".join(silent))


def by_answer(quiz):
    """[(exercise, title, [(number, line)], call, [(number, question)])] of a quiz, an entry for each answer."""
    numbered = list(enumerate(quiz, start=1))
    found = []
    for (id, title, code, call), asked in itertools.groupby(numbered, key=lambda each: answer_of(each[1])):
        found.append((id, title, list(enumerate(code.split("\n"), start=1)), call, list(asked)))
    return found


def answer_of(question):
    """The data that all questions about one answer share."""
    return question["exercise"], question["title"], question["code"], question["call"]


def as_text(name, answers):
    """One student's quiz as text to paste anywhere."""
    lines = [f"=== {name}"]
    for id, title, code, call, asked in answers:
        lines += ["", f"Your answer to {id} {title}:", *(f"{number:3}  {line}" for number, line in code), "", call]
        for number, question in asked:
            choices = (f"   {letter}) {option}" for letter, option in zip(LETTERS, question["options"]))
            lines += [f"{number}. {question['prompt']}", *choices]
    return "\n".join([*lines, ""])


def moodle_xml(students):
    """A question bank as Moodle imports it: a category for each student, which holds their questions."""
    root = ElementTree.Element("quiz")
    for name, quiz in students:
        category = ElementTree.SubElement(ElementTree.SubElement(root, "question", type="category"), "category")
        with_text(category, f"$course$/Own code/{name.replace('/', '//')}")
        for number, question in enumerate(quiz, start=1):
            made = ElementTree.SubElement(root, "question", type="multichoice")
            with_text(ElementTree.SubElement(made, "name"), f"{name}, question {number}")
            with_text(ElementTree.SubElement(made, "questiontext", format="html"), question_as_html(question))
            for tag, text in [("single", "true"), ("shuffleanswers", "false"), ("answernumbering", "abc")]:
                ElementTree.SubElement(made, tag).text = text
            for place, option in enumerate(question["options"]):
                fraction = "100" if place == question["right"] else "0"
                with_text(ElementTree.SubElement(made, "answer", fraction=fraction, format="html"), rich(option))
    return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)


def with_text(element, text):
    """Give an element a text in Moodle's format."""
    ElementTree.SubElement(element, "text").text = text


def question_as_html(question):
    """A question with its code as HTML; a student's text is escaped."""
    code = "".join(f"{number:3}  {line}\n" for number, line in enumerate(question["code"].split("\n"), start=1))
    return (
        f"<pre>{html.escape(code, quote=False)}</pre><p>{rich(question['call'])}</p><p>{rich(question['prompt'])}</p>"
    )
