"""From a bare Python to an environment that has everything, or to one sentence that says what is in the way."""

import ast
import os
import shutil
import subprocess
import sys
import time
import venv
from types import SimpleNamespace

import pytest

from course_utils import __main__
from course_utils.launch import environment
from course_utils.repository import ROOT
from tests.support import bare_clone

ASK = "from course_utils.launch import environment; print('python:', environment.python_with())"


def offline(**changes):
    """An environment for subprocesses in which pip knows no index, changed as told."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    return kept | {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PYTHONDONTWRITEBYTECODE": "1"} | changes


def ask(clone, **changes):
    """Run python_with in a clone, as a fresh process of this Python."""
    return bare_clone.python(clone, "-c", ASK, env=offline(**changes))


@pytest.fixture
def clone(tmp_path):
    """A clone that needs nothing but the package `tiny`."""
    bare_clone.copy(tmp_path / "clone")
    (tmp_path / "clone/requirements.txt").write_text("# what this clone needs\ntiny==1.0\n", encoding="utf-8")
    bare_clone.tiny_wheel(tmp_path)
    return tmp_path / "clone"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """An environment with nothing in it but pip."""
    folder = tmp_path_factory.mktemp("made") / ".venv"
    venv.create(folder, with_pip=True)
    return folder


@pytest.fixture
def clone_with_pip(clone, made):
    """The same clone, its environment made before."""
    shutil.copytree(made, clone / ".venv", symlinks=True)
    return clone


def test_an_environment_that_satisfies_the_pins_is_used_as_it_is(clone):
    (clone / "requirements.txt").write_text(f"pytest=={pytest.__version__}\n", encoding="utf-8")
    assert ask(clone).stdout.splitlines() == [f"python: {sys.executable}"]
    assert not (clone / ".venv").exists()


def test_a_fresh_clone_gets_an_environment_once_and_an_interrupted_one_is_taken_up_again(clone):
    wheels = {"PIP_FIND_LINKS": str(clone.parent)}
    first = ask(clone, **wheels)
    (package,) = clone.glob(".venv/[Ll]ib/**/tiny.py")
    (record,) = clone.glob(".venv/[Ll]ib/**/tiny-1.0.dist-info/RECORD")
    assert "Installing" in first.stdout and first.returncode == 0, first

    again = ask(clone)  # nothing to install, so no wheels needed
    assert again.stdout == first.stdout.splitlines()[-1] + "\n"

    package.unlink()  # what a kill in the middle of the copying leaves
    record.unlink()
    assert ask(clone, **wheels).returncode == 0 and package.exists()

    (record.parent / "METADATA").unlink()  # a package that is half removed
    record.unlink()
    assert ask(clone, **wheels).returncode == 0 and package.exists()

    next(package.parent.glob("pip-*.dist-info/RECORD")).unlink()  # what a kill in the middle of the making leaves
    shutil.rmtree(package.parent / "pip/_vendor")
    assert ask(clone, **wheels).returncode == 0 and package.exists()


def test_two_starts_at_once_do_not_disturb_each_other(clone):
    environment = offline(PIP_FIND_LINKS=str(clone.parent))
    starts = [subprocess.Popen([sys.executable, "-c", ASK], cwd=clone, env=environment) for _ in range(2)]
    assert [start.wait() for start in starts] == [0, 0]


def test_pip_settings_that_lead_elsewhere_are_left_out(clone_with_pip):
    folder = clone_with_pip.parent
    assert ask(clone_with_pip, PIP_FIND_LINKS=str(folder), PIP_TARGET=str(folder / "x"), PIP_USER="1").returncode == 0
    assert not (folder / "x").exists()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGTERM")
def test_a_stopped_install_says_how_to_go_on_and_the_next_start_does(clone):
    environment = offline(PIP_FIND_LINKS=str(clone.parent))
    start = subprocess.Popen(
        [sys.executable, "-c", ASK], cwd=clone, env=environment, stderr=subprocess.PIPE, encoding="utf-8"
    )
    while not (clone / ".venv/pyvenv.cfg").exists():
        time.sleep(0.05)
    start.terminate()
    assert "Run the same command again" in start.communicate()[1]
    assert ask(clone, PIP_FIND_LINKS=str(clone.parent)).returncode == 0


def test_a_folder_that_cannot_be_written_is_one_sentence(clone):
    (clone / ".venv.lock").mkdir()  # so that not even root can write there
    answer = ask(clone)
    assert answer.returncode == 1 and answer.stderr.count("\n") == 1
    assert "cannot be written by you" in answer.stderr and not (clone / ".venv").exists()


@pytest.mark.parametrize("card", ["/usr/bin/nvidia-smi", None])
def test_without_an_nvidia_card_torch_on_linux_is_the_cpu_build(card, monkeypatch):
    monkeypatch.setattr(environment, "missing", lambda *_, **__: ["jupyterlab==4.6.6", "torch==2.13.0"])
    monkeypatch.setattr(environment.sys, "platform", "linux")
    monkeypatch.setattr(environment.shutil, "which", lambda name: card)
    monkeypatch.setattr(environment.os.path, "exists", lambda path: False)
    assert environment.cpu_torch(["requirements.txt"]) == (None if card else "torch==2.13.0")


@pytest.mark.parametrize("status, words", [(0, ""), (1, "the next step takes the ordinary one")])
def test_where_the_cpu_build_cannot_be_had_the_ordinary_one_comes_next(status, words, monkeypatch, capsys):
    commands = []
    monkeypatch.setattr(environment, "run", lambda command, verbose: (commands.append(command), (status, ""))[1])
    environment.take_cpu_torch("torch==2.13.0", ["pip", "install"], False)
    assert environment.CPU_INDEX in commands[0] and commands[0][-1] == "torch==2.13.0" and len(commands) == 1
    assert words in capsys.readouterr().out and commands[0][commands[0].index("--timeout") + 1] == "10"


def test_a_folder_that_is_no_environment_is_left_alone(clone):
    (clone / ".venv").mkdir()
    (clone / ".venv/notes.txt").write_text("mine", encoding="utf-8")
    answer = ask(clone)
    assert answer.returncode == 1 and "move it away" in answer.stderr
    assert (clone / ".venv/notes.txt").read_text(encoding="utf-8") == "mine"


def test_no_network_is_one_sentence(clone_with_pip):
    unreachable = ask(clone_with_pip, PIP_NO_INDEX="0", PIP_INDEX_URL="http://127.0.0.1:9/simple", PIP_RETRIES="1")
    assert unreachable.returncode == 1
    assert unreachable.stderr.count("\n") == 1 and "check the network" in unreachable.stderr


def test_a_package_that_does_not_exist_for_this_python_is_one_sentence(clone_with_pip):
    (clone_with_pip / "requirements.txt").write_text("tiny==9.9\n", encoding="utf-8")
    answer = ask(clone_with_pip, PIP_FIND_LINKS=str(clone_with_pip.parent))
    assert answer.returncode == 1
    assert answer.stderr.count("\n") == 1 and "pip found no tiny==9.9 for Python 3" in answer.stderr


@pytest.mark.parametrize(
    "line", ["tiny", "tiny>=1.0", "--extra-index-url https://x.example", "tiny==1.0 ; os_name == 'x'"]
)
def test_a_requirement_that_is_no_pin_is_one_sentence_before_anything_is_installed(clone, line):
    (clone / "requirements.txt").write_text(line + "\n", encoding="utf-8")
    answer = ask(clone)
    assert answer.returncode == 1 and not (clone / ".venv").exists()
    assert answer.stderr.count("\n") == 1 and "is not of the form name==version" in answer.stderr


def test_a_full_disk_is_one_sentence(clone):
    full = clone.parent / "full"
    full.mkdir()
    script = (
        f'mount -t tmpfs -o size=12m tmpfs {full} && cp -r {clone}/. {full} && cd {full} && {sys.executable} -c "$ASK"'
    )
    root = [] if hasattr(os, "geteuid") and os.geteuid() == 0 else ["-r"]
    if not shutil.which("unshare") or subprocess.run(["unshare", *root, "-m", "true"], capture_output=True).returncode:
        pytest.skip("a small disk can only be made where mount namespaces are allowed")
    command = ["unshare", *root, "-m", "sh", "-c", script]
    answer = subprocess.run(command, env=offline(ASK=ASK), capture_output=True, encoding="utf-8")
    assert answer.returncode == 1
    assert answer.stderr.count("\n") == 1 and "disk is full" in answer.stderr


@pytest.mark.parametrize("module", ["venv", "ensurepip"])
def test_a_python_that_cannot_make_environments_is_one_sentence(module, monkeypatch, tmp_path):
    monkeypatch.setattr(environment, "VENV", tmp_path / ".venv")
    known = environment.importlib.util.find_spec
    monkeypatch.setattr(environment.importlib.util, "find_spec", lambda name: None if name == module else known(name))
    with pytest.raises(SystemExit, match=f"no {module}.*apt install python3"):
        environment.install(["requirements.txt"])


def test_an_old_python_is_one_sentence(monkeypatch):
    monkeypatch.setattr(__main__, "sys", SimpleNamespace(version_info=(3, 10, 4), exit=sys.exit))
    with pytest.raises(SystemExit, match=r"^The course needs Python 3.11 or newer; this is 3.10.$"):
        __main__.main(["lab"])


@pytest.mark.parametrize("file", ["__init__.py", "__main__.py"])
def test_an_old_python_can_read_far_enough_to_say_so(file):
    ast.parse((ROOT / "course_utils" / file).read_text(encoding="utf-8"), feature_version=(3, 4))


def test_an_unknown_command_is_answered_with_the_known_ones():
    with pytest.raises(SystemExit, match="There is no command 'lib'(.|\n)*lab(.|\n)*test"):
        __main__.main(["lib"])


def test_outside_a_clone_the_commands_say_what_they_need(tmp_path):
    shutil.copytree(ROOT / "course_utils", tmp_path / "course_utils")
    answer = ask(tmp_path)
    assert answer.returncode == 1 and "clone its repository" in answer.stderr and answer.stderr.count("\n") == 1
