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
from tests.support import stored

HERE = tuple(int(number) for number in re.findall(r"\d+", torch.__version__)[:2])


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


CLAIMS = [  # chapter, its words, what they say of this version, what this version does
    (6, "Before PyTorch 2.14 it also needs a batch", HERE < (2, 14), refused_without_a_batch),
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


def test_chapter_6_starts_silently_where_there_is_cudas_compiler_and_no_card(tmp_path):
    """As on Colab without a GPU."""
    code = stored.cell(stored.of_chapter(6), "imports").source
    command = [sys.executable, "-c", f"{ON_A_MACHINE_WITH_CUDAS_COMPILER_AND_NO_CARD}\n{code}\nprint(Timer)"]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"CUDA_HOME": str(tmp_path)}, capture_output=True, encoding="utf-8"
    )
    said = [line for line in done.stderr.splitlines() if "triton" not in line]  # which a real CUDA build brings
    assert "Timer" in done.stdout and said == []
