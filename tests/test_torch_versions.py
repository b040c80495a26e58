"""What chapters say about a version of torch holds in the one that runs here; `test --matrix` runs it in others."""

import os
import re
import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from course_tools.repository import ROOT
from course_utils.attention import Attention
from tests.support import stored
from tests.test_attention import kept_bytes

HERE = tuple(int(number) for number in re.findall(r"\d+", torch.__version__)[:2])
MEASURED = (2, 11) <= HERE <= (2, 15)  # what a chapter calls PyTorch 2.11 to 2.15


def refused_without_a_batch():
    """Whether FlashAttention on the CPU refuses queries, keys and values of one sequence."""
    x = torch.rand(4, 6, 8)
    try:
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            F.scaled_dot_product_attention(x, x, x, is_causal=True)
    except RuntimeError:
        return True
    return False


def named_first():
    """Whether the message about sizes that do not fit begins with the operation."""
    messages = []
    for bias in (True, False):
        with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied") as stopped:
            nn.Linear(4, 4, bias=bias)(torch.rand(2, 3))
        messages.append(str(stopped.value))
    return [message.partition("mat1")[0] for message in messages] == ["addmm: ", "mm: "]


def nan_by_even_heads_in_eval():
    """Whether PyTorch's class, not asked for weights, makes nan of an empty sequence where the notes say so.

    In a process of its own: which path the class takes depends on what others have set.
    """
    command = [sys.executable, "-c", "from tests import test_torch_versions as these; print(these.where_nan())"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=True)
    return done.stdout.split() == ["[False,", "False,", "False,", "True]"]


def where_nan():
    """Whether there is nan with an odd and an even number of heads, in training and then in evaluation."""
    found, x = [], torch.rand(2, 5, 12)
    for heads, training in [(3, True), (4, True), (3, False), (4, False)]:
        layer = nn.MultiheadAttention(12, heads, batch_first=True).train(training)
        with torch.set_grad_enabled(training):
            output, _ = layer(x, x, x, key_padding_mask=torch.tensor([[False] * 5, [True] * 5]), need_weights=False)
        found.append(bool(output.isnan().any()))
    return found


def only_both_keep_more_than_half():
    """Whether a window or sinks alone keep at most half as much again as a plain layer, and both together more."""
    plain, window, sinks, both = (
        kept_bytes(Attention(256, 4, **arguments), torch.rand(1, 1024, 256))
        for arguments in [{}, {"window": 512}, {"sinks": True}, {"window": 512, "sinks": True}]
    )
    return max(window, sinks) <= 1.5 * plain < both


CLAIMS = [  # chapter, its words, what they say of this version, what this version does
    (6, "Before PyTorch 2.14 it also needs a batch", HERE < (2, 14), refused_without_a_batch),
    (9, "derivatives as with none (PyTorch 2.11 to 2.15)", MEASURED, only_both_keep_more_than_half),
    (99, "an even number of heads (PyTorch 2.11 to 2.15)", MEASURED, nan_by_even_heads_in_eval),
    (99, "PyTorch 2.15 and newer name the operation first", HERE >= (2, 15), named_first),
]


@pytest.mark.filterwarnings("ignore::UserWarning")  # why FlashAttention refuses
@pytest.mark.parametrize("chapter, words, said, does", CLAIMS, ids=lambda value: getattr(value, "__name__", None))
def test_a_chapter_names_the_version_that_behaves_as_it_says(chapter, words, said, does):
    assert words in " ".join(stored.prose(stored.read(stored.of_chapter(chapter))).split())
    assert does() == said


ON_A_MACHINE_WITH_CUDAS_COMPILER_AND_NO_CARD = """
import torch
torch.version.cuda, torch.cuda._is_compiled, torch.cuda.is_available = "13.0", lambda: True, lambda: False
"""


@pytest.mark.every_setting("CUDA's compiler without a card")
def test_chapter_6_starts_silently_where_there_is_cudas_compiler_and_no_card(tmp_path):
    """As on Colab without a GPU."""
    code = stored.cell(stored.of_chapter(6), "imports").source
    command = [sys.executable, "-c", f"{ON_A_MACHINE_WITH_CUDAS_COMPILER_AND_NO_CARD}\n{code}\nprint(Timer)"]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"CUDA_HOME": str(tmp_path)}, capture_output=True, encoding="utf-8"
    )
    said = [line for line in done.stderr.splitlines() if "triton" not in line]  # which a real CUDA build brings
    assert "Timer" in done.stdout and said == []
