"""What only shows later in the life of an answer, although its first values are right.

An answer's reply is held against that of the worked answer: what was given afterwards, a second call, another seed,
other sizes, parameters, gradients. Where both do the same, nothing is said.
"""

import itertools

import torch

from course_utils.judging import calls, comparing, errors

CUT_OFF = (
    "The numbers are right, but no gradient comes back to {}, so it cannot be learned from. Look for detach, no_grad,"
    " item, tolist, numpy, data, or torch.tensor around a result."
)
MADE_UP = (
    "The numbers are right, but not the gradient that comes back to {}, so training would go another way. Is a part of"
    " the way cut off by detach, no_grad, item, tolist or numpy, or a gradient written by hand?"
)
UNLIKE, ROUNDING = 1e-2, 1e-4  # of a gradient's largest number, of the largest of all: right answers stay far below


def trouble(call, reply, reference):
    """A sentence on the first thing that is not as with the worked answer, or None."""
    for look in (precision, second_call, other_numbers, coins, sizes, parameters, twins, gradients, buffers):
        if sentence := look(call, reply, reference):
            return sentence
    return None


def precision(call, reply, reference):
    """Whether decimal numbers come back as exact as they came in; a layer's in their dtype: the next needs it."""
    strict = isinstance(call, calls.LayerCall)
    for wanted, found in zip(reference.values, reply.values):
        if calls.is_decimal(wanted) and (strict or wanted.dtype == torch.float64) and wanted.dtype != found.dtype:
            return f"Your result holds numbers in {found.dtype}; what came in was {wanted.dtype}."
        if calls.is_decimal(wanted) and calls.is_decimal(found) and in_32_bits(found) and not in_32_bits(wanted):
            return f"Your result has the digits of torch.float32 only; what came in was {wanted.dtype}."
    return None


def in_32_bits(numbers):
    """Whether a tensor would lose nothing in float32, as when it was there on its way."""
    return same(numbers.float().double(), numbers.double())


def arguments(call, reply, reference):
    """Whether something that was handed in was changed."""
    if not same(reply.arguments, reference.arguments):
        return (
            "Your code changed what it was given, which others still need. Work on a new"
            " tensor: `x = x + 1` instead of `x += 1`, a method without the `_` at its end, or a `clone()`."
        )
    return None


def second_call(call, reply, reference):
    """Whether something is kept from one call to the next."""
    if same(reference.again, reference.values) and not same(reply.again, reply.values):
        return (
            "Called once more with the same input, yours gives something else: it keeps something from one call to the"
            " next, or draws numbers where it should not."
        )
    return None


def other_numbers(call, reply, reference):
    """Whether other numbers of the same sizes make a difference where they should."""
    if not same(reply.turned, reply.values):
        return None
    pairs = itertools.zip_longest(reference.values, reference.turned)
    if any(comparing.difference(one, other) for one, other in pairs if isinstance(one, (torch.Tensor, float, list))):
        return (
            "Called with other numbers of the same sizes, yours gives the same: it keeps something from the first call."
        )


def coins(call, reply, reference):
    """Whether random numbers are drawn where they should be, and nowhere else."""
    wanted, found = (not same(each.fresh, each.values) for each in (reference, reply))
    if wanted and not found:
        return "Two calls with different random numbers give the same: a seed is set inside, or coins are kept."
    if found and not wanted:
        return (
            "Two calls with the same input give different numbers: something is drawn at random that should not be, or"
            " not with the generator that was given."
        )
    return None


def sizes(call, reply, reference):
    """Whether a layer takes a shorter sequence, and a larger batch, after its first input."""
    for wanted, found in itertools.zip_longest(reference.sizes, reply.sizes):
        if problem := comparing.problem(wanted, found):
            return f"With another length, or another batch, than in the first call: {problem}"
    return None


def parameters(call, reply, reference):
    """Whether there are parameters that nobody asked for."""
    if len(reply.extra) > len(reference.extra):
        return f"Your layer has the parameter `{reply.extra[-1]}`, which nobody asked for; training would change it."
    return None


def twins(call, reply, reference):
    """Whether matrices that should start from different numbers start from the same."""
    if reply.twins and not reference.twins:
        return f"`{reply.twins[0]}` and `{reply.twins[1]}` start from the same numbers: is a seed set again for each?"
    return None


def gradients(call, reply, reference):
    """Whether gradients come back to all that can be learned: to arguments, by their place, and to parameters.

    Where the numbers are those of the worked answer, the gradients must be its, too: any others are made up.
    """
    told = {name: wanted for name, wanted in reference.gradients.items() if matters(wanted)}
    largest = max(map(size, told.values()), default=0)
    learned = {name: wanted for name, wanted in told.items() if size(wanted) > ROUNDING * largest}
    if learned and reply.backward:
        return errors.sentence("The numbers are right, but no gradient comes back", reply.backward)
    if not any(isinstance(value, (torch.Tensor, list)) for value in reply.values):
        return None
    named = isinstance(getattr(call, "weights", {}), dict)  # or else any parameter may have got any of the weights
    found = {name: gradient_to(name, reply) for name in learned if named or name.isdigit()}
    if learned.keys() == reference.gradients.keys():  # then no parameter is left out, whatever its name
        found |= {name: reply.gradients.get(name) for name in reply.parameters}
    for name, gradient in found.items():
        if not matters(gradient):
            return CUT_OFF.format(called(name))
    if not any(map(comparing.problem, reference.values, reply.values)):
        for name in found:
            if name in learned and not close(learned[name], found[name], largest):
                return MADE_UP.format(called(name))
    return None


def called(name):
    """What a message calls a leaf: the place of an argument, or the name of a parameter."""
    return f"input {int(name) + 1}" if name.isdigit() else f"`{name}`"


def gradient_to(name, reply):
    """What comes back to a leaf of the worked answer; a parameter may be that of a layer, or stand for itself."""
    names = (name, name.removesuffix(".weight"), f"{name}.weight")
    return next((reply.gradients[each] for each in names if each in reply.gradients), None)


def close(wanted, found, largest):
    """Whether two gradients differ by no more than rounding makes of them. largest: number of all that come back.

    A matrix may be stored the other way round.
    """
    most = UNLIKE * size(wanted) + ROUNDING * largest
    ways = [found, found.mT] if found.ndim == 2 else [found]
    return any(way.shape == wanted.shape and size(finite(way) - finite(wanted)) <= most for way in ways)


def size(gradient):
    """The largest number of a gradient, whatever its sign."""
    return float(finite(gradient).abs().max())


def buffers(call, reply, reference):
    """Whether all of a layer moves with it. Known only by what the answer's process says of it (see `replies`)."""
    if reply.loose:
        name = reply.loose[0]
        return (
            f"`self.{name}` is, or holds, a plain tensor: `.to(device)` leaves it behind, and on a GPU the layer fails."
            f" Use self.register_buffer({name!r}, ...)."
        )
    return None


def matters(gradient):
    """Whether a gradient is there and says anything."""
    return isinstance(gradient, torch.Tensor) and bool(finite(gradient).abs().sum() > 1e-7)


def finite(gradient):
    """A gradient with 0 for what is no number."""
    return gradient.double().nan_to_num(posinf=0, neginf=0)


def same(left, right):
    """Whether two values of replies are the same, number for number."""
    if isinstance(left, torch.Tensor) and isinstance(right, torch.Tensor):
        return calls.same(left, right)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and (left == right or left != left and right != right)
