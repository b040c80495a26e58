"""How much faster is the fused class than the textbook class, and how near to the bare kernel?

    python -m tests.benchmarks.fused_attention [ROUNDS]

One layer of GPT-2 small (2 sequences of 1024 tokens, width 768, 12 heads), forward without gradients, on the CPU and,
if there is one, on CUDA. All contenders share their weights and take turns. Prints the shortest time of each, since a
busy machine only ever adds to it, and three ratios: textbook / fused for the whole layer, about 3 on two cores, and
without the four linear layers, which are the same in both and take most of the fused class's time, 6 to 8; fused /
bare kernel, wanted at most 1.10.
"""

import sys

import torch
from torch.nn import functional as F
from torch.utils.benchmark import Timer

from course_utils.attention import FusedMultiHeadAttention, MultiHeadAttention

B, T, WIDTH, HEADS = 2, 1024, 768, 12


def contenders(device):
    """{name: function of a batch}, all with the same weights."""
    torch.manual_seed(123)
    textbook = MultiHeadAttention(WIDTH, WIDTH, T, dropout=0.0, num_heads=HEADS).eval().to(device)
    fused = FusedMultiHeadAttention(WIDTH, WIDTH, T, dropout=0.0, num_heads=HEADS).eval().to(device)
    fused.load_state_dict(textbook.state_dict())

    def bare(x):
        """The kernel between the four linear layers, with nothing of the course around it."""
        queries, keys, values = (
            F.linear(x, layer.weight).view(B, T, HEADS, WIDTH // HEADS).transpose(1, 2)  # (B, num_heads, T, head_dim)
            for layer in (fused.W_query, fused.W_key, fused.W_value)
        )
        context = F.scaled_dot_product_attention(queries, keys, values, is_causal=True)
        return F.linear(context.transpose(1, 2).reshape(B, T, WIDTH), fused.out_proj.weight, fused.out_proj.bias)

    def linear(x):
        """The four linear layers alone."""
        return fused.out_proj(fused.W_query(x) + fused.W_key(x) + fused.W_value(x))

    return {"textbook": textbook, "fused": fused, "bare kernel": bare, "linear layers": linear}


@torch.no_grad()
def measure(device, rounds):
    """Run the contenders in turn and print their shortest times and two ratios."""
    functions = contenders(device)
    x = torch.rand(B, T, WIDTH, device=device)
    for function in (functions["fused"], functions["bare kernel"]):
        assert torch.allclose(function(x), functions["textbook"](x), atol=1e-5), "they compute different things"
    times = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            timer = Timer("function(x)", globals={"function": function, "x": x}, num_threads=torch.get_num_threads())
            times[name].append(timer.timeit(1).median)
    print(f"{device}, {torch.get_num_threads()} threads, {rounds} rounds")
    fastest = {name: min(spent) for name, spent in times.items()}
    for name, spent in fastest.items():
        print(f"  {name}: {spent * 1e3:.2f} ms")
    for above, below in [("textbook", "fused"), ("fused", "bare kernel")]:
        print(f"  {above} / {below}: {fastest[above] / fastest[below]:.2f}")
    textbook, fused = (fastest[name] - fastest["linear layers"] for name in ("textbook", "fused"))
    print(f"  textbook / fused, without the linear layers: {textbook / fused:.2f}")


if __name__ == "__main__":
    for device in ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]:
        measure(device, int(sys.argv[1]) if len(sys.argv) > 1 else 30)
