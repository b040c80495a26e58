"""Hostile answers: each gets the score that it honestly deserves, and nothing else on the machine notices.

Every attack also runs where the wall that it meets is down, and has to succeed there: otherwise it shows nothing.
"""

import contextlib
import errno
import os
import platform
import re
import signal
import site
import socket
import subprocess
import sys
import sysconfig
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from course_tools.grading.sandbox.protection import Protection, protection
from course_tools.grading.sandbox.sandbox import WAITING_FACTOR, Sandbox
from course_tools.repository import ROOT
from course_utils.exercises import EXERCISES
from course_utils.judging import contract
from course_utils.judging.calls import run_calls
from tests.support.attacks import (
    ANYBODYS,
    BUFFERED,
    BUFFERLESS,
    CHANGING,
    CLAIMED_GRADIENTS,
    CLAIMED_PARTS,
    FOOLING,
    FORGED,
    LAYER,
    NAIVE,
    NAMESPACE,
    NEIGHBOURS,
    PROCESSES,
    READING,
    ROOTS,
    STEALING,
    TOO_MUCH,
    WRITING,
    blunt,
    forging,
    reaching,
)
from tests.support.processes import alive, descendants
from tests.support.sandboxes import (
    EXERCISE,
    IMPORTS,
    RIGHT,
    SECONDS,
    WRONG,
    best,
    look,
    result,
    sandbox,
    skip_without,
)
from tests.support.weakened_sandbox import ALL, ANOTHER_REFUSAL, Weakened

__all__ = ["best", "sandbox"]  # fixtures; pytest finds them by their names


@pytest.fixture(scope="module")
def defenceless():
    """A sandbox without a wall, which knows all answers."""
    if sys.platform != "linux":
        pytest.skip("the sandbox is Linux's")
    with Weakened(*ALL) as sandbox:
        yield sandbox


@contextlib.contextmanager
def town(folder):
    """What an attack is after: ({name: value} for its text, somebody else's process, a network port)."""
    for name, text in {"submission": "another student's", "grades": "ada,3.2,2", "solution": "SOLUTION"}.items():
        (folder / name).write_text(text, encoding="utf-8")
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    with subprocess.Popen(command, start_new_session=True) as bystander, socket.create_server(("127.0.0.1", 0)) as door:
        door.setblocking(False)
        yield {"folder": str(folder), "process": bystander.pid, "port": door.getsockname()[1]}, bystander, door
        bystander.kill()


@pytest.fixture
def unguarded(tmp_path):
    """Victims to which anything may happen: {name: value}."""
    with town(tmp_path) as (values, _, _):
        yield values


@pytest.fixture
def victims(tmp_path):
    """Victims that must afterwards be as they were: {name: value}."""
    with town(tmp_path) as (values, bystander, door):
        before = {path.name: path.stat() for path in tmp_path.iterdir()}
        yield values
        with pytest.raises(BlockingIOError):  # nobody knocked
            door.accept()
        assert bystander.poll() is None, "a process that has nothing to do with it was killed"
        after = {path.name: path.stat() for path in tmp_path.iterdir()}
    changes = ("st_size", "st_mtime_ns", "st_mode", "st_nlink")
    assert after.keys() == before.keys()
    assert all(getattr(after[name], part) == getattr(before[name], part) for name in before for part in changes)


def honest_afterwards(sandbox):
    """The next student's right answer is right, and nothing of the attack still runs."""
    assert result(sandbox, RIGHT)[1].status == "right"
    server = [sandbox.process.pid, *descendants(sandbox.process.pid)]
    deadline = time.monotonic() + 5
    while len(server) > 2 and time.monotonic() < deadline:  # the child of a moment ago may still be ending
        time.sleep(0.05)
        server = [sandbox.process.pid, *descendants(sandbox.process.pid)]
    assert len(server) <= 2, "something of an attack is still running"


# --- code that does not come to an answer -----------------------------------------------------------------------------

IN_THE_FUNCTION = "def my_causal_weights(scores):\n"
NO_ANSWER = {
    "a loop without end": ("while True:\n    pass", f"took longer than {SECONDS} s and was stopped"),
    "a loop in the function": (IN_THE_FUNCTION + "    while True:\n        pass", "took longer than"),
    "a loop that ignores signals": (
        "import signal\nfor number in range(1, 32):\n    try:\n        signal.signal(number, signal.SIG_IGN)\n"
        "    except OSError:\n        pass\nwhile True:\n    pass",
        "took longer than",
    ),
    "a loop that catches everything": (
        "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass",
        "took longer than",
    ),
    "a long sleep": ("import time\ntime.sleep(60)", "took longer than"),
    "os._exit with success": ("import os\nos._exit(0)", "ended Python before it had answered"),
    "os._exit in the function": (IN_THE_FUNCTION + "    import os\n    os._exit(0)", "ended Python"),
    "a segmentation fault": ("import ctypes\nctypes.string_at(1)", "crashed Python with a segmentation fault"),
    "an abort": ("import os\nos.abort()", "crashed Python with an abort"),
    "all descriptors closed": (RIGHT + "import os\nos.closerange(0, 1000)", "ended Python"),
    "garbage to the grader": (
        "import os\nfor k in range(3, 64):\n    try:\n        os.write(k, b'right' * 9)\n"
        "    except OSError:\n        pass\nos._exit(0)",
        "data that is not an answer",
    ),
    "garbage before the answer": (
        RIGHT + "import os\nfor k in range(3, 64):\n    try:\n        os.write(k, bytes(9))\n"
        "    except OSError:\n        pass",
        "data that is not an answer",
    ),
    "no end of garbage": (
        "import os\nwhile True:\n    for k in range(3, 64):\n        try:\n"
        "            os.write(k, bytes(10**6))\n        except OSError:\n            pass",
        "sent more than 64 MB back",
    ),
    "nothing": ("", "defines no `my_causal_weights`"),
    "no Python": ("def my_causal_weights(scores:", "cannot be read by Python: SyntaxError"),
    "an error before the definition": (
        "x = 1 / 0\nmy_causal_weights = x",
        "stopped in line 1, `x = 1 / 0`, with ZeroDivisionError: division by zero",
    ),
    "sys.exit before the definition": (
        "import sys\nsys.exit(0)",
        "stopped in line 2, `sys.exit(0)`, with SystemExit: 0",
    ),
    "an interrupt in the function": (IN_THE_FUNCTION + "    raise KeyboardInterrupt", "stopped with KeyboardInterrupt"),
    "an error whose message fails": (
        "class Trap(Exception):\n    def __str__(self):\n        raise self\nraise Trap",
        "with Trap",
    ),
    "the course's own": (
        "from course_utils.attention import SelfAttention_v2 as my_causal_weights",
        "hands in the course's own",
    ),
}


@pytest.mark.parametrize("code, words", NO_ANSWER.values(), ids=NO_ANSWER.keys())
def test_what_comes_to_no_answer_is_told_in_a_sentence(sandbox, code, words):
    outcome, _ = result(sandbox, code)
    assert outcome.replies is None and words in outcome.trouble, outcome
    honest_afterwards(sandbox)


def in_the_end(code):
    """The same, which comes to an end when it has taken more than its share, and then to a right answer."""
    body = code.removeprefix(IN_THE_FUNCTION)
    ending = body.replace("while True:", f"while time.process_time() < {SECONDS + 0.2}:").replace("60", str(LONG))
    assert ending != body
    around = RIGHT.replace("    T =", f"{ending}\n    T =") if body != code else f"{ending}\n{RIGHT}"
    return f"import time\n{around}"


LONG = WAITING_FACTOR * SECONDS + 1  # seconds
HANGING = {name: code for name, (code, words) in NO_ANSWER.items() if "took longer" in words}
ONE, *MORE = HANGING
one_by_one = pytest.mark.every_setting("what hangs, where nothing ends it")
HANGS = [ONE, *(pytest.param(name, marks=one_by_one) for name in MORE)]


@pytest.mark.parametrize("name", HANGS)
def test_it_takes_as_long_as_it_likes_where_no_limit_stands(name, defenceless):
    assert result(defenceless, in_the_end(HANGING[name]))[1].status == "right"


# --- wrong answers that would like to be right ------------------------------------------------------------------------


@pytest.mark.parametrize("code", (FOOLING | STEALING).values(), ids=FOOLING | STEALING)
def test_a_wrong_answer_stays_wrong(sandbox, code):
    _, judged = result(sandbox, code)
    assert judged.status == "not yet"
    honest_afterwards(sandbox)


@pytest.mark.parametrize("code", FOOLING.values(), ids=FOOLING)
def test_it_fools_who_compares_in_the_process_of_the_answer(defenceless, code):
    assert look(defenceless, IMPORTS + code, NAIVE) != "nobody"


def test_a_wrong_answer_alone_fools_nobody(defenceless):
    assert look(defenceless, IMPORTS + WRONG, NAIVE) == "nobody"


@pytest.mark.parametrize("code", STEALING.values(), ids=STEALING)
def test_it_is_right_where_answers_can_be_had(defenceless, code):
    assert result(defenceless, code)[1].status == "right"


@pytest.mark.parametrize("replies", FORGED.values(), ids=FORGED)
def test_forged_replies_reach_the_judge_and_are_wrong(sandbox, replies):
    outcome, judged = result(sandbox, forging(replies))
    assert outcome.replies == replies and judged.status == "not yet"
    honest_afterwards(sandbox)


@pytest.mark.parametrize("after", [b"\0", b"\0" * 8, b"\xff" * 8], ids=["a byte", "an empty message", "a length alone"])
def test_replies_with_anything_after_them_are_no_answer(sandbox, after):
    outcome, _ = result(sandbox, forging(["right"] * len(EXERCISE.calls), after))
    assert outcome.trouble == "sent back data that is not an answer"
    honest_afterwards(sandbox)


def test_forged_replies_with_the_right_numbers_would_be_right(sandbox):
    names = {}
    exec(IMPORTS + RIGHT, names)
    _, judged = result(sandbox, forging(run_calls(names[EXERCISE.name], EXERCISE.calls)))
    assert judged.status == "right"


CLAIMS = CLAIMED_GRADIENTS | CLAIMED_PARTS


@pytest.mark.parametrize("id, code, words", CLAIMS.values(), ids=CLAIMS)
def test_what_values_do_not_show_cannot_simply_be_claimed(best, id, code, words):
    outcome, judged = result(best, code, EXERCISES[id])
    assert judged and judged.status == "not yet" and words in judged.message, (outcome, judged)


@pytest.mark.parametrize("id, code, words", CLAIMED_GRADIENTS.values(), ids=CLAIMED_GRADIENTS)
def test_a_gradient_that_is_only_there_is_right_where_it_is_held_against_none(best, monkeypatch, id, code, words):
    monkeypatch.setattr(contract, "gradients_close", lambda wanted, found, largest: True)
    assert result(best, code, EXERCISES[id])[1].status == "right"


def test_who_rewrites_the_course_around_it_is_believed_about_what_values_do_not_show(best):
    rewriting = """        import sys
        course = sys._getframe(1).f_globals
        course["describe_layer"] = lambda layer, seen=course["describe_layer"]: seen(layer) | {"unregistered": []}
    def forward"""
    code = BUFFERLESS.replace("    def forward", rewriting)
    assert result(best, code, EXERCISES["4.4"])[1].status == "right"  # values are right, after all


@pytest.mark.parametrize("id, code", [("2.4", LAYER), ("4.4", BUFFERED)], ids=["2.4", "4.4"])
def test_the_same_layers_that_claim_nothing_are_right(best, id, code):
    assert result(best, code, EXERCISES[id])[1].status == "right"


@pytest.mark.parametrize(
    "value, words",
    [
        ("torch.empty(2, 4, 4, device='meta')", "without numbers"),
        ("torch.zeros(1).expand(2_500_000_000)", "too large"),
        ("exit()", "SystemExit"),
    ],
)
def test_a_result_that_is_none_is_told_in_a_sentence(best, value, words):
    _, judged = result(best, f"{IN_THE_FUNCTION}    return {value}")
    assert judged.status == "not yet" and words in judged.message


@pytest.mark.parametrize("code", TOO_MUCH.values(), ids=TOO_MUCH)
def test_an_answer_gets_no_more_memory_than_its_share(sandbox, code):
    outcome, judged = result(sandbox, holding(code))
    assert judged is None or judged.status == "not yet"
    assert re.search("MemoryError|allocate memory", outcome.trouble or judged.message)
    honest_afterwards(sandbox)


@pytest.mark.parametrize("code", TOO_MUCH.values(), ids=TOO_MUCH)
def test_with_a_larger_share_it_is_right(defenceless, code):
    assert result(defenceless, holding(code))[1].status == "right"


def holding(code):
    """The right answer, which also takes memory with its first call, and keeps it."""
    return RIGHT.replace("    T =", f"    global kept\n    if 'kept' not in globals():\n        {code}\n    T =")


# --- right answers with something around them -------------------------------------------------------------------------

HARMLESS = {
    "50 MB printed in one line": """
import sys
print('x' * 50_000_000)
print('y' * 50_000_000, file=sys.stderr)"""
    + RIGHT,
    "a figure": """
import matplotlib.pyplot as plt
fig, ax = plt.subplots()
ax.imshow(torch.eye(3))"""
    + RIGHT,
    "a slider": "from ipywidgets import interact\ninteract(lambda x: x, x=(0, 1))" + RIGHT,
    "another number of threads": "torch.set_num_threads(4)" + RIGHT,
    "double precision set for good": "torch.set_default_dtype(torch.float64)" + RIGHT,
    "a check of its own": "from course_utils.checking import check, hint\ncheck('3.2', None)" + RIGHT,
    "a last line that fails": RIGHT + "print(undefined)",
    "an optimizer": RIGHT.replace("    T =", "    torch.optim.Adam([nn.Parameter(torch.ones(2))]).step()\n    T ="),
    "its own copy of print": "def print(*a): raise SystemExit" + RIGHT + "print(1)",
    "seeds": "torch.manual_seed(1)" + RIGHT,
}


@pytest.mark.parametrize("code", HARMLESS.values(), ids=HARMLESS.keys())
def test_a_right_answer_stays_right(sandbox, code):
    outcome, judged = result(sandbox, code)
    assert judged and judged.status == "right", outcome


# --- what cannot be reached -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("attack", (ANYBODYS | ROOTS | NAMESPACE).values(), ids=ANYBODYS | ROOTS | NAMESPACE)
def test_out_of_reach(sandbox, victims, attack):
    assert look(sandbox, reaching(attack, victims)).startswith("refused")
    honest_afterwards(sandbox)


@pytest.mark.parametrize("attack", ANYBODYS.values(), ids=ANYBODYS)
def test_it_can_be_reached_where_no_wall_stands(defenceless, unguarded, attack):
    assert look(defenceless, blunt(reaching(attack, unguarded))) == "done"


def test_root_could_do_it_in_its_namespaces():
    skip_without(Protection.NAMESPACES)
    with Weakened("calls", "capabilities", way=Protection.NAMESPACES) as rooted:
        for name, attack in ROOTS.items():
            assert look(rooted, reaching(attack, {})) == "done", name


def test_a_namespace_can_be_had_where_no_wall_stands(defenceless):
    skip_without(Protection.NAMESPACES)  # some machines have none for anybody
    assert look(defenceless, reaching(*NAMESPACE.values(), {})) == "done"


# what is refused even by a system without the filter of calls
WITHOUT_FILTER = {
    Protection.NAMESPACES: READING | WRITING | CHANGING | NEIGHBOURS | ROOTS,
    Protection.LANDLOCK: READING | WRITING,
}


@pytest.mark.parametrize("way", WITHOUT_FILTER, ids=lambda way: way.name.lower())
def test_the_other_walls_stand_without_the_filter_of_system_calls(way, victims):
    skip_without(way)
    with Weakened("calls", "limits", way=way) as unfiltered:
        for name, attack in WITHOUT_FILTER[way].items():
            assert look(unfiltered, reaching(attack, victims)).startswith("refused"), name


def test_the_filter_of_system_calls_stands_by_itself(victims):
    skip_without(protection())
    with Weakened("folders", "capabilities", "limits") as open_inside:
        for name, attack in (WRITING | CHANGING | PROCESSES | NEIGHBOURS | NAMESPACE).items():
            assert look(open_inside, reaching(attack, victims)).startswith("refused"), name


def test_the_limits_stand_by_themselves(sandbox):
    code = """
import resource
def seen():
    kinds = (resource.RLIMIT_CPU, resource.RLIMIT_NOFILE, resource.RLIMIT_CORE, resource.RLIMIT_FSIZE)
    return str([resource.getrlimit(kind)[1] for kind in kinds])
"""
    assert look(sandbox, code) == str([SECONDS + 1, 64, 0, 0])


# x86-64 numbers of calls that would open a way out, among them some that no C library offers
UNWANTED = {
    "open_by_handle_at": 304,
    "sendmsg": 46,
    "shmget": 29,
    "ptrace": 101,
    "process_vm_readv": 310,
    "io_uring_setup": 425,
    "bpf": 321,
    "userfaultfd": 323,
    "perf_event_open": 298,
    "keyctl": 250,
    "setns": 308,
    "pivot_root": 155,
    "clone3": 435,
    "vfork": 58,
    "execveat": 322,
    "pidfd_open": 434,
    "pidfd_getfd": 438,
    "mq_open": 240,
    "inotify_init1": 294,
    "fchmodat2": 452,
    "setxattr": 188,
    "sched_setaffinity": 203,
    "setpriority": 141,
    "rt_sigqueueinfo": 129,
    "memfd_secret": 447,
    "kexec_load": 246,
    "x32 read": 0x40000000,
    "no such call": 4000,
}
# arguments with which these do nothing where nobody refuses them; all others do nothing with zeros
HARMLESS = {
    "ptrace": [16, 0],  # follow process 0, which is nobody
    "bpf": [0xFFFF],  # no such command
    "keyctl": [0xFFFF],
    "userfaultfd": [0xFFFFFFFF],  # no such flags
    "kexec_load": [0, 0, 0, 0xFFFF],
}
# vfork in a child that ends at once: before it came back, it would go on in the memory of the one that asks
VFORK = bytes.fromhex(
    "b83a000000 0f05"  # ask for call 58
    "4885c0 7401 c3"  # the answer, unless this is the child
    "31ff b83c000000 0f05"  # then call 60, exit, with status 0
)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers of system calls here are those of x86-64")
def test_what_is_not_on_the_list_of_system_calls_is_refused(sandbox):
    assert look(sandbox, answered(errno.EPERM)) == ""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers of system calls here are those of x86-64")
def test_it_is_the_filter_that_refuses_them_and_no_lack_of_rights(defenceless):
    """Each is asked for without the filter, too. Linux itself may refuse it then, but never in these words."""
    skip_without(protection())
    with Weakened("words") as telling:
        assert look(telling, answered(ANOTHER_REFUSAL)) == ""
    assert look(defenceless, answered(ANOTHER_REFUSAL)).split(", ") == [*UNWANTED, "fcntl"]


def answered(refusal):
    """The text of a program that finds which of the unwanted calls are not refused in this way."""
    return f"""
import ctypes
import mmap
libc = ctypes.CDLL(None, use_errno=True)
machine_code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
machine_code.write({VFORK!r})
vfork = ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(machine_code)))
def asked(name, number):
    if name == "vfork":
        return vfork()
    given = {HARMLESS!r}.get(name, [])
    found = libc.syscall(number, *map(ctypes.c_long, [*given, *[0] * (6 - len(given))]))
    return -ctypes.get_errno() if found == -1 else found
def seen():
    found = [name for name, number in {UNWANTED!r}.items() if asked(name, number) != -{refusal}]
    # a signal through fcntl: F_SETOWN, then O_ASYNC
    if libc.fcntl(0, 8, 1) != -1 or libc.fcntl(0, 4, 0o20000) != -1:
        found.append("fcntl")
    return ", ".join(found)
"""


def test_a_child_sees_only_python_and_its_packages(defenceless):
    skip_without(Protection.NAMESPACES)  # Landlock hides what stands in files, not their names
    shared = {os.path.realpath(folder) for folder in ("/lib", "/usr/lib", "/lib64")}
    code = f"""
import os
libraries = {(sysconfig.get_path("stdlib"), *site.getsitepackages(), *shared)!r}
def seen():
    names = (os.path.join(at, name) for at, _, files in os.walk("/") for name in files)
    kept = 0
    for name in names:
        library = next((folder for folder in libraries if name.startswith(folder + "/")), None)
        if not library or "course" in name.removeprefix(library):
            return name
        kept += 1
    return str(kept > 1000)
"""
    with Sandbox(Protection.NAMESPACES) as sandbox:  # with time for all names
        assert look(sandbox, code) == "True"
    assert look(defenceless, code).startswith("/")


MODULES = """
import gc, sys, types
def seen():
    gc.unfreeze()
    modules = {x.__name__ for x in gc.get_objects() if isinstance(x, types.ModuleType)} | set(sys.modules)
    modules |= {x.__globals__.get("__name__") for x in gc.get_objects() if isinstance(x, types.FunctionType)}
    course = [str(name) for name in modules if str(name).startswith("course_utils")]
    tools = [str(name) for name in modules if str(name).startswith("course_tools")]
    return " ".join([*sorted(course), *sorted(name for name in tools if ".sandbox" not in name)])
"""
ASKING = {
    *(f"course_utils.judging.{name}" for name in ("calls", "errors", "serialize", "side_effects", "stubs")),
    "course_utils.explaining.program",
}


def test_a_child_holds_no_modules_that_know_answers(sandbox, defenceless):
    found = look(sandbox, MODULES).split()
    assert set(found) <= ASKING | {"course_tools", "course_tools.grading", "course_tools.repository"}
    assert "course_utils.exercises.chapter_1" in look(defenceless, MODULES).split()


def test_a_child_is_not_told_where_the_course_is(sandbox, defenceless):
    code = "import os, sys\ndef seen():\n    return os.pathsep.join(sys.path)"
    assert str(ROOT) not in look(sandbox, code).split(os.pathsep)
    assert str(ROOT) in look(defenceless, code).split(os.pathsep)


def test_a_child_finds_nothing_of_the_student_before(sandbox):
    marker = "the answer of the student before: " + os.urandom(8).hex()
    half = len(marker) // 2
    code = f"""
import gc
def seen():
    gc.unfreeze()
    wanted = {marker[:half]!r} + {marker[half:]!r}
    texts = [x for x in gc.get_objects() if isinstance(x, dict) and x.get("secret") == wanted]
    return str(len(texts))
"""
    own = f"secret = {marker!r}\n"
    assert look(sandbox, own + code) == "1"  # its own, it finds
    assert look(sandbox, code) == "0"


def test_a_child_holds_no_open_files_but_its_own_socket(sandbox):
    code = """
import os, stat
def seen():
    kinds = []
    for number in range(64):
        try:
            status = os.fstat(number)
        except OSError:
            continue
        null = stat.S_ISCHR(status.st_mode) and status.st_rdev == os.makedev(1, 3)
        kinds.append("null" if null else str(status))
    return " ".join(kinds)
"""
    others = look(sandbox, code).replace("null", "").split("os.stat_result")[1:]
    assert len(others) == 1 and f"st_mode={0o140777}" in others[0]  # a socket


def test_a_child_gets_nothing_of_our_environment(sandbox):
    code = "import os\ndef seen():\n    return ' '.join(sorted(os.environ))"
    assert set(look(sandbox, code).split()) <= {
        "LANG",
        "LC_CTYPE",
        "LD_LIBRARY_PATH",
        "MKL_NUM_THREADS",
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
    }


# --- the grader's own processes ---------------------------------------------------------------------------------------


def test_a_sandbox_whose_server_was_killed_starts_another(sandbox):
    before = [sandbox.process.pid, *descendants(sandbox.process.pid)]
    sandbox.process.kill()
    honest_afterwards(sandbox)
    assert not any(map(alive, before))


def test_an_endless_answer_ends_with_its_server(sandbox):
    before = [sandbox.process.pid, *descendants(sandbox.process.pid)]
    with ThreadPoolExecutor() as beside:
        outcome = beside.submit(result, sandbox, "import time\ntime.sleep(60)")
        while len(running := descendants(before[0])) < len(before):
            time.sleep(0.01)
        os.kill(running[-2] if len(running) > 1 else before[0], signal.SIGKILL)  # the one that forks
        assert "took longer" in outcome.result()[0].trouble  # in the server that took its place
    assert not any(map(alive, [*before, *running]))


@pytest.mark.parametrize("server_too", [False, True], ids=["the grader", "the grader and the server"])
def test_nothing_outlives_a_grader_that_was_killed(sandbox, server_too):
    code = f"""
from course_tools.grading.sandbox.protection import Protection, protection
from course_tools.grading.sandbox.sandbox import Sandbox
with Sandbox(Protection.{sandbox.protection.name}, seconds=60) as sandbox:
    print(sandbox.process.pid, flush=True)
    sandbox.run(["import time; time.sleep(300)"], "f", [], chapter=3)
"""
    grader = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, encoding="utf-8")
    server = int(grader.stdout.readline())
    deadline = time.monotonic() + 60
    while len(left := [server, *descendants(server)]) < 2 + (sandbox.protection.name == "NAMESPACES"):
        assert time.monotonic() < deadline, "the answer did not start"
        time.sleep(0.05)
    for process in [grader.pid, server][: 1 + server_too]:
        os.kill(process, signal.SIGKILL)
    grader.wait()
    grader.stdout.close()
    deadline = time.monotonic() + 60
    while any(map(alive, left)):
        assert time.monotonic() < deadline, "something outlived the grader"
        time.sleep(0.05)
