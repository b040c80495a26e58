"""Calls and replies as bytes: a JSON header, then the raw numbers of each tensor. Never pickle, which can run code."""

import io
import json
import math

import numpy as np
import torch

DTYPE_NAMES = ("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool")
DTYPES = {name: getattr(torch, name) for name in DTYPE_NAMES}
LARGEST_REPLY_HEADER = 4_000_000  # bytes; lists in lists take twenty times as much memory as their text


def pack(data):
    """Nested dicts, lists, strings, numbers, None and tensors as bytes."""
    numbers = []
    header = json.dumps(flat(data, numbers)).encode()
    return b"".join([len(header).to_bytes(8, "big"), header, *numbers])


def unpack(message, largest_header=math.inf):
    """What `pack` packed. ValueError for anything else, and for a header of more bytes than these."""
    try:
        end = 8 + int.from_bytes(message[:8], "big")
        if end - 8 > largest_header:
            raise ValueError("too large")
        numbers = io.BytesIO(message[end:])  # a stream: slices of bytes would copy the rest for every tensor
        data = restored(json.loads(message[8:end].decode()), numbers)
    except (ValueError, KeyError, TypeError, RuntimeError, RecursionError, OverflowError) as error:
        raise ValueError(f"This is not a message of calls or replies: {error}") from None
    if numbers.read(1):
        raise ValueError("This is not a message of calls or replies: it has data after its end.")
    return data


def flat(data, numbers):
    """`data` as JSON can hold it; the bytes of each tensor are appended to `numbers`."""
    if isinstance(data, torch.Tensor):
        order = sorted(range(data.ndim), key=lambda axis: -data.stride(axis))  # as the numbers lie in memory
        lying = data.permute(order).clone(memory_format=torch.contiguous_format)
        numbers.append(lying.flatten().view(torch.uint8).numpy().tobytes())
        return {"tensor": [str(data.dtype).removeprefix("torch."), list(lying.shape), order]}
    if isinstance(data, dict):
        return {"dict": [[key, flat(value, numbers)] for key, value in data.items()]}
    if isinstance(data, list):
        return [flat(entry, numbers) for entry in data]
    return data


def restored(data, numbers):
    """What `flat` made flat. numbers: a stream, from which those of each tensor are read."""
    if isinstance(data, list):
        return [restored(entry, numbers) for entry in data]
    if not isinstance(data, dict):
        return data
    ((kind, value),) = data.items()
    if kind == "dict":
        return {key: restored(entry, numbers) for key, entry in value}
    name, shape, order = value
    size = math.prod(shape) * DTYPES[name].itemsize
    if size > len(found := numbers.read(size)):
        raise ValueError("numbers are missing")
    tensor = torch.empty(shape, dtype=DTYPES[name])
    tensor.flatten().view(torch.uint8).numpy()[:] = np.frombuffer(found, dtype=np.uint8)
    return tensor.permute([order.index(axis) for axis in range(len(order))])
