"""Every live figure once, on four tokens, with what pointing at a cell must say, as torch computes it."""

import functools
from unittest import mock

import torch
from torch import nn

from course_utils import live
from course_utils.attention import SelfAttention_v2, rotary_frequencies, rotate
from course_utils.live.base import Figure
from course_utils.randomness import keep_mask

# A cell that puts a layer under controls, as chapters 3 to 5 do. {course}: where the course is.
OWN_LAYER = """\
import sys

import torch

sys.path.insert(0, {course!r})
from course_utils import live
from course_utils.attention import CausalAttention
live.try_layer(lambda length, dropout: CausalAttention(3, 2, length, dropout), torch.rand(4, 3), list("abcd"))
"""

TOKENS = ["the", "cat", "the", "dog"]
FIGURES = [name for name in live.__all__ if name.startswith("show_")]  # those that need no kernel


def inputs():
    """Four tokens with four numbers each."""
    return torch.randn(4, 4, generator=torch.Generator().manual_seed(2)).double()


@functools.cache  # one layer for the figure and for what it must show
def of_figures():
    """{name of the function: (its arguments, board, row, column, words that are there on pointing)} of all figures."""
    x = inputs()
    scores = x @ x.T
    weights = torch.softmax(scores, dim=-1)  # (T, T)
    layer = SelfAttention_v2(4, 2).double()
    causal = torch.softmax((layer.W_query(x) @ layer.W_key(x).T / 2**0.5)[3, :4], dim=-1)  # the last sees all
    padded = torch.softmax(torch.cat([scores[1, :2], torch.zeros(2)]), dim=-1)  # two keys are padding at first
    kept = keep_mask((4, 4), 0.5, 123)
    row, column = kept.nonzero()[-1].tolist()
    frequencies = rotary_frequencies(4, base=100.0)  # 1 and 0.1
    one, other = (rotate(x[row], torch.tensor([place]), frequencies)[0] for row, place in [(0, 7), (1, 3)])
    of_pair = one[1::2] @ other[1::2]  # pair 1 is the last number of each half
    names = ["the (0)", "cat", "the (2)", "dog"]
    cat_dog = 'uery "cat", key "dog": weight '
    return {
        "show_all_heads": (
            (weights.expand(2, 3, 4, 4), TOKENS),
            "layer 0, head 0",
            1,
            3,
            f"{cat_dog}{weights[1, 3]:.3f}",
        ),
        "show_attention": ((weights.expand(3, 4, 4), TOKENS), "head 1", 1, 3, f"Head 1, q{cat_dog}{weights[1, 3]:.4f}"),
        "show_dropout": (
            (weights, TOKENS),
            "in training: ✕ dropped, the rest × 2.00",
            row,
            column,
            f'Query "{names[row]}", key "{names[column]}": weight {weights[row, column]:.4f}, '
            f"kept: times 2.00 = {2 * weights[row, column]:.4f}",
        ),
        "show_masking": ((layer, x, TOKENS), "weights", 3, 1, f'Query "dog", key "cat": weight {causal[1]:.4f}'),
        "show_padding": (
            (scores, TOKENS, TOKENS),
            "padding not hidden",
            1,
            0,
            f'Query "cat", key "the (0)": weight {padded[0]:.4f}',
        ),
        "show_preferences": (
            (
                {
                    name: (table.expand(2, 3, 4, 4), [*TOKENS[:2], name, "dog"], "dog", "cat")
                    for name, table in [("saw", weights), ("bit", torch.softmax(-scores, dim=-1))]
                },
                "dog",
            ),
            "All heads: a row for each layer, a column for each head",
            1,
            2,
            f'Layer 1, head 2: "dog" gives {weights[3, 1]:.3f} to "cat" and {weights[3, 3]:.3f} to "dog"',
        ),
        "show_query_steps": (
            (x, TOKENS),
            "weight times value; context vector at the bottom",
            4,
            0,
            f"Context vector, number 1: {(weights[1] @ x)[0]:.4f}",
        ),
        "show_rotary": (
            (x[0], x[1], frequencies),
            "pairs",
            0,
            1,
            f"Pair 1: the query is turned by 0.7000, the key by 0.3000; their dot product is {of_pair:.4f}",
        ),
        "show_scaling": (
            (x[0], x, TOKENS),
            "scores and weights",
            1,
            0,
            f'Key "cat": score {scores[0, 1]:.4f}, weight {torch.softmax(scores[0], dim=-1)[1]:.4f}; '
            f"scaled: score {scores[0, 1] / 2:.4f}, weight {torch.softmax(scores[0] / 2, dim=-1)[1]:.4f}",
        ),
        "show_tiles": (
            (scores, x[:, :2], TOKENS, 2),
            "scores and shares",
            3,
            2,
            f'Query "dog", key "the (2)": score {scores[3, 2]:.4f}, e^({scores[3, 2]:.2f} − {scores[3].max():.2f}) = '
            f"{(scores[3, 2] - scores[3].max()).exp():.4f}",
        ),
        "show_shape_walk": ((x, 2, TOKENS), "with transpose, block 1", 1, 0, f'"cat", head 1: {x[1, 2]:.4f}'),
    }


def figure(name, device="cpu"):
    """The Figure that one of the functions shows, for its example with all tensors on a device."""
    assert name in of_figures(), f"{name}: give it an example and a number that it shows, in tests/support/examples.py"
    arguments = of_figures()[name][0]
    moved = [thing.to(device) if isinstance(thing, torch.Tensor | nn.Module) else thing for thing in arguments]
    return made(getattr(live, name), *moved)


def made(show, *arguments, **more):
    """The Figure that a function would show."""
    with mock.patch.object(Figure, "show", autospec=True) as shown:
        show(*arguments, **more)
    return shown.call_args.args[0]
