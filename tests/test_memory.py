"""Questions to fill in: a right answer may be written in many ways, and what was missed comes up until it stays."""

import json
import re
from datetime import date, timedelta
from pathlib import Path

import pytest

from course_utils.checking import answer, progress_file, review
from course_utils.exercises import FILL_INS, solutions
from tests.support import stored

each_fill_in = pytest.mark.parametrize("fill_in", FILL_INS.values(), ids=list(FILL_INS))
FIRST = FILL_INS["M2.1"]


@pytest.fixture
def file(tmp_path, monkeypatch):
    """Where progress is kept, empty."""
    monkeypatch.setenv(progress_file.PATH_VARIABLE, str(tmp_path / "progress.json"))
    monkeypatch.setattr(progress_file, "in_memory", {})
    return tmp_path / "progress.json"


def days_ago(file, days):
    """Make it as if all that was answered had been answered so many days before."""
    known = json.loads(file.read_text(encoding="utf-8"))
    for entry in known.values():
        entry["on"] = (date.today() - timedelta(days=days)).isoformat()
    file.write_text(json.dumps(known), encoding="utf-8")


# --- the questions ----------------------------------------------------------------------------------------------------


@each_fill_in
def test_a_chapter_asks_it_and_answers_it_rightly(fill_in):
    chapter = int(re.findall(r"\d+", fill_in.id)[0])
    kind = {"M": "memory", "S": "step"}[fill_in.id[0]]
    cells = stored.read(stored.of_chapter(chapter)).cells
    place = next(k for k, cell in enumerate(cells) if cell.id == f"{kind}-{fill_in.id[1:].replace('.', '-')}")
    given = re.fullmatch(rf'answer\("{fill_in.id}", "(.*)"\)', cells[place].source)[1]
    assert fill_in.accepts(given) and stored.printed(cells[place]).startswith(f"✓ {fill_in.id}")
    if fill_in.from_memory:
        assert f"**From memory {fill_in.id[1:]}.** {fill_in.prompt}" in " ".join(cells[place - 1].source.split())
        assert fill_in.section[0] < chapter


@each_fill_in
def test_the_reply_leads_back_to_a_heading_that_is_there(fill_in):
    number, heading = fill_in.section
    assert re.search(rf"^# ##+ {re.escape(heading)}$", solutions.source_of(number), re.MULTILINE)


@pytest.mark.parametrize("chapter", sorted({int(id[1:].partition(".")[0]) for id in FILL_INS if id.startswith("M")}))
def test_a_chapter_opens_with_three_from_memory(chapter):
    assert sum(id.startswith(f"M{chapter}.") for id in FILL_INS) == 3, "replace one"


@pytest.mark.parametrize(
    "id, given, right",
    [
        ("M2.1", "The query.", True),
        ("M2.1", "queries", True),
        ("M2.1", "key", False),
        ("M2.2", "1 / 6", True),
        ("M2.2", "0.1667", True),
        ("M2.2", "One sixth", True),
        ("M2.2", "0", False),
        ("M2.3", "0", True),
        ("M2.3", "not at all", True),
        ("M2.3", "10", False),
        ("S1.2", "queries @ keys.transpose(0, 1)", True),
        ("S1.2", "keys", False),
        ("S2.1", "b, d, a, e, c", True),
        ("S2.1", "d b a e c", True),
        ("S2.1", "a b d e c", False),
        ("S2.2", "keys.size(-1)**0.5", True),
        ("S2.2", "math.sqrt(d_k)", True),
        ("M2.1", "the query vector", True),
        ("M2.3", "it doesn't change", True),
        ("M4.1", "negative infinity", True),
        ("M4.1", 'float("-inf")', True),
        ("M4.1", "-torch.inf", True),
        ("M4.1", "infinity", False),
        ("M5.1", "nothing changes", True),
        ("M5.1", "It doesn’t change.", True),
        ("M5.1", "it changes", False),
        ("S3.2", "torch.eye(T) == 0", True),
        ("S3.2", "torch.eye(T)", False),
        ("S2.2", "keys.shape[-1]", False),
    ],
)
def test_an_answer_may_be_written_in_many_ways(id, given, right):
    assert FILL_INS[id].accepts(given) == right


# --- what a learner hears, and what is kept ---------------------------------------------------------------------------


def test_a_wrong_answer_hears_the_right_one_and_where_it_stands(file):
    heard = str(answer("M2.1", "key"))
    assert heard.startswith("✗ M2.1: The query.") and heard.endswith('See chapter 1, "Looking something up".')
    assert str(answer("M2.1", "?")).startswith("○ M2.1: not answered")
    assert str(answer("M2.9", "key")).startswith("There is no 'M2.9'")


def test_what_was_right_at_once_never_comes_up(file):
    answer("M2.1", "query")
    assert str(review()).startswith("Nothing is due today")


def test_what_was_missed_comes_up_until_it_was_right_on_several_days(file):
    answer("M2.1", "key")
    for days in (0, 1, 3, 7):
        if days:
            days_ago(file, days - 1)
            assert str(review()).startswith("Nothing"), days
        days_ago(file, days)
        assert f'answer("M2.1", "?")  # {FIRST.prompt}' in str(review())
        answer("M2.1", "query")
    days_ago(file, 400)
    assert str(review()).startswith("Nothing")


def test_missed_again_it_starts_anew(file):
    answer("M2.1", "key")
    answer("M2.1", "query")
    answer("M2.1", "value")
    assert "M2.1" in str(review())


def test_no_more_than_three_come_up_at_once_and_steps_never(file):
    for id in FILL_INS:
        answer(id, "surely not")
    assert 1 <= str(review()).count("answer(") <= 3 and 'answer("S' not in str(review())


def test_a_damaged_entry_is_due_and_raises_nothing(file):
    file.write_text(json.dumps({"M2.1": {"missed": True, "times": "x", "on": 3}}), encoding="utf-8")
    assert "M2.1" in str(review())
    answer("M2.1", "query")
    assert str(review()).startswith("Nothing")


def test_on_colab_it_is_kept_in_the_drive_once_that_is_mounted(tmp_path, monkeypatch):
    monkeypatch.delenv(progress_file.PATH_VARIABLE, raising=False)
    monkeypatch.setattr(progress_file, "COLAB_DRIVE", tmp_path)
    assert progress_file.progress_path() == tmp_path / "progress.json"
    monkeypatch.setattr(progress_file, "COLAB_DRIVE", tmp_path / "not mounted")
    assert progress_file.progress_path() == Path("progress.json").absolute()
