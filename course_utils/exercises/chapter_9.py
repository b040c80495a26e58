"""The exercises of chapter 9, rotary positions and shared keys."""

import torch

from course_utils.exercises.exercise import Exercise
from course_utils.exercises.inputs import non_contiguous, normal, uniform
from course_utils.exercises.words import written

ROTATE = Exercise(
    **written("9.1"),
    make_calls=lambda: [
        [normal(3, 6, seed=901), torch.tensor([0, 1, 2]), 10_000.0],
        [normal(3, 6, seed=906), torch.tensor([9, 4, 6]), 10_000.0],  # of the same size
        [normal(2, 5, 4, 10, seed=902), torch.tensor([7, 8, 9, 10]), 100.0],
        [non_contiguous(normal(1, 3, 8, seed=903)), torch.tensor([4, 0, 31]), 500.0],
        [normal(5, 2, seed=904), torch.tensor([3, 1, 4, 1, 5]), 10.0],
        [normal(3, 1, 2, 12, seed=905).double() / 3, torch.tensor([20, 40]), 10_000.0],  # more digits than 32 bits hold
    ],
)

PARTIAL = Exercise(
    **written("9.2"),
    make_calls=lambda: [[8, 4, 100.0], [12, 4, 10_000.0], [10, 8, 10.0], [16, 2, 500.0], [6, 6, 1000.0]],
)

# --- 9.3 grouped attention --------------------------------------------------------------------------------------------


def attention_call(B, num_heads, num_kv_heads, T, S, head_dim, seed, batch_of_masks=False):
    """A call whose last T of S tokens ask; no later token is seen, nor some that a mask hides besides."""
    queries = normal(B, num_heads, T, head_dim, seed=seed)
    keys, values = normal(2, B, num_kv_heads, S, head_dim, seed=seed + 1)
    hidden = torch.ones(T, S).triu(1 + S - T).bool()
    if batch_of_masks:
        hidden = hidden | (torch.arange(S) < torch.arange(B)[:, None, None, None])  # padding on the left
        hidden = hidden & ~torch.eye(T, S).roll(S - T, dims=1).bool()  # everyone sees itself
    return [queries, keys, values, hidden]


GROUPED = Exercise(
    **written("9.3"),
    make_calls=lambda: [
        attention_call(2, 6, 2, 4, 4, 5, seed=921),
        attention_call(3, 6, 3, 2, 5, 4, seed=923, batch_of_masks=True),
        attention_call(1, 4, 1, 3, 6, 2, seed=925),
        attention_call(2, 3, 3, 5, 5, 7, seed=927),
        attention_call(1, 8, 4, 1, 3, 6, seed=929),
    ],
)

NORM = Exercise(
    **written("9.4"),
    make_calls=lambda: [
        [normal(2, 3, 4, 6, seed=931), uniform(6, seed=932), 1e-6],
        [0.01 * normal(5, 8, seed=933), 1 + uniform(8, seed=934), 1e-4],
        [20 * normal(1, 4, 3, seed=935), normal(3, seed=936), 0.5],
        [normal(3, 1, 5, seed=937), torch.full((5,), 2.0), 0.1],
    ],
)

# --- 9.5 positions that go on -----------------------------------------------------------------------------------------


def cache_call(B, num_heads, num_kv_heads, n, past, head_dim, seed):
    """A call with n new tokens after `past` ones."""
    queries = normal(B, num_heads, n, head_dim, seed=seed)
    keys, values = normal(2, B, num_kv_heads, n, head_dim, seed=seed + 1)
    cache = list(normal(2, B, num_kv_heads, past, head_dim, seed=seed + 2)) if past else None
    frequencies = torch.tensor([100.0 ** (-2 * k / head_dim) for k in range(head_dim // 2)], dtype=torch.float64)
    return [queries, keys, values, cache, frequencies]


CACHED = Exercise(
    **written("9.5"),
    make_calls=lambda: [
        cache_call(2, 6, 3, n=1, past=5, head_dim=4, seed=941),
        cache_call(1, 4, 2, n=4, past=0, head_dim=6, seed=944),
        cache_call(3, 2, 1, n=2, past=7, head_dim=8, seed=947),
        cache_call(2, 3, 3, n=1, past=0, head_dim=2, seed=951),
        cache_call(2, 3, 3, n=3, past=1, head_dim=10, seed=954),
    ],
)
