"""The lab command: JupyterLab on copies that belong to the learner, and that stop when told to."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from course_tools import repository
from course_tools.build import chapter
from course_tools.commands import lab
from course_tools.repository import ROOT
from tests.support import bare_clone, server, stored

NEW = '{\n "cells": []\n}\n'  # a notebook


@pytest.fixture
def clone(tmp_path):
    """A clone of this course."""
    return bare_clone.copy(tmp_path)


@pytest.fixture
def here(clone, monkeypatch):
    """The same, in which the functions of the command work."""
    monkeypatch.setattr(repository, "ROOT", clone)
    monkeypatch.setattr(lab, "ROOT", clone)
    monkeypatch.setattr(lab, "WORK", clone / "work")
    return clone


@pytest.mark.any_chapter
@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
@pytest.mark.parametrize(
    "signals",
    [
        pytest.param([signal.SIGTERM], id="kill"),
        pytest.param([signal.SIGINT, signal.SIGINT], id="Ctrl-C twice", marks=pytest.mark.every_setting("another end")),
    ],
)
def test_it_opens_the_first_chapter_and_stops_when_told_to(clone, signals):
    with server.lab(clone) as (process, address):
        first = sorted(path.name for path in stored.PATHS)[0]
        assert f"/lab/tree/work/{first}" in address and "token=" in address
        said = (clone / "lab.log").read_text(encoding="utf-8")
        assert said.count("token=") == 1 and f"\n{address}\n" in said and len(said.splitlines()) <= 10, said
        assert (clone / "work" / first).read_bytes() == repository.learners_copy(clone / "notebooks" / first)
        for number in signals:
            process.send_signal(number)
        process.wait(timeout=30)
        assert not server.answers(address)


@pytest.mark.parametrize(
    "option",
    ["--nobrowser", "--ServerApp.prot=9000"],
)
@pytest.mark.every_setting("other options of lab")
def test_an_option_that_does_not_exist_is_refused(option, clone):
    done = bare_clone.command(clone, "lab", "--no-browser", option)
    assert done.returncode == 1 and f"no option {option.partition('=')[0]}." in done.stderr
    assert done.stderr.count("\n") == 1 and "http" not in done.stdout


@pytest.mark.every_setting("other options of lab")
def test_a_port_that_is_taken_is_said_and_no_other_is_used(clone):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        command = [sys.executable, "-m", "course_tools", "lab", "--no-browser", "--port", str(port)]
        done = subprocess.run(command, cwd=clone, capture_output=True, encoding="utf-8", timeout=server.SECONDS)
    assert done.returncode == 1 and f"port {port} is not available" in done.stderr
    assert done.stderr.count("\n") == 1 and "http" not in done.stdout


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps what Jupyter writes elsewhere")
@pytest.mark.every_setting("a home that cannot be written")
def test_with_a_home_that_cannot_be_written_it_opens_all_the_same(clone, tmp_path, monkeypatch):
    (tmp_path / "home").touch()  # no folder, so that not even root can write there
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in [name for name in os.environ if name.startswith(("JUPYTER_", "XDG_"))]:
        monkeypatch.delenv(name)
    with server.lab(clone):
        said = (clone / "lab.log").read_text(encoding="utf-8")
    assert f"Your home folder {tmp_path / 'home'} is not writable" in said and len(said.splitlines()) <= 10, said
    assert (clone / ".home").stat().st_mode & 0o777 == 0o700 and ".home/" in (ROOT / ".gitignore").read_text(
        encoding="utf-8"
    ).split()


def test_what_jupyterlab_only_answers_makes_no_work(here, monkeypatch):
    commands = []
    monkeypatch.setattr(lab.environment, "python_with", lambda verbose: "python")
    monkeypatch.setattr(lab.environment, "replace_process", lambda command: (commands.append(command), sys.exit()))
    monkeypatch.chdir(here / "notebooks")
    with pytest.raises(SystemExit):
        lab.main(["--help-all"])
    assert commands == [["python", "-m", lab.SERVER_MODULE, "--help-all"]] and not (here / "work").exists()
    assert Path.cwd() == here, "Python finds that module only there"


@pytest.mark.every_setting("other options of lab")
def test_verbose_shows_what_jupyterlab_says(clone):
    with server.lab(clone, "--verbose"):
        assert "jupyterlab | extension was successfully loaded" in (clone / "lab.log").read_text(encoding="utf-8")


def test_what_a_learner_changed_stays_and_new_chapters_appear(here):
    (first, *_) = lab.copy_chapters()
    (here / "work" / first).write_text("mine", encoding="utf-8")
    (here / "notebooks" / "99_zoo.ipynb").write_text(NEW, encoding="utf-8")
    assert lab.copy_chapters()[-1] == "99_zoo.ipynb"
    assert (here / "work" / first).read_text(encoding="utf-8") == "mine"
    assert (here / "work" / "99_zoo.ipynb").read_text(encoding="utf-8") == NEW


@pytest.mark.any_chapter
def test_copies_leave_out_only_the_outputs_that_answer_a_question(here):
    pairs = [[stored.read(here / folder / name) for folder in ("work", "notebooks")] for name in lab.copy_chapters()]
    assert any(stored.answering(original) for _, original in pairs)
    for copy, original in pairs:
        for cell in stored.code_cells(original):
            if cell.id in stored.answering(original):
                cell.outputs, cell.execution_count = [], None
        assert copy == original


@pytest.fixture
def start(here, monkeypatch):
    """Run the command there, up to where JupyterLab would start."""
    monkeypatch.setattr(lab.environment, "python_with", lambda verbose: "python")
    monkeypatch.setattr(lab.environment, "replace_process", lambda command: None)
    monkeypatch.setattr(lab, "trust_untouched_copies", lambda python: None)
    monkeypatch.chdir(here)
    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "")
    return lambda: lab.main([])


def test_an_assistant_is_told_how_to_help_and_a_learners_own_words_to_it_stay(here, start):
    start()
    told = here / "work/AGENTS.md"
    assert told.read_bytes() == (here / "notebooks/AGENTS.md").read_bytes()
    told.write_text("mine", encoding="utf-8")
    start()
    assert told.read_text(encoding="utf-8") == "mine"


@pytest.fixture
def learner(here):
    """A clone of a learner who has a copy of each chapter, and an answer in the first; the name of that notebook."""
    first, *_ = lab.copy_chapters()
    answer_in(here / "work" / first, "an answer")
    return first


def answer_in(path, words):
    """Write into a notebook as a learner does, and save it as JupyterLab does: with its metadata, in another layout."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    notebook["cells"][-1]["source"] = words
    path.write_text(json.dumps(notebook), encoding="utf-8")


def change_chapter(clone, name, words):
    """Change a sentence in a chapter's source, and make its notebook anew, as an update of the course does."""
    source = clone / "solutions" / f"{Path(name).stem}.py"
    text = source.read_text(encoding="utf-8")
    source.write_text(text.replace("# **Time.**", f"# {words}\n#\n# **Time.**"), encoding="utf-8")
    _, made = chapter.notebooks(source, "").values()
    (clone / "notebooks" / name).write_text(nbformat.writes(made), encoding="utf-8")


def test_a_newer_version_is_named_and_lies_beside_what_the_learner_wrote(clone, learner):
    mine = (clone / "work" / learner).read_bytes()
    assert lab.copy_newer(lab.copy_chapters()) == {}, "an answer alone makes no version"

    change_chapter(clone, learner, "A better sentence.")
    beside = learner.replace(".ipynb", ".v2.ipynb")
    assert lab.copy_newer(lab.copy_chapters()) == {learner: beside}
    assert (clone / "work" / learner).read_bytes() == mine
    assert (clone / "work" / beside).read_bytes() == repository.learners_copy(clone / "notebooks" / learner)
    assert lab.copy_newer(lab.copy_chapters()) == {learner: beside}, "no second copy of the same"


def test_a_newer_version_never_overwrites_one_that_the_learner_went_on_with(clone, learner):
    change_chapter(clone, learner, "A better sentence.")
    (beside,) = lab.copy_newer(lab.copy_chapters()).values()
    answer_in(clone / "work" / beside, "another answer")
    change_chapter(clone, learner, "A still better one.")
    third = learner.replace(".ipynb", ".v3.ipynb")
    assert lab.copy_newer(lab.copy_chapters()) == {learner: third}
    assert "another answer" in (clone / "work" / beside).read_text(encoding="utf-8")


@pytest.mark.parametrize("content", ["no notebook", "[]", '{"metadata": {}}'])
def test_a_notebook_that_does_not_say_what_it_was_made_from_is_left_alone(content, clone, learner):
    change_chapter(clone, learner, "A better sentence.")
    (clone / "work" / learner).write_text(content, encoding="utf-8")
    assert lab.copy_newer(lab.copy_chapters()) == {}


def test_lab_says_so_in_one_line(clone, learner, start, capsys):
    change_chapter(clone, learner, "A better sentence.")
    start()
    said, starting = capsys.readouterr().out.splitlines()
    assert learner in said and learner.replace(".ipynb", ".v2.ipynb") in said and starting.startswith("Starting")


def test_only_copies_that_nobody_changed_are_signed(here, monkeypatch):
    first, *others = lab.copy_chapters()
    (here / "work" / first).write_text("mine", encoding="utf-8")
    signed = []
    monkeypatch.setattr(lab.subprocess, "run", lambda command, **more: signed.extend(command))
    lab.trust_untouched_copies("python")
    assert sorted(signed[3:]) == [str(here / "work" / name) for name in others]
    for name in others:
        (here / "work" / name).write_text("mine", encoding="utf-8")
    signed.clear()
    lab.trust_untouched_copies("python")
    assert signed == [], "nothing to sign"


def test_a_clone_without_chapters_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(repository, "ROOT", tmp_path)
    with pytest.raises(SystemExit, match="notebooks/ contains no chapter"):
        lab.copy_chapters()


def test_work_that_cannot_be_written_is_one_sentence(here, monkeypatch):
    monkeypatch.setattr(lab, "WORK", here / "README.md")
    with pytest.raises(SystemExit, match="Your copy of 01_.* could not be made: .*README.md: .*"):
        lab.copy_chapters()


def test_git_ignores_the_learners_copies():
    assert "work/" in (ROOT / ".gitignore").read_text(encoding="utf-8").split()
