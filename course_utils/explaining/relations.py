"""How a wrong value differs from the right one."""

import torch

from course_utils.judging import differences

CLOSE = 1e-4


def wrong_part(case):
    """The place of the first wrong value of several, or None."""
    if isinstance(case.value, list) and isinstance(case.want, (list, tuple)) and len(case.value) == len(case.want):
        pairs = enumerate(zip(case.want, case.value))
        return next((k for k, (wanted, found) in pairs if differences.problem(wanted, found)), None)
    return None


def relation(value, wanted):
    """How a value is related to the right one, as a name in `sentences.RELATIONS`; None for no known way."""
    if isinstance(value, torch.Tensor) and not_finite(value):
        return "nan" if value.isnan().any() else "infinite"
    if not isinstance(value, torch.Tensor) or not isinstance(wanted, torch.Tensor) or value.shape != wanted.shape:
        return None
    if value.is_floating_point() != wanted.is_floating_point():
        return None
    return next((name for name, holds in RELATIONS.items() if holds(value, wanted)), None)


def not_finite(value):
    """Whether a number or tensor holds nan or infinity; minus infinity hides a token and is no fault."""
    if isinstance(value, list):
        return any(map(not_finite, value))
    if isinstance(value, torch.Tensor):
        return value.is_floating_point() and bool((value.isnan() | (value == torch.inf)).any())
    return isinstance(value, float) and (value != value or value == torch.inf)


def is_one(numbers):
    """Whether all of these are 1."""
    return bool(((numbers - 1).abs() < CLOSE).all())


def close(value, wanted):
    """Whether two tensors hold the same numbers."""
    same_shape = value.shape == wanted.shape
    return same_shape and bool(torch.isclose(value.double(), wanted.double(), rtol=CLOSE, equal_nan=True).all())


def is_factor(value, wanted):
    """Whether a tensor is a number times another."""
    pairs = (wanted != 0) & wanted.isfinite() & value.isfinite()
    if pairs.sum() < 3:
        return False
    shares = value[pairs] / wanted[pairs]
    return bool((shares - shares[0]).abs().max() < CLOSE * shares[0].abs()) and close(value, wanted * shares[0])


RELATIONS = {
    "negative": lambda value, wanted: wanted.dtype != torch.bool and close(value, -wanted),
    "inverted": lambda value, wanted: value.dtype == wanted.dtype == torch.bool and close(value, ~wanted),
    "transposed": lambda value, wanted: value.ndim > 1 and close(value.mT, wanted),
    "factor": is_factor,
    "columns": lambda value, wanted: (
        value.ndim > 1 and is_one(wanted.sum(-1)) and not is_one(value.sum(-1)) and is_one(value.sum(-2))
    ),
    "rows": lambda value, wanted: value.ndim > 1 and is_one(wanted.sum(-1)) and not is_one(value.sum(-1)),
    "places": lambda value, wanted: close(value.flatten().sort().values, wanted.flatten().sort().values),
}
