"""The contract of an answer: what must hold besides its first values.

An answer's reply is compared with that of the worked answer. If both behave alike, there is no message.
"""

import itertools

import torch

from course_utils.judging import calls, differences, errors

# of a gradient's largest number, and of the largest number in all gradients: right answers stay far below both
GRADIENT_TOLERANCE, ROUNDING = 1e-2, 1e-4


def check_precision(call, reply, reference):
    """Whether decimal numbers keep their precision, and those of a layer their dtype, which the next layer needs."""
    is_layer = isinstance(call, calls.LayerCall)
    for wanted, found in zip(reference.values, reply.values):
        if calls.is_decimal(wanted) and (is_layer or wanted.dtype == torch.float64) and wanted.dtype != found.dtype:
            return f"Your result has dtype {found.dtype}; the input has {wanted.dtype}."
        if calls.is_decimal(wanted) and calls.is_decimal(found) and in_32_bits(found) and not in_32_bits(wanted):
            return f"Your result has only the precision of torch.float32; the input is {wanted.dtype}."


def in_32_bits(numbers):
    """Whether a tensor would lose nothing in float32, as if it had been in float32 on the way."""
    return same_values(numbers.float().double(), numbers.double())


def check_arguments(call, reply, reference):
    """Whether all arguments are unchanged."""
    unchanged = same_values(reply.arguments, reference.arguments)
    return None if unchanged else "Your code changes one of its arguments. The caller still needs it unchanged."


def check_second_call(call, reply, reference):
    """Whether nothing is kept from one call to the next."""
    if same_values(reference.second_call, reference.values) and not same_values(reply.second_call, reply.values):
        differs = "A second call with the same input gives a different result."
        return f"{differs} Your code keeps something from the first call, or draws random numbers where it should not."


def check_other_numbers(call, reply, reference):
    """Whether other numbers of the same sizes change the result where they should."""
    if not same_values(reply.flipped, reply.values):
        return None
    pairs = itertools.zip_longest(reference.values, reference.flipped)
    if any(differences.difference(one, other) for one, other in pairs if isinstance(one, (torch.Tensor, float, list))):
        return "A second call with other numbers gives the same result. Your code keeps something from the first call."


def check_randomness(call, reply, reference):
    """Whether random numbers are drawn where the worked answer draws them, and nowhere else."""
    wanted, found = map(draws_at_random, (reference, reply))
    if wanted and not found:
        return "Every call drops the same numbers. Your code sets a seed, or keeps what it drew before."
    if found and not wanted:
        differ = "Two calls with the same input give different numbers."
        return f"{differ} Your code draws random numbers where it should not, or without the given generator."


def draws_at_random(reply):
    """Whether another seed gave other values."""
    return not same_values(reply.other_seed, reply.values)


def check_other_sizes(call, reply, reference):
    """Whether a layer takes a shorter sequence and a larger batch after another, and a longer one after a shorter."""
    pairs = itertools.zip_longest(reference.other_sizes, reply.other_sizes)
    problem = next(filter(None, itertools.starmap(differences.problem, pairs)), None)
    return problem and f"When the length or batch size changes between calls: {problem}"


def check_extra_parameters(call, reply, reference):
    """Whether there are no extra parameters."""
    extra = reply.extra_parameters[len(reference.extra_parameters) :]
    return f"Your layer has an extra parameter, `{extra[-1]}`, which training would change." if extra else None


def check_initialization(call, reply, reference):
    """Whether matrices start with different numbers where they should."""
    if reply.same_initialization and not reference.same_initialization:
        names = " and ".join(f"`{name}`" for name in reply.same_initialization)
        return f"{names} start with the same numbers. Is a seed set again for each?"


def check_gradients(call, reply, reference):
    """Whether gradients reach everything that can be learned: arguments, by their place, and parameters.

    Where the numbers are those of the worked answer, the gradients must be the same, too.
    """
    nonzero = {name: wanted for name, wanted in reference.gradients.items() if is_nonzero(wanted)}
    largest = max(map(largest_entry, nonzero.values()), default=0)
    learned = {name: wanted for name, wanted in nonzero.items() if largest_entry(wanted) > ROUNDING * largest}
    if learned and reply.backward_error:
        return errors.sentence("The numbers are right, but computing gradients failed", reply.backward_error)
    if not any(isinstance(value, (torch.Tensor, list)) for value in reply.values):
        return None
    found = {}
    for name in learned:  # a parameter may belong to a layer inside, or stand alone
        names = (name, name.removesuffix(".weight"), f"{name}.weight")
        found[name] = next((reply.gradients[each] for each in names if each in reply.gradients), None)
    if learned.keys() == reference.gradients.keys():  # then no parameter is left out, whatever its name
        found |= {name: reply.gradients.get(name) for name in reply.parameters}
    if unreached := [name for name, gradient in found.items() if not is_nonzero(gradient)]:
        told = f"The numbers are right, but no gradient (derivative) reaches {leaf_name(unreached[0], reference)}."
        return f"{told} Look for detach, no_grad, item, tolist, numpy, data, float, or torch.tensor around a result."
    wrong = [name for name, wanted in learned.items() if not gradients_close(wanted, found[name], largest)]
    if wrong and not any(map(differences.problem, reference.values, reply.values)):
        told = f"The numbers are right, but the gradient that reaches {leaf_name(wrong[0], reference)} is wrong."
        return f"{told} Look for detach, no_grad, item, tolist or numpy, or a gradient written by hand."


def leaf_name(name, reference):
    """The name of a leaf in a message: that of an argument, whose place is given, or of a parameter."""
    return f"`{reference.argument_names[int(name)] if name.isdigit() else name}`"


def gradients_close(wanted, found, largest):
    """Whether two gradients are close, the second perhaps transposed. largest: the largest number in all gradients."""
    most = GRADIENT_TOLERANCE * largest_entry(wanted) + ROUNDING * largest
    ways = [found, found.mT] if found.ndim == 2 else [found]
    return any(way.shape == wanted.shape and largest_entry(finite(way) - finite(wanted)) <= most for way in ways)


def largest_entry(gradient):
    """The largest number of a gradient, whatever its sign."""
    return float(finite(gradient).abs().max())


def check_buffers(call, reply, reference):
    """Whether all tensors of a layer move with it. Only the answer's process can say so (see `untrusted_replies`)."""
    if reply.unregistered:
        name = reply.unregistered[0]
        stays = f"`self.{name}` is or contains a plain tensor, which `.to(device)` does not move"
        return f"{stays}: on a GPU the layer fails. Use self.register_buffer({name!r}, ...)."


def is_nonzero(gradient):
    """Whether there is a gradient with numbers other than 0."""
    return isinstance(gradient, torch.Tensor) and bool(finite(gradient).abs().sum() > 1e-7)


def finite(gradient):
    """A gradient with 0 in place of nan and infinity."""
    return gradient.double().nan_to_num(posinf=0, neginf=0)


def same_values(left, right):
    """Whether two values of replies are the same, number for number."""
    if isinstance(left, torch.Tensor) and isinstance(right, torch.Tensor):
        return calls.same_tensors(left, right)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same_values, left, right))
    return type(left) is type(right) and (left == right or left != left and right != right)


ON_RESULTS = (check_precision, check_second_call, check_other_numbers, check_randomness, check_other_sizes)
ON_LEARNING = (check_extra_parameters, check_initialization, check_gradients, check_buffers)
RULES = ON_RESULTS + ON_LEARNING
