"""The values that right answers compute on their way, and whether a value is one of them: in any order, or exactly."""

import itertools
import math

import numpy as np
import torch

RELATIVE, ABSOLUTE = 1e-4, 1e-6
START_VALUES = (0, 1, torch.inf, -torch.inf)


class Known:
    """The values that right answers make, up to order: tensors, rows of tensors, and single numbers."""

    def __init__(self, values):
        found = self.values = list({content_key(each): each for each in tensors_in(values)}.values())
        self.masks = {content_key(value.squeeze().bool()) for value in found if is_mask(value)}
        rows, tables = {}, {}
        for value in found:
            for shape, block in blocks(value.double().numpy()):
                rows.setdefault(block.shape[1], []).append(np.sort(block, axis=1))
                tables.setdefault(shape, []).append(block)
        # (n, size), each in the order of size
        self.rows = {size: np.unique(np.concatenate(each), axis=0) for size, each in rows.items()}
        self.tables = {shape: np.concatenate(each) for shape, each in tables.items()}  # (n, size), as they are
        self.entries = np.unique(np.concatenate([[0.0], *(table.ravel() for table in self.rows.values())]))

    def contains_unordered(self, value):
        """Whether right answers make these numbers, in any order; True for all but numbers, tensors and their lists."""
        if isinstance(value, list):
            return all(self.contains_unordered(entry) for entry in value)
        if isinstance(value, (int, float)):
            return value in START_VALUES or self.is_entry(float(value))
        if value is None or not value.numel() or is_start_value(value):
            return True
        if is_mask(value):
            alike = value.ndim > 2 and bool((value == value[0]).all())  # one mask, written out for each of a batch
            known = content_key(value.squeeze().bool()) in self.masks or alike and self.contains_unordered(value[0])
            if known or not value.is_floating_point():  # a row of weights, too, may hold nothing but 0 and 1
                return known
        row, rows = value.double().numpy().ravel(), self.rows.get(value.numel())
        return rows is not None and bool(close(rows, np.sort(row)).any())

    def contains_exact(self, value):
        """Whether right answers make a tensor, or a list of them, in this order; True for all else."""
        if isinstance(value, list):
            return all(self.contains_exact(entry) for entry in value)
        if not isinstance(value, torch.Tensor) or value.numel() < 2 or is_start_value(value):
            return True
        shape, flat = plain_shape(value.shape), (value.numel(),)  # of what is flat, only the order counts
        same = [rows for each, rows in self.tables.items() if each == shape or shape == flat == (math.prod(each),)]
        return any(bool(close(rows, value.double().numpy().ravel()).any()) for rows in same)

    def is_entry(self, number):
        """Whether a number is one that right answers have, alone or in a table."""
        place = np.searchsorted(self.entries, number)
        near = self.entries[max(place - 1, 0) : place + 1]
        return bool(close(near[:, None], number).any())


def close(rows, row):
    """(n,): which of the rows (n, size) are this one."""
    return np.isclose(rows, row, RELATIVE, ABSOLUTE, equal_nan=True).all(axis=1)


def is_uninformative(value):
    """Whether a value is evidence neither of a right step nor of a wrong one, although it may be wrong."""
    if isinstance(value, list):
        return all(map(is_uninformative, value))
    if isinstance(value, torch.Tensor) and value.numel() > 1:
        same = value.dtype == torch.bool and (value.squeeze().ndim < 2 or len(value.unique()) == 1)
        return same or is_start_value(value)
    if isinstance(value, torch.Tensor) and value.numel():
        value = value.item()
    return not isinstance(value, float) or value in START_VALUES


def is_start_value(tensor):
    """Whether a tensor is one that many begin with: all zeros, all ones, or 0, 1, 2, …"""
    if tensor.dtype == torch.bool or tensor.numel() < 2:
        return False
    counts = not tensor.is_floating_point() and torch.equal(tensor, torch.arange(len(tensor), dtype=tensor.dtype))
    return counts or holds_start_number(tensor)


def holds_start_number(tensor):
    """Whether all numbers of a tensor are one that many begin with."""
    first = tensor.flatten()[0]
    return bool((tensor == first).all()) and first.item() in START_VALUES


def is_mask(tensor):
    """Whether a tensor says yes or no to each place: order means something here."""
    return tensor.dtype == torch.bool or tensor.numel() > 1 and bool(((tensor == 0) | (tensor == 1)).all())


def content_key(tensor):
    """What two tensors have in common that hold the same."""
    return tensor.shape, tensor.dtype, tensor.numpy().tobytes()


def tensors_in(values):
    """Every number and tensor in values and in their lists, as tensors."""
    for value in values:
        if isinstance(value, list):
            yield from tensors_in(value)
        elif value is not None and (tensor := torch.as_tensor(value)).numel():
            yield tensor


def blocks(array):
    """(shape, rows) for the numbers of an array: all of it as one row, and each part that one or two indices pick."""
    for count in range(min(array.ndim, 2) + 1):
        for axes in itertools.combinations(range(array.ndim), count):
            parts = np.moveaxis(array, axes, range(count))
            yield plain_shape(parts.shape[count:]), parts.reshape(math.prod(parts.shape[:count]), -1)


def plain_shape(shape):
    """A shape without the axes of size 1."""
    return tuple(size for size in shape if size > 1)
