"""Attacks on the sandbox and on the grade, as texts for a child to run. Each could do harm, and none does much.

They fork a few children that end by themselves, take half a GB, kill only processes and change only files that the test
made, and knock only at this machine's own door. So each is also run where its wall is down, and has to succeed there.
"""

import textwrap

from course_tools.grading.sandbox.inside import server
from course_tools.repository import ROOT
from course_utils.judging import serialize
from tests.support.sandboxes import EXERCISE, WRONG

# --- fooling who compares ---------------------------------------------------------------------------------------------

AS_A_TENSOR = "def my_causal_weights(scores): return scores.softmax(-1).as_subclass(Yes)"
FOOLING = {
    "comparisons that are always true": WRONG + "torch.allclose = torch.equal = lambda *a, **b: True",
    "a tensor that equals everything": f"""
class Yes(torch.Tensor):
    def __eq__(self, other): return self
    def all(self): return True
{AS_A_TENSOR}""",
    "a tensor with its own functions": f"""
class Yes(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, arguments=(), named=None): return True
{AS_A_TENSOR}""",
    "an object that equals everything": """
class Yes:
    def __eq__(self, other): return True
    def __getattr__(self, name): return self
    def __call__(self, *a, **b): return self
def my_causal_weights(scores): return Yes()""",
    "no rows at all": "def my_causal_weights(scores): return scores[:0]",
    "nan everywhere": "def my_causal_weights(scores): return scores * float('nan')",
    "another judge": WRONG + "from course_utils.judging import judge\njudge.judge = lambda exercise, replies: 'right'",
}
# the ways in which courses have compared, in the process of the answer
NAIVE = """
from course_utils.exercises import EXERCISES
def by_allclose(got, want): return torch.allclose(got, want, atol=1e-4)
def by_equality(got, want): return (got == want).all()
def by_itself(got, want): return got == want
def by_rows(got, want): return all(torch.allclose(left, right, atol=1e-4) for left, right in zip(got, want))
def by_difference(got, want): return not ((got - want).abs() > 1e-4).any()
def holds(compare):
    exercise = EXERCISES["3.2"]
    pairs = [(call.arguments[0], torch.tensor(want[0])) for call, want in zip(exercise.calls, exercise.expected)]
    try:
        return all(bool(compare(my_causal_weights(scores), want.float())) for scores, want in pairs)
    except Exception:
        return False
def judged():
    from course_utils.judging import judge
    return judge.judge(EXERCISES["3.2"], [{}]) == "right"
def seen():
    fooled = [compare.__name__ for compare in (by_allclose, by_equality, by_itself, by_rows, by_difference)
              if holds(compare)]
    return " ".join(fooled + (["judge"] if judged() else [])) or "nobody"
"""

# --- stealing what the course knows -----------------------------------------------------------------------------------

LEARNABLE = """
def learnable(weights, scores):  # with the gradients that softmax has
    weights = torch.as_tensor(weights).to(scores.dtype)
    moved = weights * (scores - (weights * scores).sum(-1, keepdim=True))
    return weights + (moved - moved.detach())
"""
STEALING = {
    "the expected values from memory": f"""{LEARNABLE}
import gc, sys
import numpy as np
everything = []
def likely(thing, scores):
    if tuple(thing.shape) != tuple(scores.shape):
        return False
    last_row = torch.as_tensor(thing).to(scores.dtype)[..., -1, :]  # in which nothing is hidden
    return torch.allclose(last_row, scores[..., -1, :].softmax(-1), atol=1e-4)
def held(holders):
    for holder in holders:
        things = holder.values() if type(holder) is dict else holder if type(holder) in (list, tuple) else ()
        yield from (thing for thing in list(things) if isinstance(thing, (torch.Tensor, np.ndarray)))
def my_causal_weights(scores):
    gc.unfreeze()
    everything.extend(() if everything else held(gc.get_objects()))  # once: it takes long
    frame, frames = sys._getframe(1), []
    while frame:
        frames.append(frame.f_locals)
        frame = frame.f_back
    for thing in (*everything, *held(frames)):
        if likely(thing, scores):
            return learnable(thing, scores)
    return scores""",
    "the solution from the course": """
import os
os.environ["COURSE_PROGRESS"] = ""
def my_causal_weights(scores): return scores
from course_utils.checking import hint, solution
while not solution("3.2").code:  # it opens after all hints
    hint("3.2")
exec(solution("3.2").code)""",
    "the expected values of the exercise": f"""{LEARNABLE}
def my_causal_weights(scores):
    from course_utils.exercises import EXERCISES
    pairs = zip(EXERCISES["3.2"].calls, EXERCISES["3.2"].expected)
    expected = next(want for call, (want,) in pairs if torch.equal(call.arguments[0], scores))
    return learnable(expected, scores)""",
}

# --- forging what comes back ------------------------------------------------------------------------------------------

ASKED = len(EXERCISE.calls)
FORGED = {
    "replies that claim to be right": ["right"] * ASKED,
    "replies that claim a status": [{"status": "right", "values": []}] * ASKED,
    "replies that claim points": [{"values": [True], "changed": []}] * ASKED,
}


def forging(replies, after=b""):
    """An answer that writes these replies, and these bytes after them, to the grader by itself, and ends."""
    message = serialize.pack({"replies": replies})
    return f"""
import os
message = {server.LENGTH.pack(len(message)) + message + after!r}
for k in range(3, 64):
    try:
        os.write(k, message)
    except OSError:
        pass
os._exit(0)"""


# --- claiming what cannot be seen in values -------------------------------------------------------------------------

CUT_OFF = """
def my_causal_weights(scores):
    T = scores.shape[-1]
    weights = scores.masked_fill(torch.ones(T, T).triu(1).bool(), -torch.inf).softmax(-1).detach()
"""
LAYER = """
class MySelfAttention(nn.Module):
    def __init__(self, d_in, d_k, d_out):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_k, bias=False)
        self.W_key = nn.Linear(d_in, d_k, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)
    def forward(self, x):
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        return (queries @ keys.mT / keys.shape[-1]**0.5).softmax(-1) @ values
"""
SPARE = LAYER.replace("    def forward", "        self.spare = nn.Parameter(torch.ones(2))\n    def forward")
MASK = "torch.ones(context_length, context_length).triu(1).bool()"
BUFFERLESS = f"""
class MyCausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout):
        super().__init__()
        self.W_qkv = nn.Linear(d_in, 3 * d_out, bias=False)
        self.dropout = nn.Dropout(dropout)
        self.mask = {MASK}
    def forward(self, x):
        T = x.shape[-2]
        queries, keys, values = self.W_qkv(x).chunk(3, dim=-1)
        scores = queries @ keys.mT / keys.shape[-1]**0.5
        return self.dropout(scores.masked_fill(self.mask[:T, :T], -torch.inf).softmax(-1)) @ values
"""
BUFFERED = BUFFERLESS.replace(f"self.mask = {MASK}", f"self.register_buffer('mask', {MASK})")
MADE_UP, LOOSE = "is wrong. Look for detach", "is or contains a plain tensor"
WITHOUT = "[each for each in listed(self, *a, **b) if not each[0].startswith('spare')]"
UNSEEN = "{name: each for name, each in shown(self).items() if name != 'mask'}"
CLAIMED_GRADIENTS = {  # name: (exercise, code, words of what is said to it)
    "a gradient that passes the answer by": (
        "3.2",
        f"{CUT_OFF}    return weights + (scores - scores.detach())",
        MADE_UP,
    ),
    "a gradient written by hand": (
        "3.2",
        f"""
class Copied(torch.autograd.Function):
    @staticmethod
    def forward(context, scores, weights): return weights
    @staticmethod
    def backward(context, gradient): return torch.ones_like(gradient), None
{CUT_OFF}    return Copied.apply(scores, weights)""",
        MADE_UP,
    ),
    "another autograd": (
        "3.2",
        "torch.autograd.grad = lambda total, leaves, **how: [torch.ones_like(leaf) for leaf in leaves]"
        f"{CUT_OFF}    return weights + 0 * scores.sum()",
        MADE_UP,
    ),
    "a gradient too small to be seen in the result": (
        "2.4",
        LAYER.replace("self.W_key(x),", "self.W_key(x).detach() + 1e-6 * self.W_key(x),"),
        MADE_UP,
    ),
}
CLAIMED_PARTS = {
    "a parameter that the layer does not list": (
        "2.4",
        f"listed = nn.Module.named_parameters{SPARE}    def named_parameters(self, *a, **b): return {WITHOUT}",
        "extra parameter, `spare`",
    ),
    "a parameter in a part that the layer does not list": (
        "2.4",
        "listed = nn.Module.named_modules"
        + SPARE.replace("nn.Parameter(torch.ones(2))", "nn.ParameterList([torch.ones(2)])")
        + f"    def named_modules(self, *a, **b): return {WITHOUT}",
        "extra parameter, `spare.0`",
    ),
    "a parameter that PyTorch no longer lists": (
        "2.4",
        f"listed = nn.Module.named_parameters{SPARE}nn.Module.named_parameters = lambda self, *a, **b: {WITHOUT}",
        "extra parameter, `spare`",
    ),
    "no modules to look into": ("4.4", f"{BUFFERLESS}    def modules(self): return iter(())", LOOSE),
    "attributes that are not shown": (
        "4.4",
        f"shown = vars(nn.Module)['__dict__'].__get__{BUFFERLESS}    __dict__ = property(lambda self: {UNSEEN})",
        LOOSE,
    ),
    "another vars": ("4.4", f"shown = vars\nimport builtins{BUFFERLESS}builtins.vars = lambda self: {UNSEEN}", LOOSE),
    "a mask in a list": ("4.4", BUFFERLESS.replace(MASK, f"[{MASK}]").replace("mask[", "mask[0]["), LOOSE),
    "a mask in a list in a dict": (
        "4.4",
        BUFFERLESS.replace(MASK, f"{{'it': [{MASK}]}}").replace("mask[", "mask['it'][0]["),
        LOOSE,
    ),
}

# --- memory -----------------------------------------------------------------------------------------------------------

TOO_MUCH = {
    "one large tensor": "kept = torch.ones(2**29, dtype=torch.uint8)",
    "many small objects": "kept = [bytearray(2**20) for _ in range(500)]",
    "memory shared with nobody": "import mmap; kept = mmap.mmap(-1, 2**29)",
}

# --- reaching out of the sandbox --------------------------------------------------------------------------------------

READING = {
    "reading another submission": "open(folder + '/submission').read()",
    "listing the submissions": "os.listdir(folder)",
    "reading the users": "open('/etc/passwd').read()",
    "reading what the grader does": "open('/proc/self/environ').read()",
    "reading the course": "open(course + '/course_utils/exercises/chapter_3.py').read()",
    "reading the solutions": "open(course + '/solutions/03_hiding_the_future.py').read()",
}
WRITING = {
    "writing the grades": "open(folder + '/grades', 'w').write('me,3.2,2')",
    "adding to the grades": "open(folder + '/grades', 'a').write('me,3.2,2')",
    "writing beside the grades": "open(folder + '/more', 'x').write('me')",
    "writing where torch is": """
place = os.path.dirname(torch.__file__) + '/x'
open(place, 'x').close()
os.unlink(place)""",
    "writing to a temporary folder": "tempfile.TemporaryFile()",
    "removing the grades": "os.unlink(folder + '/grades')",
    "renaming the grades": "os.rename(folder + '/grades', folder + '/gone')",
    "a link to the grades": "os.link(folder + '/grades', folder + '/link')",
}
CHANGING = {
    "the grades' rights": "os.chmod(folder + '/grades', 0)",
    "the grades' time": "os.utime(folder + '/grades', (0, 0))",
    "the grades' length": "os.truncate(folder + '/grades', 0)",
}
PROCESSES = {
    "a child that stays": """
if os.fork() == 0:
    rest()""",
    "a fork bomb": """
own = os.getpid()
for _ in range(5):  # 32 at most
    os.fork()
if os.getpid() != own:
    rest()""",
    "a program": "subprocess.Popen(['/bin/sleep', '20'])",
    "a process of multiprocessing": "multiprocessing.Process(target=rest).start()",
    "a thread": "threading.Thread(target=time.sleep, args=(20,), daemon=True).start()",
    "memory that nobody counts": "os.memfd_create('x')",
    "a kill of the parent": "os.kill(os.getppid(), signal.SIGKILL)",
    "a kill of its group": "os.killpg(os.getpgrp(), signal.SIGKILL)",
    "a socket": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
    "a socket by name": "socket.socket(socket.AF_UNIX)",
}
NEIGHBOURS = {
    "a kill of somebody else": "os.kill(process, signal.SIGKILL)",
    "a stop of somebody else": "os.kill(process, signal.SIGSTOP)",
    "a limit for somebody else": "resource.prlimit(process, resource.RLIMIT_CPU, (1, 1))",
    "a connection": "socket.create_connection(('127.0.0.1', port), timeout=1)",
}
ANYBODYS = READING | WRITING | CHANGING | PROCESSES | NEIGHBOURS
# what only root may do, if only in a namespace of its own
ROOTS = {
    "another root folder": "os.chroot('/')",
    "a mount": "assert ctypes.CDLL(None, use_errno=True).mount(b'none', b'/', b'tmpfs', 0, None) == 0",
    "another host name": "socket.sethostname('x')",
}
NAMESPACE = {"a namespace": "assert ctypes.CDLL(None, use_errno=True).unshare(0x10000000) == 0"}

PREPARED = """
import ctypes, multiprocessing, os, resource, signal, socket, subprocess, tempfile, threading, time
import torch
{names}
def rest():
    os.closerange(3, 1024)  # nobody waits for what it holds
    time.sleep(20)
    os._exit(0)
def attack():
{attack}
def seen():
    try:
        attack()
    except (OSError, RuntimeError, AssertionError) as error:
        return "refused: " + type(error).__name__
    return "done"
"""


def reaching(attack, victims):
    """The text of one of these attacks on these victims."""
    names = "\n".join(f"{name} = {value!r}" for name, value in (victims | {"course": str(ROOT)}).items())
    return PREPARED.format(names=names, attack=textwrap.indent(attack.strip(), "    "))


def blunt(code):
    """The same without consequences: Linux decides on signal 0 as on any other, and sends none."""
    return code.replace("signal.SIGKILL", "0").replace("signal.SIGSTOP", "0")
