"""Turns one submission into one report: the unit of work, for any process on any machine that has the course.

The expected values are known here, so no student's code runs here: that happens in the sandbox.
"""

import collections
import functools
import hashlib
import re
import time
from dataclasses import dataclass, replace

from course_tools.grading import notebook_reading, own_code, own_exercises, private_seed, similar_answers
from course_tools.grading.own_folder import OWN_CHAPTER
from course_tools.grading.plain_code import only_computes
from course_tools.grading.reports import GradedExercise, Report, result_from_json
from course_tools.grading.sandbox.sandbox import hand_over_a_model
from course_tools.grading.submitted_files import NOTEBOOK
from course_tools.grading.unpacking import unpack_submission
from course_tools.repository import ROOT, sources
from course_utils.exercises import EXERCISES, solutions
from course_utils.exercises.exercise import Exercise
from course_utils.explaining.explain import explain_result
from course_utils.explaining.program import parse_program
from course_utils.judging.judge import judge
from course_utils.judging.result import NOT_ATTEMPTED, NOT_YET, RIGHT, Result

WORST_TO_BEST = [NOT_ATTEMPTED, NOT_YET, RIGHT]
IN_SEVERAL_NOTEBOOKS = "{} notebooks contain this exercise; the answer in {} counts."
IN_TOO_MANY_NOTEBOOKS = (
    "{} notebooks contain this exercise, with {} different answers. Only the last {} by name were compared, and the"
    " best of these, in {}, counts. To decide which one counts, hand in only one notebook."
)
MOST_ANSWERS = 3  # different ones to an exercise: old versions cost nobody points, but forty guesses do not pay
DEPENDS_ON_CHANCE = (
    "Your answer is right in one run and wrong in another, so it depends on chance: random numbers, the clock, or"
    " uninitialised memory (`torch.empty`)."
)
OTHER_SEED = 1
LATER = "later"  # a wrong answer that was seen before, and is explained when all points are there
DEFINED_TWICE = (
    "`{}` is defined {} times in the notebook; the last definition or the last one checked counts, whichever is better."
)
RIGHT_WITH_HELPERS = (
    "This answer uses {}, which is not right yet. With the course's version of it, this answer is right, so it counts."
)
DEFINED_BY_CHAPTER = "Your notebook does not define {} above this answer, so the chapter's definition was used."
RIGHT_WITH_ALL_CELLS = (
    "This answer is right when all your cells up to the check are run, with any definitions they need from later cells,"
    " so it counts."
)
MOST_NAMES = 5  # in a remark
WORD = re.compile(r"\w+")
DEFINES_OTHER = "Your cell for this exercise does not define `{}`."
NOT_FOUND = "This exercise was not found in the submission."
NOT_REACHED = "Grading stopped before it reached this exercise."
SOLUTION_MARKS = {"### BEGIN SOLUTION", "### END SOLUTION"}
COURSE_CHAPTERS_IGNORED = (
    "The course's own solved chapters were skipped: {} in all, including {}. If this is your work, hand it in from a"
    " folder with another name."
)
MOST_REMARKS = 10  # on one submission
FEWEST_PUBLISHED_LINES = 3  # shorter answers are often the same without copying
SECONDS_TOGETHER = 3  # wall-clock, for all answers of a chapter in one process; if that is too short, each runs alone
SHARE_OF_TIME = 4  # one answer gets 1/4 of the remaining time, so that answers after many endless ones still get a turn
MOST_REMEMBERED = 2000  # answers whose results are kept; common answers appear early in a class
remembered_results: dict[
    str, dict
] = {}  # {`digest_of_answer` answer: its plain Result}, also from other processes that grade


@dataclass
class Attempt:
    """A notebook's answer to an exercise. lines: the student's own lines in the answer's cell, or None.

    texts: the code to run to restore the state in which the student checked the answer. needed: the part that the
    answer needs. unexplained: (the code that ran, its replies) of a wrong answer.
    """

    notebook: str
    exercise: Exercise
    graded: GradedExercise
    lines: list[str] | None = None
    texts: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()
    unexplained: tuple | None = None


class SubmissionSandbox:
    """A sandbox for one submission: no answer can use up the time of the others, and all can import its Python files.

    before_run: called before anything runs. explained: whether wrong answers will be explained now, and not later.
    settled: {digest: Outcome} of the answers that need not run again.
    """

    def __init__(self, sandbox, seconds, before_run, explained):
        self.sandbox, self.end, self.before_run, self.modules = sandbox, time.monotonic() + seconds, before_run, {}
        self.explained, self.settled = explained, {}

    def run_together(self, answers):
        """Run new answers to exercises of one chapter in one process, which is faster than one for each.

        answers: {digest: (exercise, texts)}. Answers that only compute run first, and once. The others run after them,
        and then again in reverse order. `settled` gets the Outcome of each answer that ran once, or gave the same both
        times. Any other answer must run alone.
        """
        self.before_run()
        plain = {digest for digest, (_, texts) in answers.items() if only_computes(texts)}
        first = self.outcomes(answers, sorted(answers, key=lambda digest: digest not in plain), 0)
        again = [digest for digest in reversed(first) if digest not in plain and first[digest].message]
        second = first | (self.outcomes(answers, again, OTHER_SEED) if again else {})
        self.settled |= {
            digest: outcome
            for digest, outcome in first.items()
            if outcome.message and outcome.message == second[digest].message
        }

    def outcomes(self, answers, order, seed):
        """{digest: Outcome} of answers, as in `run_together`, that run in one process in this order."""
        asked = [answers[digest] for digest in order]
        modules = self.modules_named_in("\n".join(text for _, texts in asked for text in texts))
        found = self.sandbox.run_together(
            [(texts, exercise.name, exercise.calls) for exercise, texts in asked],
            asked[0][0].chapter,
            patience=min(self.patience(), SECONDS_TOGETHER),
            modules=modules,
            seed=seed,
        )
        return dict(zip(order, found))

    def patience(self):
        """Wall-clock seconds that the next run may take."""
        return (self.end - time.monotonic()) / SHARE_OF_TIME

    def run(self, texts, *what, modules=None, **more):
        """The sandbox's Outcome, with the student's own Python files that the texts name, and other modules."""
        self.before_run()
        modules = self.modules_named_in("\n".join(texts)) | (modules or {})
        return self.sandbox.run(texts, *what, **more, patience=self.patience(), modules=modules)

    def modules_named_in(self, text):
        """The student's own Python files that a text names, and those that these name."""
        words, found = set(WORD.findall(text)), {}
        while more := {
            name: own for name, own in self.modules.items() if name not in found and words.issuperset(name.split("."))
        }:
            found |= more
            words.update(*map(WORD.findall, more.values()))
        return found


class SubmissionGrader:
    """The grading of one submission. send: called with the Report so far before anything that might hang."""

    def __init__(self, task, sandbox, send):
        self.task, self.protection, self.send = task, str(sandbox.protection), send
        self.sandbox = SubmissionSandbox(sandbox, task.seconds, self.send_news, task.explained)
        self.has_news = True  # whether there is anything not yet sent
        self.remarks = list(task.remarks)
        self.exercises = exercises_with(task.seed, task.own)
        self.attempts = {id: [] for id in self.exercises}
        self.quiz = []

    def grade_all(self):
        """Grade everything: first points, then explanations and questions, if the task wants them."""
        self.send_news()
        handed = unpack_submission(self.task.files)
        self.sandbox.modules = handed.modules
        self.remarks += handed.remarks
        if own := courses_own(handed):
            self.remarks.append(COURSE_CHAPTERS_IGNORED.format(len(own), own[0]))
        for name, content in handed.notebooks:
            if name not in own and (notebook := self.read(name, content)):
                self.grade(notebook)
        if not self.task.explained:
            return
        for attempt in self.unexplained():
            result = with_explanation(attempt.exercise, *attempt.unexplained, attempt.graded.result, self.sandbox)
            attempt.graded = replace(attempt.graded, result=result)
            self.has_news = True
        if self.task.questions:
            self.ask_about_answers()

    def unexplained(self):
        """The wrong Attempts that could be explained."""
        return [attempt for attempts in self.attempts.values() for attempt in attempts if attempt.unexplained]

    def ask_about_answers(self):
        """Draw the questions about the student's own code, from what counts."""
        best = {id: best_attempt(tried) for id, tried in self.attempts.items() if tried}
        asked = [
            (self.exercises[id], attempt.needed[-1], SandboxRunner(self.exercises[id], attempt.needed, self.sandbox))
            for id, attempt in best.items()
            if self.exercises[id].chapter in self.task.chapters
            if attempt.needed and attempt.graded.result.status != NOT_ATTEMPTED
        ]
        self.quiz = own_code.draw(asked, self.task.questions, f"{self.task.seed} {self.task.student.key}")

    def send_news(self):
        """Send the report if there is anything new."""
        if self.has_news:
            self.send(self.report(NOT_REACHED))
        self.has_news = False

    def read(self, name, content):
        """A Notebook, or None where it cannot be read."""
        self.send_news()
        try:
            return notebook_reading.read_notebook(name, content)
        except notebook_reading.NotANotebook as error:
            self.remarks.append(f"{name} {error}.")
            return None

    def grade(self, notebook):
        """Grade every exercise that a notebook holds."""
        found, held = {}, []
        places = {id: notebook.cells_defining(exercise) for id, exercise in self.exercises.items()}
        needed = {
            id: notebook.texts_needed(places[id][-1], exercise.name, provided_cells(exercise.chapter))
            for id, exercise in self.exercises.items()
            if places[id]
        }
        self.run_new_answers(needed)
        for id, exercise in self.exercises.items():
            marked = notebook.cells_marked(exercise)
            held += places[id] or marked
            if places[id]:
                attempt = graded_answer(exercise, notebook, places[id], needed[id], found, self.sandbox)
            else:
                attempt = attempt_without_definition(exercise, notebook)
            if attempt:
                found[id] = attempt
                self.attempts[id].append(attempt)
                self.has_news = True
        if not held:
            self.remarks.append(f"{notebook.name} contains no exercise of the course.")

    def run_new_answers(self, needed):
        """Run together the answers that nobody has handed in before and that may import the same from the course.

        needed: {id: (texts to run, names in them)}.
        """
        groups = collections.defaultdict(dict)
        for id, (texts, _) in needed.items():
            exercise = self.exercises[id]
            if not known_result(exercise, texts, self.sandbox):
                group = groups[exercise.chapter, hand_over_a_model(exercise.calls)]
                group[digest_of_answer(exercise, texts, self.sandbox)] = exercise, texts
        for answers in groups.values():
            if len(answers) > 1:
                self.sandbox.run_together(answers)

    def report(self, missing):
        """The Report so far. missing: the remark on an exercise that is not there."""
        attempts = {id: best_attempt(tried) for id, tried in self.attempts.items() if tried}
        lines = {id: attempt.lines for id, attempt in attempts.items() if attempt.lines is not None}
        remarks = self.remarks[:MOST_REMARKS]
        if len(self.remarks) > MOST_REMARKS:
            remarks.append(f"Remarks not shown: {len(self.remarks) - MOST_REMARKS}.")
        return Report(
            student=self.task.student,
            graded=[
                attempts[id].graded
                if id in attempts
                else GradedExercise(plain_result(exercise, NOT_ATTEMPTED, missing))
                for id, exercise in self.exercises.items()
            ],
            remarks=remarks,
            protection=self.protection,
            digest=self.task.digest,
            late=self.task.late,
            lines=lines,
            published=[id for id in lines if id in EXERCISES and is_published(EXERCISES[id], lines[id])],
            quiz=self.quiz,
            incomplete=not self.task.explained and bool(self.unexplained() or self.task.questions),
        )


def grade_submission(task, sandbox, send):
    """The Report of a task. send: called with earlier ones, each more complete than the one before."""
    grading = SubmissionGrader(task, sandbox, send)
    grading.grade_all()
    return grading.report(NOT_FOUND)


def courses_own(handed):
    """The names of solved chapters in a submission that have their sources beside them, as in a whole clone."""
    found = [
        f"/solutions/{source.stem}"
        for source in sources()
        if any(f"/{name}".endswith(f"/solutions/{source.name}") for name, _ in handed.scripts)
    ]
    ends = tuple(f"{chapter}{kind}" for chapter in found for kind in (".ipynb", ".py"))
    return [name for name, _ in handed.notebooks if f"/{name}".endswith(ends)]


def graded_answer(exercise, notebook, places, needed, earlier, sandbox):
    """The Attempt at an exercise that these cells define.

    needed: (texts to run, names in them). earlier: {id: Attempt} at the exercises before.
    """
    times = sum(exercise.name in statement.binds for place in places for statement in notebook.cells[place].statements)
    remarks = [DEFINED_TWICE.format(exercise.name, times)] if times > 1 else []
    broken = [cell for cell in notebook.cells_marked(exercise) if cell.problem]
    remarks += [f"The cell marked for this exercise {cell.problem}." for cell in broken]

    provided = provided_cells(exercise.chapter)
    whole = tuple(notebook.texts_up_to_check(exercise, provided_texts(), provided))
    texts, used = needed
    result, replies = remembered_result(exercise, texts, sandbox)
    if result.status != NOT_ATTEMPTED and (lent := notebook.names_from_chapter(places[-1], used, provided)):
        remarks.append(DEFINED_BY_CHAPTER.format(", ".join(f"`{name}`" for name in lent[:MOST_NAMES])))
    better = None
    if result.status == NOT_YET:
        better = result_with_all_cells(exercise, whole, texts, sandbox)
    if result.status != RIGHT and not better:
        published = (earlier[id] for id in earlier if id in EXERCISES)
        wrong = [attempt.exercise for attempt in published if attempt.graded.result.status != RIGHT]
        better = result_with_helpers(exercise, [helper for helper in wrong if helper.name in used], texts, sandbox)
    if better:
        result, replies = better[0], None
        remarks.append(better[1])
    unexplained = (texts, replies) if result.status == NOT_YET and (replies or replies is LATER) else None
    own = own_lines(notebook.cells[places[-1]].source)
    return Attempt(notebook.name, exercise, GradedExercise(result, remarks), own, whole, tuple(texts), unexplained)


def result_with_all_cells(exercise, whole, texts, sandbox):
    """(Result, remark) of an answer that is right if all the student's own cells run; None for another answer.

    whole: all code that then runs. texts: the code selected by names alone, which ran first.
    """
    if list(whole) == texts:
        return None
    result, _ = remembered_result(exercise, whole, sandbox, again=True)
    return (result, RIGHT_WITH_ALL_CELLS) if result.status == RIGHT else None


def result_with_helpers(exercise, helpers, texts, sandbox):
    """(Result, remark) of an answer that is right with right answers to other exercises; None for another answer."""
    helpers = [helper for helper in helpers if helper.name != exercise.name]
    worked = {f"worked_{helper.name}": worked_answer(helper) for helper in helpers}
    if not worked:
        return None
    imports = "\n".join(f"from worked_{helper.name} import {helper.name}" for helper in helpers)
    result, _ = remembered_result(exercise, [*texts[:-1], imports, texts[-1]], sandbox, True, worked)
    names = " and ".join(f"your `{helper.name}` (exercise {helper.id})" for helper in helpers)
    return (result, RIGHT_WITH_HELPERS.format(names)) if result.status == RIGHT else None


def known_result(exercise, texts, sandbox, again=False):
    """What `remembered_result` returns where that is known already; None where it is not."""
    if known := remembered_results.get(digest_of_answer(exercise, texts, sandbox, again)):
        return result_from_json(known), None
    if not sandbox.explained and not again:
        known = remembered_results.get(digest_of_answer(exercise, texts, sandbox, LATER))
        return known and (result_from_json(known), LATER)
    return None


def remembered_result(exercise, texts, sandbox, again=False, worked=None):
    """(Result, replies to explain it from, or LATER) of the answer in these texts; None if there is nothing to explain.

    Many students hand in the same answer, so results are kept, except timeouts and the like. A right answer that is
    not settled runs once more: if it were right by chance, it would count for all who hand it in.

    again: this is a further try, which is never explained. worked: {name: text} of modules with worked answers.
    """
    if known := known_result(exercise, texts, sandbox, again):
        return known
    key = digest_of_answer(exercise, texts, sandbox, again)
    asked = texts, exercise.name, exercise.calls, exercise.chapter
    settled = sandbox.settled.get(key)
    outcome = settled or sandbox.run(*asked, modules=worked)
    result = result_of_outcome(exercise, outcome)
    if result.status == NOT_YET and not again or outcome.trouble:
        if outcome.replies and not sandbox.explained:
            remember(digest_of_answer(exercise, texts, sandbox, LATER), result)
        return result, outcome.replies
    if result.status == RIGHT and not settled:
        second = sandbox.run(*asked, modules=worked, seed=OTHER_SEED)
        if second.out_of_time:
            return result, None
        if second.message != outcome.message and result_of_outcome(exercise, second).status != RIGHT:
            result = plain_result(exercise, NOT_YET, DEPENDS_ON_CHANCE)
    remember(key, result)
    return result, None


seeded = functools.cache(private_seed.with_seed)  # students of one class share most exercises


@functools.cache
def exercises_with(seed, own):
    """{id: Exercise} of the course and of an instructor's own files, with calls drawn from a private seed."""
    there = EXERCISES | own_exercises.exercises_of(own)
    return {id: seeded(exercise, seed) for id, exercise in there.items()}


@functools.cache
def handed_out(chapter):
    """The original Notebook of a chapter."""
    (path,) = (ROOT / "notebooks").glob(f"{chapter:02}_*.ipynb")
    return notebook_reading.read_notebook(path.name, path.read_bytes())


@functools.cache
def provided_texts():
    """The texts of all code cells that the course hands out."""
    return {cell.source for source in sources() for cell in handed_out(int(source.name[:2])).cells}


def provided_cells(chapter):
    """The code cells of an original chapter, without those to fill in."""
    if chapter == OWN_CHAPTER:
        return []
    return [cell for cell in handed_out(chapter).cells if not cell.exercise]


@functools.cache
def provided_lines():
    """All lines of these cells and the solution marks: none is the student's own."""
    return {" ".join(line.split()) for text in provided_texts() for line in text.split("\n")} | SOLUTION_MARKS


def own_lines(text):
    """The lines of an answer's cell that are the student's own."""
    return similar_answers.own_lines(text, provided_lines())


@functools.cache
def published_lines(exercise):
    """The lines of an exercise's published answer."""
    code, _ = solutions.worked_answer(exercise.id)
    return set(own_lines(code))


def is_published(exercise, lines):
    """Whether all of a student's own lines, if there are several, are the published answer's."""
    return len(lines) >= FEWEST_PUBLISHED_LINES and set(lines) == published_lines(exercise)


def with_explanation(exercise, texts, replies, result, sandbox):
    """The result of a wrong answer with its explanation."""
    key = digest_of_answer(exercise, texts, sandbox)
    if known := remembered_results.get(key):  # the same answer in another notebook of this submission
        return result_from_json(known)
    program = parse_program(texts[-1], exercise.name, {}, "<your cell>")
    found = explain_result(exercise, program, SandboxRunner(exercise, texts, sandbox), replies, result)
    remember(key, found)
    return found


def remember(key, result):
    """Remember a result if there is room."""
    if len(remembered_results) < MOST_REMEMBERED:
        remembered_results[key] = vars(result)


def digest_of_answer(exercise, texts, sandbox, again=False):
    """What identifies an answer and all code that it runs with."""
    modules = sorted(sandbox.modules_named_in("\n".join(texts)).items())
    asked = exercise.id, exercise.seed, getattr(exercise, "text", "")
    return hashlib.sha256(repr((*asked, *texts, modules, again)).encode()).hexdigest()


class SandboxRunner:
    """Runs an answer in the sandbox again."""

    def __init__(self, exercise, texts, sandbox):
        self.exercise, self.texts, self.sandbox = exercise, texts, sandbox

    def reply(self, calls):
        """The answer's replies to the calls; none if it did not end."""
        return self.run(self.texts, calls)

    def watch(self, call, text=None):
        """The steps of one call, as from `watched`; none if it did not end.

        text: of the answer's cell, if it is not the student's own.
        """
        return self.run([*self.texts[:-1], text] if text else self.texts, [call], watch=True)

    def try_fixes(self, changes, calls):
        """For each Fix, the replies of the fixed answer to the calls; none if it did not end."""
        return self.run(self.texts, calls, fixes=changes) if changes else []

    def run(self, texts, calls, **more):
        """What the sandbox replies."""
        return self.sandbox.run(texts, self.exercise.name, calls, self.exercise.chapter, **more).replies or []


def result_of_outcome(exercise, outcome):
    """The Result of an Outcome of the sandbox."""
    if outcome.trouble:
        return plain_result(exercise, NOT_YET, f"Your code {outcome.trouble.rstrip('.')}.")
    result = judge(exercise, outcome.replies)
    if result.status == NOT_ATTEMPTED:
        return plain_result(exercise, NOT_ATTEMPTED, f"`{exercise.name}` is still the original stub.")
    return result


def attempt_without_definition(exercise, notebook):
    """The Attempt in a marked cell that does not define the required name; None if there is no such cell."""
    for cell in notebook.cells_marked(exercise):
        if cell.problem or cell.statements:
            why = f"Your cell {cell.problem}." if cell.problem else DEFINES_OTHER.format(exercise.name)
            return Attempt(notebook.name, exercise, GradedExercise(plain_result(exercise, NOT_YET, why)))
    return None


def best_attempt(attempts):
    """The best of the Attempts at an exercise in several notebooks, with a remark on why it is this one."""
    latest = {}  # {texts: the attempt that runs them}, the last one by name first
    for attempt in sorted(attempts, key=lambda attempt: natural_order(attempt.notebook), reverse=True):
        if attempt.graded.result.status != NOT_ATTEMPTED:
            latest.setdefault(attempt.texts, attempt)
    compared = list(latest.values())[:MOST_ANSWERS] or attempts
    found = max(compared, key=lambda attempt: WORST_TO_BEST.index(attempt.graded.result.status))
    if len(attempts) == 1:
        return found
    remark = IN_SEVERAL_NOTEBOOKS.format(len(attempts), found.notebook)
    if len(latest) > MOST_ANSWERS:
        remark = IN_TOO_MANY_NOTEBOOKS.format(len(attempts), len(latest), MOST_ANSWERS, found.notebook)
    return replace(found, graded=replace(found.graded, remarks=[*found.graded.remarks, remark]))


def natural_order(name):
    """A sort key for names that puts `v10` after `v9`, and `answer (1)` after `answer`."""
    stem = NOTEBOOK.sub("", name).casefold()
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", stem)]


def plain_result(exercise, status, message):
    """A Result without numbers to look at."""
    return Result(exercise.id, exercise.title, status, message, exercise.points)


@functools.cache
def worked_answer(exercise):
    """Python that defines an exercise's worked answer, with the imports and definitions that it uses."""
    code, _ = solutions.worked_answer(exercise.id)
    cells = [*provided_cells(exercise.chapter), notebook_reading.Cell(code)]
    texts, _ = notebook_reading.Notebook("", cells).texts_needed(len(cells) - 1, exercise.name)
    return "\n".join(texts)
