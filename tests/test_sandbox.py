"""The sandbox as the grader meets it: outcomes as in `check`, one protection or a refusal, what answers may import."""

import ast
import errno
import importlib
import json
import os
import re
import select
import shutil
import socket
import subprocess
import sys
from types import SimpleNamespace

import pytest

from course_tools import repository
from course_tools.build import chapter
from course_tools.grading.sandbox import allowed_imports, fork_client
from course_tools.grading.sandbox import protection as machine
from course_tools.grading.sandbox.inside import answering, fork_server, server
from course_tools.grading.sandbox.protection import Protection, Unprotected, protection, works
from course_tools.grading.sandbox.sandbox import Sandbox
from course_tools.repository import ROOT
from tests.support import offered_protection, places, sandboxes, stored
from tests.support.sandboxes import IMPORTS, RIGHT, WRONG, best, look, result, sandbox

__all__ = ["best", "sandbox"]  # fixtures; pytest finds them by their names


# --- what an answer gets ----------------------------------------------------------------------------------------------


def test_a_message_points_into_the_learners_line(sandbox):
    _, judged = result(sandbox, "def my_causal_weights(scores):\n    return scores @ torch.ones(7, 7)\n")
    assert "in line 2, `return scores @ torch.ones(7, 7)`" in judged.message


# --- what runs ------------------------------------------------------------------------------------------------------


def test_what_fails_in_an_earlier_cell_costs_only_that_statement(sandbox):
    cells = ["import torch\nfirst = undefined\nsize = 3", "size = size + 1  # 4", "not Python"]
    outcome = sandbox.run([*cells, "def seen():\n    return size"], "seen", [sandboxes.LOOK], chapter=3)
    assert outcome.replies[0]["values"] == [4]


def test_a_cell_may_await_as_in_a_notebook(sandbox):
    cells = ["async def later():\n    return 4\nsize = await later()", "def seen():\n    return str(size)"]
    assert look(sandbox, *cells) == "4"


def test_an_answer_may_copy_an_open_file_and_ask_how_it_is_open(sandbox):
    code = "import os\ndef seen():\n    copy = os.dup(1)\n"
    code += "    return str([os.get_inheritable(copy), os.get_blocking(copy)])"
    assert look(sandbox, code) == "[False, True]"


def test_one_run_finds_nothing_of_another(sandbox):
    look(sandbox, "import math\nmath.left_here = 1\nleft_here = 1\ndef seen(): return ''")
    code = "import math\ndef seen():\n    return str(hasattr(math, 'left_here') or 'left_here' in globals())"
    assert look(sandbox, code) == "False"


def test_answers_that_run_together_find_nothing_of_each_other(sandbox):
    """Neither names, nor modules that were sent along, nor numbers drawn, nor memory."""
    modules = {"own": "import random\nfound = []\ndrawn = random.random()"}
    code = "import torch\nimport own\nfound = 'kept' in globals()\nkept = torch.zeros(20_000_000)  # 80 of 128 MB\n"
    code += "own.found.append(1)\ndef seen():\n    return str([own.drawn, found, len(own.found), kept.numel()])"
    outcomes = sandbox.run_together([([code], "seen", [sandboxes.LOOK])] * 3, chapter=3, modules=modules)
    (seen,) = {each.replies[0]["values"][0] for each in outcomes}
    assert seen.endswith(", False, 1, 20000000]")


def test_of_answers_that_run_together_one_that_ends_the_process_is_the_trouble_of_all(sandbox):
    answers = [([code], "seen", [sandboxes.LOOK]) for code in ("def seen(): return ''", "import os\nos._exit(0)")]
    found = sandbox.run_together(answers, chapter=3)
    assert {each.trouble for each in found} == {"ended Python before it had answered, as os._exit does"}


def test_every_run_draws_the_same_numbers(sandbox):
    code = IMPORTS + "import random\ndrawn = torch.rand(1).item(), random.random()\ndef seen():\n    return str(drawn)"
    assert look(sandbox, code) == look(sandbox, code)


def test_a_module_that_is_sent_along_can_be_imported(sandbox):
    modules = {"worked": "import torch\ndef my_mask(T):\n    return torch.ones(T, T)"}
    cells = [
        "def my_mask(T):\n    return None",
        "from worked import my_mask",
        "def seen():\n    return my_mask(2).tolist()",
    ]
    outcome = sandbox.run(cells, "seen", [sandboxes.LOOK], chapter=3, modules=modules)
    assert outcome.replies[0]["values"] == [[[1.0, 1.0], [1.0, 1.0]]]
    assert "AttributeError" in sandbox.run(cells, "seen", [sandboxes.LOOK], chapter=3).replies[0]["error"]["type"]


@pytest.mark.parametrize("text", ["raise ValueError('x' * 10**6)", f"raise ValueError  # {'x' * 10**6}"])
def test_what_stopped_a_cell_is_told_in_few_words(text):
    assert len(answering.run_cell(text, "<your cell>", {})) < 1000


# --- what answers may import ----------------------------------------------------------------------------------------


def chapters_imports():
    """(number of the chapter, module, name) for everything that a chapter's cells import from the course."""
    for path in repository.sources():
        solved, _ = chapter.notebooks(path, "").values()
        for cell in stored.code_cells(solved):
            code = re.sub(r"(?m)^( *)%", r"\1# %", cell.source)
            for node in ast.walk(ast.parse(code)):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("course_utils"):
                    for alias in node.names:
                        yield int(path.name[:2]), node.module, alias.name


def test_all_that_a_chapter_imports_is_there_for_its_answers(best):
    silent = re.compile("|".join(map(re.escape, allowed_imports.silenced_packages())))
    for number, module, name in sorted(set(chapters_imports())):
        assert (
            silent.match(module)
            or silent.match(f"{module}.{name}")
            or module in allowed_imports.modules_for_chapter(number)
        ), f"chapter {number} imports {module}, which course_tools/grading/sandbox/allowed_imports.py does not find"
        code = f"from {module} import {name} as imported\ndef seen():\n    return type(imported).__name__"
        (reply,) = best.run([code], "seen", [sandboxes.LOOK], chapter=number).replies
        assert reply["values"], f"chapter {number}: {name} from {module}"


def test_a_taught_class_is_the_courses_own(sandbox):
    code = """
import torch
from course_utils.attention import SelfAttention_v2
def seen():
    torch.manual_seed(123)
    return str(SelfAttention_v2(3, 2)(torch.ones(2, 3)).tolist())
"""
    names = {}
    exec(code, names)
    assert look(sandbox, code) == names["seen"]()


@pytest.mark.parametrize("chapter, there", [(2, set()), (3, {"SelfAttention_v2"})])
def test_a_class_can_be_imported_only_after_the_chapter_that_builds_it(sandbox, chapter, there):
    names = [name for name in vars(importlib.import_module("course_utils.attention")) if "Attention" in name]
    assert len(names) >= 5
    code = f"""
import course_utils.attention
def seen():
    return " ".join(name for name in {names!r} if hasattr(course_utils.attention, name))
"""
    (reply,) = sandbox.run([code], "seen", [sandboxes.LOOK], chapter=chapter).replies
    assert set(reply["values"][0].split()) == there


def test_what_draws_is_silent_and_has_no_names_of_pythons_own(sandbox):
    code = "import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\ndef seen():\n"
    code += "    return str([hasattr(thing, name) for thing in (plt, ax) for name in ('title', '__file__')])"
    assert look(sandbox, code) == "[True, False, True, False]"


def test_nothing_that_answers_can_be_imported(sandbox):
    found = [path for house in repository.HOUSES for path in repository.ROOT.glob(f"{house}/**/*.py")]
    paths = [path.relative_to(repository.ROOT).with_suffix("") for path in found]
    names = {".".join(path.parts).removesuffix(".__init__") for path in paths}
    code = f"""
import importlib
def seen():
    found = []
    for name in {sorted(names)!r}:
        try:
            module = importlib.import_module(name)
        except ImportError as error:
            assert "cannot be used in an answer" in str(error), name
            continue
        if any(not own.startswith("__") for own in vars(module)):
            found.append(name)
    return " ".join(found)
"""
    assert set(look(sandbox, code).split()) == allowed_imports.modules_for_chapter(3).keys() - {"course_utils"}


# --- which protection -----------------------------------------------------------------------------------------------


@pytest.mark.skipif(not sandboxes.in_ci(), reason="only CI must offer a protection; here it may be missing")
def test_ci_runs_the_sandbox_tests():
    assert protection() is not Protection.NONE, "no test of the sandbox ran: allow namespaces or Landlock here"


def test_what_linux_offers_is_put_on():
    """Linux is asked without the course's code: a protection that the course fails to put on is no skipped test."""
    offers = [way for way in sandboxes.BOTH if not offered_protection.refused(way.name)]
    assert [way for way in sandboxes.BOTH if sys.platform == "linux" and works(way)] == offers
    assert protection() is (offers[0] if offers else Protection.NONE)


def test_the_first_way_that_works_is_taken(monkeypatch):
    for working in Protection:
        monkeypatch.setattr(machine, "works", lambda way, working=working: way is working)
        monkeypatch.setattr("sys.platform", "linux")
        protection.cache_clear()
        assert protection() is working
    monkeypatch.setattr(machine, "works", lambda way: True)
    monkeypatch.setattr("sys.platform", "darwin")  # where not even the trial could run
    protection.cache_clear()
    assert protection() is Protection.NONE
    protection.cache_clear()


def test_without_protection_nothing_runs_unless_it_is_asked_for(monkeypatch):
    monkeypatch.setattr(machine, "protection", lambda: Protection.NONE)
    with pytest.raises(Unprotected, match="This machine offers no protection .* --unsandboxed"):
        Sandbox()
    with Sandbox(Protection.NONE) as sandbox:
        assert sandbox.protection is Protection.NONE


@pytest.mark.every_setting("without protection")
def test_asked_to_run_without_protection_it_grades_the_same(monkeypatch):
    with Sandbox(Protection.NONE, seconds=2) as sandbox:
        assert result(sandbox, RIGHT)[1].status == "right"
        assert result(sandbox, WRONG)[1].status == "not yet"
        assert "took longer than 2 s" in result(sandbox, "while True:\n    pass")[0].trouble
        assert "segmentation fault" in result(sandbox, "import ctypes\nctypes.string_at(1)")[0].trouble
        assert "ended Python" in result(sandbox, "import os\nos._exit(0)")[0].trouble


def test_what_does_not_end_by_itself_without_protection_is_ended(monkeypatch):
    """An answer can take back what would end its process from inside."""
    command = [sys.executable, "-S", "-c", "import time; time.sleep(60)"]
    monkeypatch.setattr(machine, "command_inside", lambda *function, **arguments: command)
    monkeypatch.setattr("course_tools.grading.sandbox.sandbox.PATIENCE", 0.1)
    with Sandbox(Protection.NONE, seconds=0.1) as sandbox:
        assert "took longer than" in result(sandbox, RIGHT)[0].trouble


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there are no such measures")
def test_a_measure_that_linux_refuses_is_an_error_and_not_passed_over(monkeypatch):
    from course_tools.grading.sandbox.inside import isolation, system_calls

    with pytest.raises(OSError, match="a new wall"):
        isolation.check_call(-1, "a new wall")
    refusing = SimpleNamespace(prctl=lambda *arguments: -1)
    monkeypatch.setattr(system_calls.ctypes, "CDLL", lambda *arguments, **more: refusing)
    with pytest.raises(OSError, match="a filter of system calls"):
        system_calls.install_filter()


@pytest.mark.parametrize("keep", [os.dup, lambda descriptor: None], ids=["says nothing", "is gone"])
def test_a_server_that_does_not_start_is_one_sentence(keep, monkeypatch):
    def fork(module, function, given, **arguments):
        keep(*given)
        return SimpleNamespace(kill=lambda: None, wait=lambda: None)

    monkeypatch.setattr(fork_client.fork_server_with_torch, "fork", fork)
    monkeypatch.setattr("course_tools.grading.sandbox.sandbox.PATIENCE", 0.01)
    with pytest.raises(RuntimeError, match=r"The sandbox did not start \(LANDLOCK\)"):
        Sandbox(Protection.LANDLOCK).start()


def ended():
    """(a connection to a process that forks and has ended, nothing that kills it)."""
    ours, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
    theirs.close()
    return ours, None


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing forks")
def test_a_process_that_forks_is_started_anew_where_it_has_ended_and_twice_is_a_sentence():
    begin = iter([ended(), (fork_client.fork_server_with_torch.another_connection(), None)])
    child = fork_client.ForkServer(lambda: next(begin)).fork("os", "_exit", [], status=0)
    child.wait()
    child.kill()  # there is nothing left to kill, and nothing else is
    with pytest.raises(RuntimeError, match="ended twice"):
        fork_client.ForkServer(ended).fork("os", "_exit", [], status=0)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing forks")
def test_a_fork_that_fails_says_why(capfd, monkeypatch):
    monkeypatch.setattr(
        sys, "stderr", os.fdopen(2, "w", buffering=1, closefd=False)
    )  # pytest's own is among the files it closes
    ours, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
    with ours, theirs:
        fork_server.fork({"module": "not_there", "function": "", "arguments": {}}, [], theirs, [])
        child, handles, *_ = socket.recv_fds(ours, fork_server.PROCESS_NUMBER.size, 1)
    os.waitpid(*fork_server.PROCESS_NUMBER.unpack(child), 0)
    os.close(handles[0])
    assert "No module named 'not_there'" in capfd.readouterr().err


def test_a_server_that_is_told_too_late_to_stop_a_child_goes_on(best):
    begun = best.process.pid
    best.control.sendall(server.STOP)
    assert result(best, RIGHT)[1].status == "right" and best.process.pid == begun


@pytest.mark.parametrize("way", sandboxes.WAYS)
def test_a_server_whose_grader_has_gone_ends(way):
    sandboxes.skip_without(way)
    with Sandbox(way) as left:
        left.control.close()
        assert select.select([left.process.handle], [], [], 10)[0]


@pytest.mark.parametrize("way", sandboxes.WAYS)
def test_a_probe_notices_when_a_measure_does_not_hold(way, monkeypatch):
    sandboxes.skip_without(way)
    visible = machine.visible_and_hidden_paths()
    monkeypatch.setattr(
        machine, "visible_and_hidden_paths", lambda: visible | {"folders": [*visible["folders"], str(ROOT)]}
    )
    assert not works(way)


def test_a_trial_that_fails_by_itself_is_no_lack_of_protection(monkeypatch):
    monkeypatch.setattr(machine, "visible_and_hidden_paths", lambda: {"folders": ["/not/there"], "hidden": []})
    protection.cache_clear()
    if sys.platform == "linux" and not offered_protection.refused(sandboxes.BEST.name):
        with pytest.raises(
            Unprotected, match="FileNotFoundError.*'/not/there'.*fault is the course's.*nothing was run"
        ):
            works(sandboxes.BEST)
        with pytest.raises(Unprotected, match="could not be tested"):
            protection()
    assert protection(unsandboxed=True) is Protection.NONE
    protection.cache_clear()


def test_where_one_trial_fails_by_itself_the_other_counts(monkeypatch):
    def tried(way):
        if way is Protection.LANDLOCK:
            return True
        raise Unprotected("a fault")

    monkeypatch.setattr(machine, "works", tried)
    monkeypatch.setattr("sys.platform", "linux")
    protection.cache_clear()
    assert protection() is Protection.LANDLOCK
    protection.cache_clear()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there are no such measures")
@pytest.mark.parametrize("number, status", [(errno.EPERM, server.PROTECTION_REFUSED), (errno.ENOENT, 1)])
def test_a_trial_tells_what_linux_refuses_from_a_fault_of_its_own(number, status):
    code = "from course_tools.grading.sandbox.inside import server\n"
    code += f"def refuse(way):\n    raise OSError({number}, 'a wall')\nserver.enter_namespaces = refuse\n"
    done = subprocess.run([sys.executable, "-c", f"{code}server.probe('', '', [], [])"], cwd=ROOT, capture_output=True)
    assert done.returncode == status and (b"a wall" in done.stderr) == (status == 1)


# --- wherever the clone and its environment lie -----------------------------------------------------------------------

LIBRARY = """
import ctypes, json, sys
ctypes.CDLL(sys.argv[1])
from course_tools.grading.sandbox import protection
real, place = protection.package_folders(), sys.argv[2]
protection.package_folders = lambda: [*real, place]
visible = protection.visible_and_hidden_paths()
print(json.dumps([visible["folders"], [way.name for way in list(protection.Protection)[:2] if protection.works(way)]]))
"""
EVERYWHERE = [
    pytest.param(name, id=id, marks=() if name == places.KURS else pytest.mark.every_setting("other odd folders"))
    for id, name in places.ODD.items()
]


@pytest.mark.skipif(sys.platform != "linux", reason="the sandbox is Linux's")
@pytest.mark.parametrize("name", EVERYWHERE)
def test_the_protection_works_from_an_odd_folder(name, tmp_path):
    """With a library loaded from there that is named like the C library, as torch's libc10.so."""
    place = places.odd_place(tmp_path, name)
    for house in repository.HOUSES:
        shutil.copytree(ROOT / house, place / house)
    packages = places.odd_place(place, "packages")
    library = shutil.copy(importlib.util.find_spec("kiwisolver._cext").origin, packages / "libc10.so")
    done = subprocess.run([sys.executable, "-c", LIBRARY, library, packages], cwd=place, capture_output=True)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    folders, working = json.loads(done.stdout)
    assert working == [way.name for way in sandboxes.BOTH if not offered_protection.refused(way.name)]
    assert sorted(folders) == sorted([*machine.visible_and_hidden_paths()["folders"], str(packages)])


def test_a_course_that_lies_among_the_packages_is_hidden_as_a_whole(monkeypatch):
    real = machine.visible_and_hidden_paths()["hidden"]
    for folder in (ROOT.parent, ROOT):  # what lies in the clone is hidden with it, and not once more
        monkeypatch.setattr(machine, "package_folders", lambda folder=folder: [str(folder)])
        assert (
            set(machine.visible_and_hidden_paths()["hidden"]) - set(real)
            <= {str(ROOT)}
            <= set(machine.visible_and_hidden_paths()["hidden"])
        )


def test_a_folder_in_another_is_seen_with_it_whatever_sign_its_neighbours_name_has():
    assert machine.without_nested(["/a/lib", "/a b", "/a", "/a b/c", "/a/lib/x", "/ab"]) == ["/a", "/a b", "/ab"]


@pytest.mark.parametrize("name", ["packages", *EVERYWHERE])
@pytest.mark.parametrize("way", sandboxes.WAYS)
def test_a_course_that_is_installed_among_the_packages_is_hidden(way, name, tmp_path, monkeypatch):
    sandboxes.skip_without(way)
    installed = places.odd_place(tmp_path, name) / "course_utils"
    installed.mkdir()
    (installed / "worked.py").write_text("answers = 1", encoding="utf-8")
    (installed.parent / "neighbour.txt").write_text("in sight", encoding="utf-8")
    real = machine.package_folders()
    monkeypatch.setattr(machine, "package_folders", lambda: [*real, str(installed.parent)])
    code = """
def seen():
    texts = []
    for name in ("course_utils/worked.py", "neighbour.txt"):
        try:
            texts.append(open(folder + "/" + name).read())
        except OSError as error:
            texts.append("hidden")
    return " ".join(texts)
"""
    with Sandbox(way) as sandbox:
        assert look(sandbox, f"folder = {str(installed.parent)!r}\n" + code) == "hidden in sight"


def test_a_protection_that_linux_offers_and_that_does_not_work_fails_and_does_not_skip(monkeypatch):
    monkeypatch.setattr(sandboxes, "holds", lambda way: False)
    monkeypatch.setattr(offered_protection, "refused", lambda way: "")
    failure = (AssertionError, pytest.skip.Exception)  # a skip that nobody expects would skip this test, too
    with pytest.raises(failure, match="the protection does not work") as end:
        sandboxes.skip_without(sandboxes.BEST)
    assert end.type is AssertionError
    monkeypatch.setattr(offered_protection, "refused", lambda way: "no namespaces")
    with pytest.raises(pytest.skip.Exception, match="no namespaces"):
        sandboxes.skip_without(sandboxes.BEST)
