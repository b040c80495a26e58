"""Which output depends on which input: the measure that chapter 3 builds and later chapters use."""

from collections.abc import Callable

from torch import Tensor
from torch.autograd.functional import jacobian

__all__ = ["influences"]


def influences(function: Callable[[Tensor], Tensor], sequence: Tensor) -> Tensor:
    """How strongly input s moves output t of function(sequence): (T, T), row t, column s."""
    derivatives = jacobian(function, sequence)  # (T, d_out, T, d_in)
    return derivatives.abs().amax(dim=(1, 3))  # (T, T)
