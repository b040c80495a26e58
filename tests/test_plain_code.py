"""Code that can only compute is told from code that could depend on chance, keep something or reach something."""

import pytest

from course_tools.grading.plain_code import only_computes

SUITE = "The grader: results, points, and what it shows."
IMPORTS = "import math\nimport torch\nfrom torch import nn\nimport torch.nn.functional as F"
PLAIN = [
    "def f(x):\n    return F.softmax(x, dim=-1)",
    "def f(x: torch.Tensor) -> torch.Tensor:\n    '''Weights.'''\n    rows = []\n    for row in x:\n"
    "        rows.append(row / math.sqrt(len(row)))\n    return torch.stack(rows)",
    "def f():\n    '''Found by training.'''\n    torch.manual_seed(3)\n    W = torch.randn(3, 3, requires_grad=True)\n"
    "    for _ in range(9):\n        W.square().sum().backward()\n        with torch.no_grad():\n"
    "            W -= W.grad\n        W.grad = None\n    return W.detach()",
]
MORE = [
    "def f(x):\n    return torch.rand(3)",
    "def f(x):\n    y = torch.rand(3)\n    torch.manual_seed(3)\n    return y",
    "def f(x, y=torch.rand(3)):\n    torch.manual_seed(3)\n    return y",
    "def f(x, seed=4):\n    torch.manual_seed(seed)\n    return torch.rand(3)",
    "torch.manual_seed(3)\ndef f(x):\n    return torch.rand(3)",
    "def f(x):\n    return F.dropout(x, 0.5)",
    "def f(x):\n    return nn.Linear(3, 3)(x)",
    "def f(x):\n    return torch.empty(3)",
    "def f(x):\n    return torch.Tensor(3)",
    "make = torch.Tensor\ndef f(x):\n    return make(3)",
    "def f(x: torch.Tensor(3)):\n    return x",
    "import time\ndef f(x):\n    return time.time()",
    "from torch import rand\ndef f(x):\n    return rand(3)",
    "from torch import *\ndef f(x):\n    return rand(3)",
    "from . import own\ndef f(x):\n    return x",
    "import course_utils\ndef f(x):\n    return x",
    "def f(x):\n    return id(x)",
    "def f(x):\n    return int(f'{f}'[-4:-1], 16)",
    "def f(x):\n    return int(('%s' % f)[-4:-1], 16)",
    "def f(x):\n    return int((b'%a' % f)[-4:-1], 16)",
    "def f(x):\n    return [*{'a', 'b', 'c'}]",
    "def f(x):\n    return open('/proc/self/stat')",
    "def g(open): pass\ndef f(x):\n    return open('/proc/self/stat')",
    "def g(__builtins__): pass\ndef f(x):\n    return __builtins__['open']('/proc/self/stat')",
    "def f(x):\n    return f.__globals__",
    "def f(x):\n    return getattr(torch, 'rand')(3)",
    "def f(x):\n    torch.softmax = None",
    "def f(x):\n    global seen\n    seen = x",
    "class f:\n    pass",
    "def f(x):\n    with torch.device('cpu') as place:\n        return x",
    "@torch.compile\ndef f(x):\n    return x",
    "def f(x): return (",
    "import numpy as np\ndef f(x):\n    return np.zeros(3)",
    "from torch import values\ndef f(x):\n    return values.now()",
    "import torch as __builtins__\ndef g(rand): pass\ndef f(x):\n    return rand(2)",
    "def hook(name, space, *rest):\n    return space\n__builtins__ |= {'__import__': hook}\ndef f(x):\n    return x",
    "__annotations__ = d = {}\nx: torch.Tensor = 1\ndef f(x):\n    return d['x'](6)",
    "t = torch\ndef g(display): pass\ntorch = display\ndef f(x):\n    torch.manual_seed(0)\n    return t.rand(2)",
    "t = torch\ndef f(x):\n    t.grad = None",
    "def f(x):\n    torch.grad = None",
    "def f(x):\n    x.grad = 3",
    "def f(x):\n    t = torch.nn\n    return x",
    "def g():\n    torch.manual_seed(0)\n    return torch.rand\nr = g()\ndef f(x):\n    return r(2)",
    "def f(x):\n    torch.manual_seed(0)\n    return lambda: torch.rand(2)",
    "def f(x):\n    torch.manual_seed(0)\n    return (torch.rand(2) for _ in range(2))",
    "def f(x):\n    y = torch.ones(0)\n    torch.gather(torch.ones(3), 0, torch.full((6,), 99), out=y)\n    return y",
    "def f(x):\n    return torch.gather(torch.ones(3), 0, torch.full((6,), 99), **dict(out=x))",
    "with torch" + ".T" * 600 + ":\n    pass\n",
]  # fmt: skip


@pytest.mark.parametrize("code", PLAIN)
def test_code_that_can_only_compute_is_recognised(code):
    """Such an answer runs only once, which makes grading fast."""
    assert only_computes([IMPORTS, code])


@pytest.mark.parametrize("code", MORE)
def test_code_that_could_do_more_is_not_taken_for_such(code):
    """It could be right by chance, or make another answer right or wrong, so it has to run more than once."""
    assert not only_computes([IMPORTS, code])
