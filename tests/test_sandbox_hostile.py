"""Hostile answers: each gets the score that it honestly deserves, and nothing else on the machine notices.

Every attack is bounded, so that a hole in the sandbox cannot hurt the machine that tests it: it forks a few children
that end by themselves, takes 1 GB, kills only processes and changes only files that the test made, and knocks only at
this machine's own door.
"""

import os
import platform
import re
import signal
import socket
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.sandboxes import RIGHT, SECONDS, WRONG, alive, descendants, look, result, sandbox

__all__ = ["sandbox"]  # a fixture; pytest finds it by its name


@pytest.fixture
def victims(tmp_path):
    """What an attack is after: {name: value} for its text. Afterwards all of it must be as it was."""
    files = {"submission": "another student's", "grades": "ada,3.2,2", "solution": "SOLUTION"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    before = {path.name: path.stat() for path in tmp_path.iterdir()}
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
    with socket.create_server(("127.0.0.1", 0)) as door:
        door.setblocking(False)
        yield {"folder": str(tmp_path), "process": bystander.pid, "port": door.getsockname()[1]}
        with pytest.raises(BlockingIOError):  # nobody knocked
            door.accept()
    assert bystander.poll() is None, "a process that has nothing to do with it was killed"
    bystander.kill()
    bystander.wait()
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
        "something that is no answer",
    ),
    "garbage before the answer": (
        RIGHT + "import os\nfor k in range(3, 64):\n    try:\n        os.write(k, bytes(9))\n"
        "    except OSError:\n        pass",
        "something that is no answer",
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
        "hands in what the course itself",
    ),
}


@pytest.mark.parametrize("code, words", NO_ANSWER.values(), ids=NO_ANSWER.keys())
def test_what_comes_to_no_answer_is_told_in_a_sentence(sandbox, code, words):
    outcome, _ = result(sandbox, code)
    assert outcome.replies is None and words in outcome.trouble, outcome
    honest_afterwards(sandbox)


# --- wrong answers that would like to be right ------------------------------------------------------------------------

FORGED = """
import json, os
def packed(data):
    header = json.dumps(data).encode()
    return len(header).to_bytes(8, "big") + header
def send(message):
    for k in range(3, 64):
        try:
            os.write(k, message)
        except OSError:
            pass
    os._exit(0)
"""
DISHONEST = {
    "comparisons that are always true": WRONG + "torch.allclose = torch.equal = lambda *a, **b: True",
    "a tensor that equals everything": """
class Yes(torch.Tensor):
    def __eq__(self, other): return True
    def __sub__(self, other): return 0
    def all(self): return True
def my_causal_weights(scores): return scores.softmax(-1).as_subclass(Yes)""",
    "a tensor with its own functions": """
class Yes(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, arguments=(), named=None): return True
def my_causal_weights(scores): return scores.softmax(-1).as_subclass(Yes)""",
    "an object that equals everything": """
class Yes:
    def __eq__(self, other): return True
    def __getattr__(self, name): return self
    def __call__(self, *a, **b): return self
def my_causal_weights(scores): return Yes()""",
    "replies that claim to be right": FORGED + 'send(packed({"dict": [["replies", ["right"] * 4]]}))',
    "replies that claim a status": FORGED
    + """
send(packed({"dict": [["replies", [{"dict": [["status", "right"]]}] * 4]]}))""",
    "a reply with empty tensors": FORGED
    + """
empty = {"dict": [["values", [{"tensor": ["float32", [0, 5, 5]]}]], ["changed", []]]}
send(packed({"dict": [["replies", [empty] * 4]]}))""",
    "nan everywhere": "def my_causal_weights(scores): return scores * float('nan')",
    "a tensor without numbers": "def my_causal_weights(scores): return scores.to('meta')",
    "ten gigabytes by expand": "def my_causal_weights(scores): return torch.zeros(1).expand(2_500_000_000)",
    "sys.exit in the function": "def my_causal_weights(scores): raise SystemExit(0)",
    "the expected values from memory": """
def my_causal_weights(scores):
    import gc, sys
    gc.unfreeze()
    found = [x for x in gc.get_objects() if isinstance(x, torch.Tensor) and x.shape == scores.shape and x is not scores]
    frame = sys._getframe()
    while frame:
        found += [x for x in frame.f_locals.values() if isinstance(x, torch.Tensor) and x.shape == scores.shape]
        frame = frame.f_back
    return next((x for x in found if torch.allclose(x.sum(-1), torch.ones(1))), scores)""",
    "the solution from the course": """
from course_utils.checking import solution
try:
    exec(str(solution("3.2")))
    exec(solution("3.2").code)
except Exception:
    pass
def my_causal_weights(scores): return solution("3.2")""",
    "the oracle of the exercise": """
try:
    from course_utils.exercises import EXERCISES
except ImportError:
    EXERCISES = None
def my_causal_weights(scores): return torch.tensor(EXERCISES["3.2"].oracle([scores])[0])""",
    "the judge in the checker": """
from course_utils.judging import judge
judge.judge = lambda exercise, replies: "right"
def my_causal_weights(scores): return scores""",
}


@pytest.mark.parametrize("code", DISHONEST.values(), ids=DISHONEST.keys())
def test_a_wrong_answer_stays_wrong(sandbox, code):
    outcome, judged = result(sandbox, code)
    assert outcome.trouble or judged.status == "not yet"
    honest_afterwards(sandbox)


TOO_MUCH = {
    "one large tensor": "kept = torch.ones(2**30, dtype=torch.uint8)",
    "many small objects": "kept = [bytearray(2**20) for _ in range(1000)]",
    "memory shared with nobody": "import mmap; kept = mmap.mmap(-1, 2**30)",
}


@pytest.mark.parametrize("code", TOO_MUCH.values(), ids=TOO_MUCH.keys())
def test_an_answer_gets_no_more_memory_than_its_share(sandbox, code):
    outcome, judged = result(sandbox, RIGHT.replace("    T =", f"    {code}\n    T ="))
    assert judged is None or judged.status == "not yet"
    assert re.search("MemoryError|allocate memory", outcome.trouble or judged.message)
    honest_afterwards(sandbox)


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
    "its own copy of print": "def print(*a): raise SystemExit" + RIGHT + "print(1)",
    "seeds": "torch.manual_seed(1)" + RIGHT,
}


@pytest.mark.parametrize("code", HARMLESS.values(), ids=HARMLESS.keys())
def test_a_right_answer_stays_right(sandbox, code):
    outcome, judged = result(sandbox, code)
    assert judged and judged.status == "right", outcome


# --- what cannot be reached -------------------------------------------------------------------------------------------

ATTACKS = {
    "a child that stays": """
if os.fork() == 0:
    time.sleep(20)
    os._exit(0)""",
    "a fork bomb": """
for _ in range(5):  # 32 at most
    os.fork()
time.sleep(5)
os._exit(0)""",
    "a program": "subprocess.Popen(['/bin/sleep', '20'])",
    "a process of multiprocessing": "multiprocessing.Process(target=time.sleep, args=(20,)).start()",
    "a thread": "threading.Thread(target=time.sleep, args=(20,), daemon=True).start()",
    "a kill of the parent": "os.kill(os.getppid(), signal.SIGKILL)",
    "a kill of its group": "os.killpg(os.getpgrp(), signal.SIGKILL)",
    "a kill of somebody else": "os.kill(process, signal.SIGKILL)",
    "a stop of somebody else": "os.kill(process, signal.SIGSTOP)",
    "a limit for somebody else": "resource.prlimit(process, resource.RLIMIT_CPU, (1, 1))",
    "a connection": "socket.create_connection(('127.0.0.1', port), timeout=1)",
    "a socket": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
    "a socket by name": "socket.socket(socket.AF_UNIX)",
    "reading another submission": "open(folder + '/submission').read()",
    "listing the submissions": "os.listdir(folder)",
    "reading the users": "open('/etc/passwd').read()",
    "reading what the grader does": "open('/proc/self/environ').read()",
    "reading the course": "open(course + '/course_utils/exercises/chapter_3.py').read()",
    "reading the solutions": "open(course + '/solutions/03_hiding_the_future.py').read()",
    "writing the grades": "open(folder + '/grades', 'w').write('me,3.2,2')",
    "adding to the grades": "open(folder + '/grades', 'a').write('me,3.2,2')",
    "writing beside the grades": "open(folder + '/more', 'x').write('me')",
    "writing where torch is": "open(os.path.dirname(torch.__file__) + '/course_was_here', 'x').close()",
    "writing to a temporary folder": "tempfile.TemporaryFile()",
    "removing the grades": "os.unlink(folder + '/grades')",
    "renaming the grades": "os.rename(folder + '/grades', folder + '/gone')",
    "the grades' rights": "os.chmod(folder + '/grades', 0)",
    "the grades' time": "os.utime(folder + '/grades', (0, 0))",
    "the grades' length": "os.truncate(folder + '/grades', 0)",
    "a link to the grades": "os.link(folder + '/grades', folder + '/link')",
    "another root folder": "os.chroot('/')",
    "a mount": "assert ctypes.CDLL(None, use_errno=True).mount(b'none', b'/tmp', b'tmpfs', 0, None) == 0",
    "a namespace": "assert ctypes.CDLL(None, use_errno=True).unshare(0x10000000) == 0",
    "memory that nobody counts": "os.memfd_create('x')",
}
PREPARED = """
import ctypes, multiprocessing, os, resource, signal, socket, subprocess, tempfile, threading, time
{names}
def attack():
{attack}
def seen():
    try:
        attack()
    except (OSError, RuntimeError, AssertionError) as error:
        return "refused: " + type(error).__name__
    return "done"
"""


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS.keys())
def test_out_of_reach(sandbox, victims, attack):
    from course_utils.repository import ROOT

    names = "\n".join(f"{name} = {value!r}" for name, value in (victims | {"course": str(ROOT)}).items())
    code = PREPARED.format(names=names, attack=textwrap.indent(attack.strip(), "    "))
    assert look(sandbox, "import torch\n" + code).startswith("refused")
    honest_afterwards(sandbox)


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


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers of system calls here are those of x86-64")
def test_what_is_not_on_the_list_of_system_calls_is_refused(sandbox):
    code = f"""
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def seen():
    errors = []
    for name, number in {UNWANTED!r}.items():
        if libc.syscall(number, 0, 0, 0, 0, 0, 0) != -1 or ctypes.get_errno() != 1:
            errors.append(name)
    # a signal through fcntl: F_SETOWN, then O_ASYNC
    if libc.fcntl(0, 8, 1) != -1 or libc.fcntl(0, 4, 0o20000) != -1:
        errors.append("fcntl")
    return ", ".join(errors) or "all refused"
"""
    assert look(sandbox, code) == "all refused"


def test_a_child_sees_only_python_and_its_packages(sandbox):
    if sandbox.protection.name != "NAMESPACES":
        pytest.skip("Landlock hides what stands in files, not their names")
    code = """
import os
def seen():
    names = [os.path.join(at, name) for at, _, files in os.walk("/") for name in files]
    return ", ".join(name for name in names if "/lib" not in name or "course" in name) or f"{len(names) > 1000}"
"""
    assert look(sandbox, code) == "True"


def test_a_child_holds_no_modules_that_know_answers(sandbox):
    code = """
import gc, sys, types
def seen():
    gc.unfreeze()
    modules = {x.__name__ for x in gc.get_objects() if isinstance(x, types.ModuleType)} | set(sys.modules)
    modules |= {x.__globals__.get("__name__") for x in gc.get_objects() if isinstance(x, types.FunctionType)}
    return ", ".join(sorted(str(name) for name in modules if str(name).startswith("course_utils")))
"""
    found = set(look(sandbox, code).split(", "))
    assert {name for name in found if not name.startswith("course_utils.grading.sandbox")} == {
        f"course_utils.checking.{name}" for name in ("calls", "calm", "stubs", "trouble", "wire")
    }


def test_a_child_finds_nothing_of_the_student_before(sandbox):
    marker = "the answer of the student before: " + os.urandom(8).hex()
    half = len(marker) // 2
    result(sandbox, f"secret = {marker!r}" + RIGHT)
    code = f"""
import gc
def seen():
    gc.unfreeze()
    wanted = {marker[:half]!r} + {marker[half:]!r}
    texts = [x for x in gc.get_objects() if isinstance(x, dict) and x.get("secret") == wanted]
    return str(len(texts))
"""
    assert look(sandbox, code) == "0"


@pytest.mark.skipif(sys.platform != "linux", reason="capabilities are Linux's")
def test_a_child_gives_up_all_capabilities():
    code = """
from course_utils.grading.sandbox.inside import isolation
isolation.without_capabilities()
print(open("/proc/self/status").read())
"""
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "CapEff:\t0000000000000000" in answer.stdout and "CapPrm:\t0000000000000000" in answer.stdout


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
from course_utils.grading.sandbox.protection import Protection
from course_utils.grading.sandbox.sandbox import Sandbox
with Sandbox(Protection.{sandbox.protection.name}, seconds=60) as sandbox:
    print(sandbox.process.pid, flush=True)
    sandbox.run(["import time; time.sleep(300)"], "f", [], chapter=3)
"""
    grader = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
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
