"""An instructor's own exercise: made from an example, tested, handed out, graded with the rest, outside the clone."""

import base64
import json
import subprocess
import sys

import pytest
import torch

from course_tools import repository
from course_tools.commands import exercise as command
from course_tools.commands import grade
from course_tools.grading import exercise_families, own_exercises
from course_tools.grading.reports import ReportStore, Student
from course_tools.repository import ROOT
from course_utils.checking import commands, packed, progress_file
from course_utils.judging import serialize
from course_utils.judging.result import NOT_ATTEMPTED, NOT_YET, RIGHT
from tests.support.handed_in import NAME, lay, notebook
from tests.support.handed_in import RIGHT as RIGHT_3_2
from tests.support.sandboxes import BEST, skip_without

EXAMPLE = own_exercises.EXAMPLE.read_text(encoding="utf-8")
OTHER_RIGHT = """def my_local_weights(scores, width):
    T = scores.shape[-1]
    far = [[abs(s - t) > width for s in range(T)] for t in range(T)]
    return scores.masked_fill(torch.tensor(far), -torch.inf).softmax(dim=-1)
"""
WRONG = "def my_local_weights(scores, width):\n    return scores.softmax(-1)\n"


@pytest.fixture
def do(monkeypatch, capsys):
    """Run the command in this process: what it said."""
    monkeypatch.setattr(command.environment, "run_with_environment", lambda *arguments: None)

    def run(main, *arguments):
        end = ""
        try:
            main(list(map(str, arguments)))
        except SystemExit as error:
            end = str(error)
        return "".join([*capsys.readouterr(), end])

    return run


def handed_out(folder):
    """The cells of the notebook that was built, {id: source}."""
    made = json.loads((folder / command.NOTEBOOK).read_text(encoding="utf-8"))
    return made, {cell["id"]: "".join(cell["source"]) for cell in made["cells"]}


def answered(made, code, number=1):
    """A student's copy of it, with an answer to exercise 100.NUMBER, as bytes."""
    copy = json.loads(json.dumps(made))
    for cell in copy["cells"]:
        if cell["id"] == f"exercise-100-{number}" and code:
            cell["source"] = code
    return json.dumps(copy).encode()


def test_the_notebook_opens_alone_as_a_chapter_does(do, tmp_path):
    lay(tmp_path, {"local.py": EXAMPLE.encode()})
    do(command.main, "build", tmp_path)
    made, cells = handed_out(tmp_path)
    for chapter in (json.loads(path.read_bytes()) for path in repository.learners()[:2]):
        first = next(cell for cell in chapter["cells"] if cell["cell_type"] == "code")
        assert next(iter(cells.items())) == ("setup", "".join(first["source"]))
        assert made["cells"][0]["execution_count"] is None
        assert made["metadata"]["kernelspec"] == chapter["metadata"]["kernelspec"]


@pytest.mark.parametrize("check", own_exercises.CHECKS)
def test_hint_gives_the_hints_of_own_exercises_whatever_their_check(do, tmp_path, monkeypatch, check):
    lay(tmp_path, {"local.py": EXAMPLE.replace('CHECK = "first"', f'CHECK = "{check}"').encode()})
    do(command.main, "build", tmp_path)
    _, cells = handed_out(tmp_path)
    monkeypatch.setenv(progress_file.PATH_VARIABLE, "")
    monkeypatch.setattr(progress_file, "in_memory", {})
    monkeypatch.setattr(commands, "HINTS", names := dict(commands.HINTS))
    monkeypatch.setattr(packed, "HINTS", names)
    names = {}
    exec(cells["imports"] + "\n" + cells["hints"], names)
    first, second = (names["hint"]("100.1").text for _ in range(2))
    assert (first, second) == (
        "Hint 1 of 2: How far is token s from token t?",
        "Hint 2 of 2: Hide tokens that are too far away before softmax.",
    )
    assert 'hint("100.1")' in cells["words-100-1"] and "How far" not in str(cells)
    assert names["hint"]("1.1").text.startswith("Hint 1 of 3") and "There is no" in names["hint"]("100.2").text


def test_from_the_example_to_grades_without_a_change_of_the_clone(do, tmp_path):
    before = changes_of_clone()
    folder = tmp_path / "exercises"
    assert "a working example" in do(command.main, "new", folder)
    assert do(command.main, "test", folder) == "1 exercise passes: 100.1.\n"
    assert "ready to hand out" in do(command.main, "build", folder)
    made, cells = handed_out(folder)
    assert "masked_fill" not in str(cells) and cells["exercise-100-1"].endswith("...")
    students = {"right": OTHER_RIGHT, "wrong": WRONG, "stub": None}
    lay(tmp_path / "downloads", {f"{who}/own.ipynb": answered(made, code) for who, code in students.items()})
    chapter = notebook({"3.2": RIGHT_3_2})
    lay(tmp_path / "downloads", {f"right/{NAME}": json.dumps(chapter).encode()})
    (tmp_path / "assignment.toml").write_text(
        'chapters = [3]\nseed = "autumn"\n[points]\n"100.1" = 7', encoding="utf-8"
    )
    out = tmp_path / "grades"
    said = do(grade.main, tmp_path / "downloads", "--out", out, "--quiz", 2, "--workers", 1)
    assert "3 of 3 submissions were graded" in said
    found = {who: graded_of(out, who) for who in students}
    assert [found[who]["100.1"].status for who in students] == [RIGHT, NOT_YET, NOT_ATTEMPTED]
    assert "`width`" in found["wrong"]["100.1"].message and found["right"]["3.2"].status == RIGHT
    table = (out / "grades.csv").read_text(encoding="utf-8-sig")
    assert "100.1,Weights of the nearest tokens,right,7" in table
    assert "100.1" in {each["exercise"] for each in ReportStore(out).get(Student("right", "right")).quiz}
    assert changes_of_clone() == before


def test_own_exercises_alone_are_chapter_100(do, tmp_path):
    downloads, out = tmp_path / "downloads", tmp_path / "grades"
    downloads.mkdir()
    assert "your own exercises, in a folder exercises" in do(grade.main, downloads, "--out", out, "--chapters", 100)
    folder = lay(tmp_path / "exercises", {"local.py": EXAMPLE.encode()})
    do(command.main, "build", folder)
    made, _ = handed_out(folder)
    lay(downloads, {"right/own.ipynb": answered(made, OTHER_RIGHT), "wrong/own.ipynb": answered(made, WRONG)})
    assert "100 stands for your own exercises" in do(grade.main, downloads, "--out", out, "--workers", 1)
    said = do(grade.main, downloads, "--out", out, "--workers", 1, "--chapters", 100)
    assert "2 of 2 submissions were graded" in said, said
    assert (out / "totals.csv").read_text(encoding="utf-8-sig").splitlines()[1:] == [
        "right,,2,2,,,feedback/right.html",
        "wrong,,0,2,,,feedback/wrong.html",
    ]
    assert "2 points in 1 exercises" in do(grade.main, downloads, "--new-assignment", "--chapters", 100)
    before = (out / "totals.csv").read_bytes()
    do(grade.main, downloads, "--out", out, "--workers", 1)  # as assignment.toml says now
    assert (out / "totals.csv").read_bytes() == before
    archive = tmp_path / "autograder.zip"
    assert "there are exercises in chapters" in do(grade.main, "--autograder", archive, "--chapters", 100)


def graded_of(out, who):
    """{id: Result} of a student."""
    return {entry.result.id: entry.result for entry in ReportStore(out).get(Student(who, who)).graded}


def changes_of_clone():
    """What git says of changed files."""
    command = ["git", "status", "--porcelain"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8").stdout


@pytest.mark.parametrize("check, compared", [("all", 3), ("first", 1), ("none", None)])
def test_the_students_own_check_compares_as_much_as_the_instructor_allows(do, tmp_path, check, compared):
    lay(tmp_path, {"local.py": EXAMPLE.replace('CHECK = "first"', f'CHECK = "{check}"').encode()})
    do(command.main, "build", tmp_path)
    _, cells = handed_out(tmp_path)
    if compared is None:
        assert "check-100-1" not in cells and "packed" not in str(cells).replace("check_packed", "")
        return
    text = cells["check-100-1"].split('"')[1]
    right, wrong = (own_exercises.made(code, "my_local_weights") for code in (OTHER_RIGHT, WRONG))
    result = packed.check_packed(text, right)
    assert result.status == RIGHT and ("2 more inputs" in result.message) == (compared == 1)
    assert packed.check_packed(text, wrong).status == NOT_YET
    first_only = own_exercises.made(
        "def my_local_weights(scores, width):\n    known = {5: 1}\n    T = scores.shape[-1]\n"
        "    far = torch.ones(T, T).triu(known.get(T, 9) + 1) + torch.ones(T, T).tril(-known.get(T, 9) - 1)\n"
        "    return scores.masked_fill(far > 0, -torch.inf).softmax(-1)",
        "my_local_weights",
    )
    assert packed.check_packed(text, first_only).status == (RIGHT if compared == 1 else NOT_YET)


@pytest.mark.parametrize(
    "old, new, words",
    [
        ("> width", ">= width", "the worked answer and the oracle differ"),
        ("tril(width - 1).triu(1 - width)", "tril(width).triu(-width)", "one place too narrow) is judged right"),
        (".tril(width).triu(-width)", ".tril(width)", "this right answer is judged wrong"),
        ("def oracle(scores, width)", "def oracle(scores)", "the oracle stops with TypeError"),
    ],
)
def test_what_does_not_hold_is_named(do, tmp_path, old, new, words):
    assert old in EXAMPLE
    lay(tmp_path, {"local.py": EXAMPLE.replace(old, new, 1).encode()})
    assert words in do(command.main, "test", tmp_path)


@pytest.mark.parametrize(
    "text, words",
    [
        ("1 +", "does not run: SyntaxError"),
        ("raise RuntimeError('no')", "does not run: RuntimeError: no"),
        ("", "needs NAME"),
        (EXAMPLE.replace("def oracle", "def other"), "needs oracle"),
        (EXAMPLE.replace('CHECK = "first"', 'CHECK = "some"'), "CHECK must be one of all, first, none"),
        (EXAMPLE.replace("POINTS = 2", 'POINTS = "three"'), "POINTS must be a whole number above 0"),
        (EXAMPLE.replace('NAME = "my_local_weights"', 'NAME = "mine"'), "a definition of mine"),
    ],
)
def test_a_file_that_makes_no_exercise_is_refused_in_a_sentence(do, tmp_path, text, words):
    lay(tmp_path, {"local.py": text.encode()})
    assert words in do(command.main, "test", tmp_path)


def test_two_files_cannot_ask_for_one_name_and_nothing_is_overwritten(do, tmp_path):
    lay(tmp_path, {"a.py": EXAMPLE.encode(), "b.py": EXAMPLE.encode(), command.EXAMPLE: b"mine"})
    assert "already exists" in do(command.main, "new", tmp_path)
    (tmp_path / command.EXAMPLE).unlink()
    assert "two files ask for my_local_weights" in do(command.main, "test", tmp_path)
    assert "contains no exercise" in do(command.main, "test", tmp_path / "nothing")
    assert "usage:" in do(command.main, "build")


def test_a_seed_writes_seven_exercises_that_hold_and_says_that_they_are_no_secret(do, tmp_path):
    said = do(command.main, "new", tmp_path / "exercises", "--seed", "autumn")
    assert "7 more exercises" in said and "anybody who has this course" in said.casefold()
    assert do(command.main, "test", tmp_path / "exercises").startswith("7 exercises pass: 100.1, ")
    assert "ready to hand out" in do(command.main, "build", tmp_path / "exercises")
    before = (tmp_path / "exercises/mask.py").read_bytes()
    assert "already exists" in do(command.main, "new", tmp_path / "exercises", "--seed", "spring")
    assert (tmp_path / "exercises/mask.py").read_bytes() == before
    for wrong in (
        ["new", "x", "--seed"],
        ["test", "x", "--seed", "autumn"],
        ["new", "x", "autumn"],
        ["new", "x", "--students", "y"],
    ):
        assert "usage:" in do(command.main, *wrong)


PUZZLE = exercise_families.drawn("autumn")["puzzle.py"]


def test_a_puzzle_is_checked_on_the_students_machine_by_what_its_head_does_and_holds_no_answer(do, tmp_path):
    lay(tmp_path, {"puzzle.py": PUZZLE.encode()})
    do(command.main, "build", tmp_path)
    _, cells = handed_out(tmp_path)
    puzzle = own_exercises.exercise_of("100.1", "puzzle.py", PUZZLE)
    names = {}
    exec(cells["given-100-1"], names)
    assert names["embeddings"] == puzzle.embeddings and len(set(map(tuple, puzzle.embeddings.values()))) == 7
    text = cells["check-100-1"].split('"')[1]
    assert serialize.unpack(base64.b64decode(text))["replies"] == [{"values": [None]}]
    for right in puzzle.right_answers:
        assert packed.check_packed(text, right).status == RIGHT
    for code, _ in puzzle.wrong:
        result = packed.check_packed(text, own_exercises.made(code, puzzle.name))
        assert result.status == NOT_YET and 'In "' in result.message or "sentence" in result.message
    too_close = packed.check_packed(text, own_exercises.made(puzzle.wrong[-1][0], puzzle.name))
    assert "not by enough" in too_close.message
    stub = own_exercises.made(cells["exercise-100-1"], puzzle.name)
    assert packed.check_packed(text, stub).status == NOT_ATTEMPTED


def test_a_puzzle_with_a_wrong_oracle_or_none_that_runs_is_named(do, tmp_path):
    other = PUZZLE.replace("        outputs.append([", "        outputs.append([100 + ")
    lay(tmp_path, {"puzzle.py": other.encode()})
    assert "this right answer is judged wrong" in do(command.main, "test", tmp_path)
    lay(tmp_path, {"puzzle.py": PUZZLE.replace("def oracle(words)", "def oracle()").encode()})
    assert "puzzle.py: calls or oracle raised TypeError" in do(command.main, "test", tmp_path)


def test_a_puzzle_is_graded_with_the_rest(do, tmp_path):
    folder = lay(tmp_path / "exercises", {"local.py": EXAMPLE.encode(), "puzzle.py": PUZZLE.encode()})
    do(command.main, "build", folder)
    made, _ = handed_out(folder)
    answers = {f"right {number}": code for number, code in enumerate(puzzle_of("autumn").answers)}
    answers |= {f"wrong {number}": code for number, (code, _) in enumerate(puzzle_of("autumn").wrong)}
    answers |= {"copied": puzzle_of("spring").answers[0]}
    lay(tmp_path / "downloads", {f"{who}/own.ipynb": answered(made, code, 2) for who, code in answers.items()})
    do(grade.main, tmp_path / "downloads", "--out", tmp_path / "grades", "--chapters", 100, "--workers", 1)
    found = {who: graded_of(tmp_path / "grades", who)["100.2"] for who in answers}
    assert {who: each.status for who, each in found.items()} == {
        who: RIGHT if who.startswith("right") else NOT_YET for who in answers
    }
    assert "Wherever" in found["copied"].message or 'In "' in found["copied"].message


def test_names_of_students_that_cannot_be_folders_are_refused(do, tmp_path):
    names = tmp_path / "names.txt"
    for text, words in (("Ada\n../Ben\n", "'../Ben' cannot be the name of a folder"), (None, "cannot be read")):
        names.write_text(text, encoding="utf-8") if text else names.unlink()
        said = do(command.main, "new", tmp_path / "exercises", "--seed", "autumn", "--students", names)
        assert words in said and not (tmp_path / "exercises").exists()


def test_each_student_has_another_puzzle_and_a_classmates_answer_gets_nothing(do, tmp_path):
    folder, names = tmp_path / "exercises", ["Ada Weber", "Ben Ito", "Cleo"]
    (tmp_path / "names.txt").write_text("\n".join([*names, ""]), encoding="utf-8")
    assert "3 students have a puzzle of their own" in do(
        command.main, "new", folder, "--seed", "autumn", "--students", tmp_path / "names.txt"
    )
    for path in folder.glob("*.py"):
        if path.name not in ("mask.py", "puzzle.py"):
            path.unlink()
    said = do(command.main, "test", folder)
    assert said == "2 exercises pass: 100.1, 100.2. So do 3 in the folders of 3 students.\n"
    assert "the folders of 3 students" in do(command.main, "build", folder)
    made = {name: handed_out(folder / name)[0] for name in names}
    assert len({"".join(cell["source"]) for each in made.values() for cell in each["cells"][-3:-2]}) == 3
    puzzles = {name: puzzle_of(f"autumn {name}").answers[0] for name in names}
    downloads = {
        "Ada Weber/own.ipynb": answered(made["Ada Weber"], puzzles["Ada Weber"], 2),
        "Weber_copied/own.ipynb": answered(made["Ada Weber"], puzzles["Ada Weber"], 2),
        "Ito, Ben/own.ipynb": answered(made["Ben Ito"], puzzles["Ada Weber"], 2),
    }
    lay(tmp_path / "downloads", downloads)
    said = do(
        grade.main, tmp_path / "downloads", "--out", tmp_path / "grades", "--chapters", 100, "--workers", 1, "--quiz", 2
    )
    assert f"{folder / 'Cleo'}: Cleo has no submission here" in said
    assert "graded with the class's exercises: Weber_copied" in said
    table = (tmp_path / "grades/grades.csv").read_text(encoding="utf-8-sig")
    rows = [line.split(",") for line in table.replace('"Ito, Ben"', "Ben").splitlines() if "100.2" in line]
    assert {row[0]: next(part for part in row if part in (RIGHT, NOT_YET)) for row in rows} == {
        "Ada Weber": RIGHT,
        "Ben": NOT_YET,
        "Weber_copied": NOT_YET,
    }


@pytest.mark.parametrize(
    "wrong, words",
    [
        ({"Ada/other.py": PUZZLE}, "other.py matches no file in"),
        ({"Ada/puzzle.py": PUZZLE.replace("POINTS = 3", "POINTS = 4")}, "give its exercises the POINTS"),
        ({"Ada/puzzle.py": "1 +"}, "does not run: SyntaxError"),
        ({"Ada/puzzle.py": PUZZLE, "ADA/puzzle.py": PUZZLE}, "could both be the folder of Ada"),
        ({"Ada Weber/puzzle.py": PUZZLE}, "could be the folder of 2 students"),
    ],
)
def test_a_students_folder_that_makes_no_sense_ends_the_run_in_a_sentence(do, tmp_path, wrong, words):
    lay(tmp_path / "exercises", {"puzzle.py": PUZZLE.encode(), **{name: text.encode() for name, text in wrong.items()}})
    handed = dict.fromkeys(["Ada/a.ipynb", "Ada Weber/a.ipynb", "Weber, Ada/a.ipynb"], b"{}")
    lay(tmp_path / "downloads", handed)
    said = do(grade.main, tmp_path / "downloads", "--out", tmp_path / "grades", "--chapters", 100, "--workers", 1)
    assert words in said


def puzzle_of(seed):
    """The puzzle that a seed draws."""
    return own_exercises.exercise_of("100.1", "puzzle.py", exercise_families.drawn(seed)["puzzle.py"])


def test_a_name_that_the_course_asks_for_is_refused(do, tmp_path):
    lay(tmp_path, {"local.py": EXAMPLE.replace("my_local_weights", "my_causal_weights").encode()})
    assert "exercise 3.2 of the course already asks for" in do(command.main, "test", tmp_path)


SPIES = """def my_local_weights(scores, width):
    import gc, glob, types
    for each in gc.get_objects():
        if isinstance(each, types.FunctionType) and each.__name__ in ("oracle", "my_local_weights"):
            if each.__code__ is not my_local_weights.__code__:
                return each(scores, width)
    for path in glob.glob("FOLDER/*.py"):
        names = {"__name__": "spied"}
        exec(open(path).read(), names)
        return names["oracle"](scores, width)
    from course_tools.grading import own_exercises
    return own_exercises.exercises_of((("a.py", own_exercises.EXAMPLE.read_text()),))["100.1"].worked(scores, width)
"""


@pytest.mark.every_setting("answers that look for an own exercise's oracle")
def test_an_answer_finds_neither_the_file_of_the_exercise_nor_its_oracle(do, tmp_path):
    skip_without(BEST)
    folder = lay(tmp_path / "exercises", {"local.py": EXAMPLE.encode()})
    do(command.main, "build", folder)
    made, _ = handed_out(folder)
    spying = answered(made, SPIES.replace("FOLDER", str(folder)))
    lay(tmp_path / "downloads", {"spy/own.ipynb": spying, "right/own.ipynb": answered(made, OTHER_RIGHT)})
    do(grade.main, tmp_path / "downloads", "--out", tmp_path / "grades", "--chapters", 3, "--workers", 1)
    found = {who: graded_of(tmp_path / "grades", who)["100.1"] for who in ("spy", "right")}
    assert [found[who].status for who in found] == [NOT_YET, RIGHT], found["spy"].message
    # Outside the walls it finds them. In a process of its own: other tests' exercises ask for this name, too.
    outside = SPIES.replace("FOLDER", str(folder)) + "import torch\nprint(my_local_weights(torch.zeros(1, 3, 3), 1))\n"
    seen = subprocess.run([sys.executable, "-c", outside], cwd=ROOT, capture_output=True, encoding="utf-8")
    right = own_exercises.made(OTHER_RIGHT, "my_local_weights")(torch.zeros(1, 3, 3), 1)
    assert seen.stdout == f"{right}\n", seen.stderr
