"""How much faster is the fused class than the textbook class, and how near to the bare kernel?

    python -m tests.benchmarks.fused_attention [ROUNDS]

One layer of GPT-2 small (2 sequences of 1024 tokens, width 768, 12 heads), forward without gradients, on the CPU and,
if there is one, on CUDA. All contenders share their weights and take turns. Prints the shortest time of each, since a
busy machine only ever adds to it, and three ratios: textbook / fused for the whole layer, about 3 on two cores, and
without the four linear layers, which are the same in both and take most of the fused class's time, 6 to 8; fused /
bare kernel, wanted at most 1.10. Then the same for `Attention`, the layer for use: beside its four projections with the
bare kernel, wanted at most 1.10, and what a window, padding and sinks add to it.
"""

import sys

import torch
from torch.nn import functional as F
from torch.utils.benchmark import Timer

from course_utils.attention import Attention, MultiHeadAttention
from tests.support.chapter_code import defined_in

B, T, WIDTH, HEADS = 2, 1024, 768, 12


def contenders(device):
    """{name: function of a batch}, all with the same weights."""
    torch.manual_seed(123)
    textbook = MultiHeadAttention(WIDTH, WIDTH, T, dropout=0.0, num_heads=HEADS).eval().to(device)
    fused = defined_in(6).FusedMultiHeadAttention(WIDTH, WIDTH, T, dropout=0.0, num_heads=HEADS).eval().to(device)
    fused.load_state_dict(textbook.state_dict())

    def linear(x):
        """The four linear layers alone."""
        return fused.out_proj(fused.W_query(x) + fused.W_key(x) + fused.W_value(x))

    return {"textbook": textbook, "fused": fused, "bare kernel": bare(fused), "linear layers": linear}


def bare(layer):
    """The kernel between the four linear layers of a layer, with nothing of the course around it: a function of x."""

    def function(x):
        queries, keys, values = (
            F.linear(x, linear.weight).view(B, T, HEADS, WIDTH // HEADS).transpose(1, 2)  # (B, num_heads, T, head_dim)
            for linear in (layer.W_query, layer.W_key, layer.W_value)
        )
        context = F.scaled_dot_product_attention(queries, keys, values, is_causal=True)
        return F.linear(context.transpose(1, 2).reshape(B, T, WIDTH), layer.out_proj.weight, layer.out_proj.bias)

    return function


def for_use(device):
    """{name: function of a batch} for the layer for use, all with the same weights."""
    torch.manual_seed(123)
    layers = {
        "layer": Attention(WIDTH, HEADS),
        "window of 128": Attention(WIDTH, HEADS, window=128),
        "sinks": Attention(WIDTH, HEADS, sinks=True),
    }
    for layer in layers.values():
        layer.to(device).load_state_dict(layers["layer"].state_dict(), strict=False)
    padding = (torch.arange(T, device=device) >= T - 100)[None, None]  # (1, 1, T)
    functions = {name: lambda x, layer=layer: layer(x)[0] for name, layer in layers.items()}
    functions["padding"] = lambda x: layers["layer"](x, mask=padding)[0]
    return functions | {"bare kernel": bare(layers["layer"])}


@torch.no_grad()
def measure(device, rounds):
    """Run the contenders in turn and print their shortest times and ratios."""
    functions = contenders(device)
    x = torch.rand(B, T, WIDTH, device=device)
    for function in (functions["fused"], functions["bare kernel"]):
        assert torch.allclose(function(x), functions["textbook"](x), atol=1e-5), "they compute different things"
    print(f"{device}, {torch.get_num_threads()} threads, {rounds} rounds")
    fastest = shortest(functions, x, rounds)
    for above, below in [("textbook", "fused"), ("fused", "bare kernel")]:
        print(f"  {above} / {below}: {fastest[above] / fastest[below]:.2f}")
    textbook, fused = (fastest[name] - fastest["linear layers"] for name in ("textbook", "fused"))
    print(f"  textbook / fused, without the linear layers: {textbook / fused:.2f}")

    functions = for_use(device)
    assert torch.allclose(functions["layer"](x), functions["bare kernel"](x), atol=1e-5), (
        "they compute different things"
    )
    print("Attention, the layer for use")
    fastest = shortest(functions, x, rounds)
    for name in [name for name in functions if name != "bare kernel"]:
        print(f"  {name} / bare kernel: {fastest[name] / fastest['bare kernel']:.2f}")


def shortest(functions, x, rounds):
    """{name: shortest time} of functions that take turns, printed."""
    times = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            timer = Timer("function(x)", globals={"function": function, "x": x}, num_threads=torch.get_num_threads())
            times[name].append(timer.timeit(1).median)
    fastest = {name: min(spent) for name, spent in times.items()}
    for name, spent in fastest.items():
        print(f"  {name}: {spent * 1e3:.2f} ms")
    return fastest


if __name__ == "__main__":
    for device in ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]:
        measure(device, int(sys.argv[1]) if len(sys.argv) > 1 else 30)
