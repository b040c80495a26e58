"""From a bare Python to an environment that has everything, or to one sentence that says what is in the way."""

import ast
import importlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import venv
from types import SimpleNamespace

import pytest

from course_tools import __main__, environment, supported_pythons
from course_tools.repository import HOUSES, ROOT
from tests.support import bare_clone

IMPORT = "from course_tools import environment"
ASK = f"{IMPORT}; print('python:', environment.python_with())"
TORCH = "torch==2.13.0"


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


@pytest.mark.every_setting("an environment from nothing")  # every run of CI makes one
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


@pytest.mark.in_matrix("an environment of another Python")
@pytest.mark.parametrize("version", ["3.15", "3.10"])
def test_an_environment_of_another_python_is_made_anew(version, clone_with_pip):
    (packages,) = clone_with_pip.glob(".venv/[Ll]ib/**/site-packages")
    other = f"import sys; sys.version_info = ({version.replace('.', ', ')}, 0, 'final', 0)\n"
    (packages / "another_python.pth").write_text(other, encoding="utf-8")
    with_tiny = [f"tiny-1.0.dist-info/{name}" for name in ("METADATA", "RECORD")]  # complete, but for that Python
    (packages / "tiny-1.0.dist-info").mkdir()
    for name in with_tiny:
        (packages / name).write_text("Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n", encoding="utf-8")
    answer = ask(clone_with_pip, PIP_FIND_LINKS=str(clone_with_pip.parent))
    assert answer.returncode == 0 and f"for Python {environment.PYTHON}" in answer.stdout, answer
    assert (packages / "tiny.py").exists() and not (packages / "another_python.pth").exists()


@pytest.mark.in_matrix("two starts at once")
def test_two_starts_at_once_do_not_disturb_each_other(clone):
    environment = offline(PIP_FIND_LINKS=str(clone.parent))
    starts = [subprocess.Popen([sys.executable, "-c", ASK], cwd=clone, env=environment) for _ in range(2)]
    assert [start.wait() for start in starts] == [0, 0]


@pytest.mark.every_setting("pip's own settings")
def test_pip_settings_that_lead_elsewhere_are_left_out(clone_with_pip):
    folder = clone_with_pip.parent
    assert ask(clone_with_pip, PIP_FIND_LINKS=str(folder), PIP_TARGET=str(folder / "x"), PIP_USER="1").returncode == 0
    assert not (folder / "x").exists()


@pytest.mark.every_setting("an install that is stopped")
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
    assert "You cannot write to" in answer.stderr and not (clone / ".venv").exists()


@pytest.mark.parametrize("card", ["/usr/bin/nvidia-smi", None])
def test_without_an_nvidia_card_torch_on_linux_is_the_cpu_build(card, monkeypatch):
    monkeypatch.setattr(environment, "missing", lambda *_, **__: ["jupyterlab==4.6.6", TORCH])
    monkeypatch.setattr(environment.sys, "platform", "linux")
    monkeypatch.setattr(supported_pythons, "platform", machine(LINUX))
    monkeypatch.setattr(environment.shutil, "which", lambda name: card)
    monkeypatch.setattr(environment.os.path, "exists", lambda path: False)
    assert environment.cpu_torch(["requirements.txt"]) == (None if card else TORCH)


LINUX = {"system": "Linux", "machine": "x86_64", "libc_ver": ("glibc", "2.39"), "mac_ver": ("",)}
MAC = {"system": "Darwin", "machine": "arm64", "libc_ver": ("", ""), "mac_ver": ("14.1",)}
WITHOUT_TORCH = {
    "Macs with an Intel processor": MAC | {"machine": "x86_64"},
    "macOS before 14": MAC | {"mac_ver": ("11.7.10",)},
    "Windows on ARM": LINUX | {"system": "Windows", "machine": "ARM64", "libc_ver": ("", "")},
    "Linux without glibc (such as Alpine)": LINUX | {"libc_ver": ("musl", "1.2.5")},
    "Linux with glibc older than 2.28": LINUX | {"libc_ver": ("glibc", "2.17")},
}


def machine(known):
    """Python's module `platform` on a machine of which this is known."""
    return SimpleNamespace(**{name: lambda found=found: found for name, found in known.items()})


@pytest.mark.parametrize("kind", WITHOUT_TORCH)
def test_a_machine_without_torch_is_named_and_not_sent_to_another_python(kind, monkeypatch):
    monkeypatch.setattr(supported_pythons, "platform", machine(WITHOUT_TORCH[kind]))
    monkeypatch.setattr(
        environment, "run_with_progress", lambda *_: (1, f"ERROR: No matching distribution found for {TORCH}")
    )
    monkeypatch.setattr(environment, "missing", lambda *_, **__: [TORCH])
    assert environment.cpu_torch(["requirements.txt"]) is None, "PyTorch's own index has none either"
    with pytest.raises(SystemExit, match=f"No version of Python has a {TORCH} for {re.escape(kind)}.*colab_links.md"):
        environment.run_step(["pip"])
    assert kind in (ROOT / "README.md").read_text(encoding="utf-8").replace("\n", " ")


@pytest.mark.parametrize("known", [LINUX, MAC, LINUX | {"system": "Windows", "machine": "AMD64", "libc_ver": ("", "")}])
def test_where_there_is_torch_another_python_is_named(known, monkeypatch):
    monkeypatch.setattr(supported_pythons, "platform", machine(known))
    monkeypatch.setattr(
        environment, "run_with_progress", lambda *_: (1, f"ERROR: No matching distribution found for {TORCH}")
    )
    with pytest.raises(
        SystemExit, match=f"pip found no {TORCH}.*another Python, {supported_pythons.pythons_in_words()}"
    ):
        environment.run_step(["pip"])


@pytest.mark.parametrize("status, words", [(0, ""), (1, "the default one (5 GB, not 2)")])
def test_where_the_cpu_build_cannot_be_had_the_ordinary_one_comes_next(status, words, monkeypatch, capsys):
    commands = []
    monkeypatch.setattr(
        environment, "run_with_progress", lambda command, verbose: (commands.append(command), (status, ""))[1]
    )
    environment.take_cpu_torch(TORCH, ["pip", "install"], False)
    assert environment.CPU_INDEX in commands[0] and commands[0][-1] == TORCH and len(commands) == 1
    assert words in capsys.readouterr().out and commands[0][commands[0].index("--timeout") + 1] == "10"


def test_a_folder_that_is_no_environment_is_left_alone(clone):
    (clone / ".venv").mkdir()
    (clone / ".venv/notes.txt").write_text("mine", encoding="utf-8")
    answer = ask(clone)
    assert answer.returncode == 1 and "move it elsewhere" in answer.stderr
    assert (clone / ".venv/notes.txt").read_text(encoding="utf-8") == "mine"


@pytest.mark.every_setting("no network")
def test_no_network_is_one_sentence(clone_with_pip):
    unreachable = ask(clone_with_pip, PIP_NO_INDEX="0", PIP_INDEX_URL="http://127.0.0.1:9/simple", PIP_RETRIES="1")
    assert unreachable.returncode == 1
    assert unreachable.stderr.count("\n") == 1 and "check the network" in unreachable.stderr


@pytest.mark.every_setting("a package that does not exist")
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


@pytest.mark.parametrize(
    "megabytes, step",
    [pytest.param(16, "Making", marks=pytest.mark.in_matrix("a disk that is full at once")), (60, "Installing torch")],
)
@pytest.mark.every_setting("a full disk")
def test_a_full_disk_is_one_sentence(megabytes, step, clone):
    full = clone.parent / "full disk"  # with a space, as any folder may have
    full.mkdir()
    (clone / "requirements.txt").write_text("torch==9.9\n", encoding="utf-8")
    bare_clone.tiny_wheel(clone.parent, "torch", "9.9", "0" * 100_000_000)
    here, there, python = map(shlex.quote, map(str, (clone, full, sys.executable)))
    script = f"""
        mount -t tmpfs -o size={megabytes}m tmpfs {there} && cp -r {here}/. {there} && cd {there} && {python} -c "$ASK"
    """
    root = [] if hasattr(os, "geteuid") and os.geteuid() == 0 else ["-r"]
    if not shutil.which("unshare") or subprocess.run(["unshare", *root, "-m", "true"], capture_output=True).returncode:
        pytest.skip("a small disk can only be made where mount namespaces are allowed")
    command = ["unshare", *root, "-m", "sh", "-c", script]
    without_card = f"{IMPORT}; environment.cpu_torch = lambda files: 'torch==9.9'; {ASK}"
    own = offline(ASK=without_card, PIP_FIND_LINKS=str(clone.parent))
    answer = subprocess.run(command, env=own, capture_output=True, encoding="utf-8")
    assert answer.returncode == 1 and answer.stdout.splitlines()[-1].startswith(step), answer
    assert answer.stderr.count("\n") == 1 and "disk is full" in answer.stderr and "5 GB" in answer.stderr


@pytest.mark.parametrize("module", ["venv", "ensurepip"])
def test_a_python_that_cannot_make_environments_is_one_sentence(module, monkeypatch, tmp_path):
    monkeypatch.setattr(environment, "VENV", tmp_path / ".venv")
    known = environment.importlib.util.find_spec
    monkeypatch.setattr(environment.importlib.util, "find_spec", lambda name: None if name == module else known(name))
    with pytest.raises(SystemExit, match=f"no {module}.*apt install python3"):
        environment.install(["requirements.txt"])


@pytest.mark.parametrize("version", [(2, 7, 18), (3, 10, 4), (3, 15, 0)])
def test_a_python_that_is_too_old_or_too_new_is_one_sentence(version, monkeypatch):
    monkeypatch.setattr(__main__, "sys", SimpleNamespace(version_info=version, exit=sys.exit))
    written = "{}.{}".format(*version)
    with pytest.raises(
        SystemExit, match=f"^The course needs Python {supported_pythons.pythons_in_words()}; this is {written}.$"
    ):
        __main__.main(["site", "--no-such-option"])  # refused, if that Python is not


def test_the_pythons_are_those_that_the_project_names(tmp_path, monkeypatch):
    project = tmp_path / "pyproject.toml"
    project.write_text('[project]\nrequires-python = ">=3.12,<3.17"\n', encoding="utf-8")
    monkeypatch.setattr(supported_pythons, "PROJECT", project)
    assert supported_pythons.pythons_in_words() == "3.12 to 3.16" and list(supported_pythons.pythons()) == [
        12,
        13,
        14,
        15,
        16,
    ]


@pytest.mark.parametrize("file", ["__init__.py", "__main__.py", "supported_pythons.py"])
def test_an_old_python_can_read_far_enough_to_say_so(file):
    ast.parse((ROOT / "course_tools" / file).read_text(encoding="utf-8"), feature_version=(3, 4))


def test_an_unknown_command_is_answered_with_the_known_ones():
    with pytest.raises(SystemExit, match="There is no command 'lib'(.|\n)*lab(.|\n)*test"):
        __main__.main(["lib"])


def test_outside_a_clone_the_commands_say_what_they_need(tmp_path):
    for house in HOUSES:
        shutil.copytree(ROOT / house, tmp_path / house)
    answer = ask(tmp_path)
    assert (
        answer.returncode == 1 and "Clone the course's repository" in answer.stderr and answer.stderr.count("\n") == 1
    )
    answer = bare_clone.command(tmp_path, "lab")
    assert answer.returncode == 1 and "clone its repository" in answer.stderr and answer.stderr.count("\n") == 1


def test_commands_can_be_run_by_path_from_any_folder(clone, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    by_path = [sys.executable, clone / "course_tools", "site", "--no-such-option"]
    answer = subprocess.run(by_path, cwd=tmp_path / "elsewhere", capture_output=True, encoding="utf-8")
    assert answer.returncode == 1 and answer.stderr == "usage: python3 -m course_tools site [FOLDER]\n"


def test_a_command_goes_on_in_the_folder_where_it_was_started(monkeypatch, tmp_path):
    """So that the names of files after it still lead there."""
    commands = []
    monkeypatch.setattr(environment, "python_with", lambda *files: "another python")
    monkeypatch.setattr(environment, "replace_process", commands.append)
    monkeypatch.chdir(tmp_path)
    environment.run_with_environment("grade", ["downloads"])
    assert commands == [["another python", str(ROOT / "course_tools"), "grade", "downloads"]] and os.getcwd() == str(
        tmp_path
    )


def test_help_says_what_a_command_does_and_does_nothing(clone):
    def files():
        return {path for path in clone.rglob("*") if "__pycache__" not in path.parts}

    before = files()
    for command, option in [*((name, "--help") for name in __main__.COMMANDS), ("lab", "-h")]:
        answer = bare_clone.command(clone, command, option)
        assert answer.returncode == 0 and f"python3 -m course_tools {command}" in answer.stdout and not answer.stderr
        assert files() == before, command


@pytest.mark.parametrize(
    "command, arguments, files",
    [
        ("build", ["1"], ["tests/requirements.txt"]),
        ("site", ["made"], ["course_tools/requirements.txt"]),
        ("grade", ["--doctor"], []),
    ],
)
def test_a_command_goes_on_in_a_python_that_has_what_it_needs(command, arguments, files, monkeypatch):
    def become(*told):
        asked.append(told)
        sys.exit()

    asked = []
    monkeypatch.setattr(environment, "run_with_environment", become)
    with pytest.raises(SystemExit):
        importlib.import_module(f"course_tools.commands.{command}").main(arguments)
    ((name, _, *needed),) = asked
    assert (name, needed) == (command, files)


def test_the_site_command_says_what_to_open(monkeypatch, capsys, tmp_path):
    from course_tools.commands import site
    from course_tools.site import build

    monkeypatch.setattr(environment, "run_with_environment", lambda *told: None)
    monkeypatch.setattr(build, "build", lambda target: None)
    site.main([str(tmp_path)])
    assert capsys.readouterr().out == f"The site is in {tmp_path}: open {tmp_path / 'index.html'}\n"


def test_a_step_that_fails_for_an_unknown_reason_shows_what_it_said(monkeypatch):
    monkeypatch.setattr(environment, "run_with_progress", lambda *_: (3, "never seen before"))
    with pytest.raises(SystemExit, match=r"^never seen before\nThe step above failed: pip install x$"):
        environment.run_step(["pip", "install", "x"])


@pytest.mark.skipif(os.name == "nt", reason="Windows cannot replace a process")
def test_what_was_printed_is_out_before_another_program_takes_over(monkeypatch):
    events = []
    monkeypatch.setattr(environment.os, "execv", lambda *command: events.append(command))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(flush=lambda: events.append("out")))
    environment.replace_process(["python", "-m", "x"])
    assert events == ["out", ("python", ["python", "-m", "x"])] and "PYTHONDONTWRITEBYTECODE" not in os.environ
    monkeypatch.setattr(sys, "stdout", None)  # as where Python has no terminal
    environment.replace_process(["python"])
    assert len(events) == 3
