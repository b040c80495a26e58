"""Calls of an answer, and its replies: plain data both ways, and no expected values.

An exercise asks for a function or for a layer (a class). `run_calls` makes a list of calls to the learner's answer and
records the results in one reply per call. It never raises for what a learner wrote. Everything in a call and in a reply
is a dict, list, string, number, None or tensor, so that both can travel to another process and back (`serialize`).

An argument that is not a plain value is described: {"linear": weight}, an `nn.Linear` without bias, weight (d_out,
d_in); {"language_model": sizes, "seed": s, "most_read": n}, chapter 11's model with random weights, which refuses to
read more than n tokens, as many as a caller that passes the cache needs.
"""

import contextlib
from dataclasses import asdict, dataclass, field

import numpy as np
import torch
from torch import nn

from course_utils.judging import errors, serialize, side_effects, stubs

LARGEST_TENSOR = 1_000_000  # numbers; no answer in the course comes near this
LONGEST_TEXT = 500  # characters of a string in a reply
LONGEST_LIST = 1000  # entries
OTHER_SEED = 1000
WIDE = 0.5  # of random weights: wide enough for a model to prefer one token clearly
# reads all attributes of a layer, whatever its class claims to have
instance_dict = vars(nn.Module)["__dict__"].__get__


@dataclass(eq=False)
class FunctionCall:
    """Call the function with these arguments.

    gradient: also send a gradient back through the result, as part of the contract.
    check_contract: also record what the values alone do not show, such as changed arguments and a second call.
    """

    arguments: list
    gradient: bool = True
    check_contract: bool = True


@dataclass(eq=False)
class LayerCall:
    """Make the layer with these arguments, copy weights into it, and call it with each of the inputs in turn.

    weights: {name: tensor}, each for the parameter of this name, which may be transposed, or of the layer of this name.
    training: call it in training mode. seed: of torch; input k starts from seed + k.
    check_contract: also record what the values alone do not show, such as gradients, another mode, other sizes.
    """

    arguments: list
    inputs: list
    weights: dict = field(default_factory=dict)
    training: bool = False
    seed: int = 0
    check_contract: bool = True


def call_to_plain(call):
    """A call as a dict of plain data, and which of the two kinds it is."""
    return {"kind": type(call).__name__} | asdict(call)


def call_from_plain(data):
    """The call from the data of `call_to_plain`."""
    kind = {"FunctionCall": FunctionCall, "LayerCall": LayerCall}[data["kind"]]
    return kind(**{name: value for name, value in data.items() if name != "kind"})


def run_calls(answer, calls):
    """One reply per call; {"is_stub": True} alone when the answer is still the stub."""
    if stubs.is_stub(answer):
        return [{"is_stub": True}]
    with side_effects.without_side_effects():
        return [reply_to(answer, call) for call in calls]


def reply_to(answer, call):
    """The reply to one call, with an "error" in place of values that could not be computed."""
    reply = {}
    try:
        torch.default_generator.manual_seed(getattr(call, "seed", 0))  # of the CPU: all that a check draws from
        fill_in = call_function if isinstance(call, FunctionCall) else call_layer
        fill_in(answer, call, reply)
    except BaseException as error:  # also SystemExit and MemoryError, which a learner's code may raise
        if isinstance(error, KeyboardInterrupt):
            raise
        reply["error"] = errors.describe(error, answer)
    return reply


def call_function(answer, call, reply):
    """Fill in "values", a list of one, and what the contract needs (see `untrusted_replies.Reply`)."""
    arguments = build_argument(call.arguments)
    reply["values"] = [plain_value(answer(*arguments))]
    if not call.check_contract:
        return
    reply["arguments"] = [plain_value(each.weight if isinstance(each, nn.Linear) else each) for each in arguments]

    def values(seed, build=build_argument):
        torch.default_generator.manual_seed(seed)
        return [plain_value(answer(*[build(argument) for argument in call.arguments]))]

    reply["second_call"], reply["other_seed"] = values(0), values(OTHER_SEED)
    with contextlib.suppress(Exception):  # an exercise need not allow such input
        reply["flipped"] = values(0, flipped_argument)
    if call.gradient:
        arguments = build_argument(call.arguments)
        leaves = {str(k): each.requires_grad_() for k, each in enumerate(arguments) if is_decimal(each)}
        # an answer may not write on a leaf that needs a gradient; on a copy of it, it may
        copies = [each.clone() if is_decimal(each) else each for each in arguments]
        record_gradients(lambda: answer(*copies), leaves, reply, answer)


def call_layer(answer, call, reply):
    """Fill in the layer's parts, "values", one per input, and what the contract needs (`untrusted_replies`)."""
    layer = answer(*build_argument(call.arguments))
    reply["is_layer"] = issubclass(type(layer), nn.Module)
    if not reply["is_layer"]:
        reply["values"] = [plain_value(layer)]
        return
    reply |= describe_layer(layer)
    parameters = parameters_in(layer)
    reply["same_initialization"] = same_initialization(parameters)
    reply["unplaced_weights"], reply["extra_parameters"] = copy_weights(parameters, call.weights)
    if reply["unplaced_weights"]:
        return
    if not call.training:  # otherwise it stays in training, like any new layer
        layer.train(False)  # as a model around it would
    inputs = build_argument(call.inputs)

    def called(arguments, seed):  # another one for each input, which reveals dropout left on in evaluation
        torch.default_generator.manual_seed(seed)
        return layer(*arguments)

    def values(seed):
        return [plain_value(called(build_argument(arguments), seed + k)) for k, arguments in enumerate(call.inputs)]

    reply["values"] = [plain_value(called(arguments, call.seed + k)) for k, arguments in enumerate(inputs)]
    if not call.check_contract:
        return
    reply["arguments"] = [plain_value(arguments) for arguments in inputs]
    layer.train(not call.training)
    called(build_argument(call.inputs[0]), call.seed)
    layer.train(call.training)
    reply["second_call"], reply["other_seed"] = values(call.seed), values(call.seed + OTHER_SEED)
    if not call.training:
        whole = build_argument(call.inputs[0])
        others = list(other_sizes(whole))
        reply["other_sizes"] = [plain_value(called(arguments, call.seed)) for arguments in others]
        layer = answer(*build_argument(call.arguments))  # another one, which sees the shorter sequence first
        copy_weights(parameters_in(layer), call.weights)
        layer.train(False)
        reply["other_sizes"] += [plain_value(called(arguments, call.seed)) for arguments in [*others[:1], whole]][1:]
    leaves = parameters_in(layer)
    first = build_argument(call.inputs[0])
    if is_decimal(first[0]):
        leaves["0"] = first[0].requires_grad_()
    record_gradients(lambda: called([first[0].clone(), *first[1:]], call.seed), leaves, reply, answer)


def record_gradients(compute, leaves, reply, answer):
    """Fill in "gradients": {name: gradient of a leaf, or None}, and "backward_error": the error on the way, or None.

    compute: returns a result. Nothing is filled in for a result that cannot have gradients, such as a truth value.
    """
    try:
        result = compute()
        results = [each for each in (result, *entries(result)) if is_decimal(each)]
        if not results or not leaves:
            return
        reply["gradients"] = dict.fromkeys(leaves)
        # not a sum: the sum of weights is constant and has no gradient
        mixtures = [(each * torch.linspace(1, 2, each.numel()).view(each.shape)).square().sum() for each in results]
        total = sum(mixture for mixture in mixtures if mixture.requires_grad)
        if isinstance(total, torch.Tensor):
            found = torch.autograd.grad(total, list(leaves.values()), allow_unused=True)
            reply["gradients"] = {name: plain_value(gradient) for name, gradient in zip(leaves, found)}
    except Exception as error:
        reply["backward_error"] = errors.describe(error, answer)


def is_decimal(value):
    """Whether this is a tensor of decimal numbers."""
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def other_sizes(arguments):
    """The arguments of a layer with a shorter sequence and with a larger batch, if they have these."""
    (x, *others) = arguments
    if x.ndim > 1 and x.shape[-2] > 1 and not others:
        yield [x[..., :-1, :].clone()]
    if x.ndim > 2:
        yield [torch.cat([each, each]) for each in arguments]


def same_initialization(parameters):
    """The names of two of a layer's matrices that start with the same numbers, or []."""
    matrices = [(name, tensor) for name, tensor in parameters.items() if tensor.ndim > 1]
    for k, (name, tensor) in enumerate(matrices):
        for other, values in matrices[:k]:
            if same_tensors(tensor, values) and tensor.min() < tensor.max():
                return [other, name]
    return []


def build_argument(argument):
    """The argument that a call describes. Tensors are fresh copies."""
    if isinstance(argument, torch.Tensor):
        return argument.clone(memory_format=torch.preserve_format)
    if isinstance(argument, list):
        return [build_argument(entry) for entry in argument]
    if not isinstance(argument, dict):
        return argument
    if "language_model" in argument:
        return language_model(**argument)
    value = argument["linear"]
    layer = nn.Linear(value.shape[1], value.shape[0], bias=False)
    layer.weight.data.copy_(value)
    return layer


def language_model(language_model, seed, most_read):
    """A LanguageModel of these sizes with weights from a seed, which reads at most `most_read` tokens."""
    from course_utils.language_model import LanguageModel  # here: other answers must not find the course's layers

    model, generator = LanguageModel(*language_model), torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=WIDE, generator=generator)
    read = []

    def count(_, arguments):
        read.append(arguments[0].numel())
        if sum(read) > most_read:
            raise ValueError(f"the model has read {sum(read)} tokens, but {most_read} are enough: pass its caches")

    model.register_forward_pre_hook(count)
    return model.eval().requires_grad_(False)


def flipped_argument(argument):
    """The argument that a call describes; a tensor has its numbers in reverse order: other numbers of the same size."""
    return argument.flip(list(range(argument.ndim))) if isinstance(argument, torch.Tensor) else build_argument(argument)


def describe_layer(layer):
    """Names and shapes of a layer's parameters, and parts that PyTorch does not find: tensors that are no parameters or
    buffers, so that they do not move ("unregistered"), and modules or tensors in a plain list, tuple or dict
    ("in_plain_list")."""
    common = vars(nn.Module())  # the attributes of every layer
    kinds = (nn.Module, torch.Tensor)
    own = [(name, each) for part in modules_in(layer).values() for name, each in instance_dict(part).items()]
    own = [(name, value) for name, value in own if name not in common]
    parameters = parameters_in(layer)
    registered = {id(tensor) for tensor in parameters.values()}
    return {
        "parameters": {name: list(tensor.shape) for name, tensor in parameters.items()},
        "unregistered": [name for name, value in own if not registered.issuperset(map(id, tensors_in(value)))],
        "in_plain_list": [name for name, value in own if any(isinstance(each, kinds) for each in entries(value))],
    }


def modules_in(layer):
    """{name: module}, a layer first, as `named_modules` gives them, which its class can redefine."""
    found, waiting = {}, [("", layer)]
    for name, module in waiting:  # which grows on the way
        if all(module is not other for other in found.values()):
            found[name] = module
            waiting += [(f"{name}.{own}".lstrip("."), each) for own, each in members_of(module, "_modules")]
    return found


def parameters_in(layer):
    """{name: tensor}, each once, as `named_parameters` gives them, which its class can redefine."""
    found = {}
    for name, module in modules_in(layer).items():
        for own, tensor in members_of(module, "_parameters"):
            if all(tensor is not other for other in found.values()):
                found[f"{name}.{own}".lstrip(".")] = tensor
    return found


def members_of(module, kind):
    """(name, value) of each member that a module has of a kind, "_modules" or "_parameters"."""
    if kind not in instance_dict(module):
        raise AttributeError("`__init__` must begin with `super().__init__()`")
    return [(name, value) for name, value in dict.items(instance_dict(module)[kind]) if value is not None]


def tensors_in(value):
    """The tensors in plain lists, tuples and dicts, however deep, except single numbers, which fit anywhere."""
    if isinstance(value, torch.Tensor):
        return [value] if value.ndim else []
    return [tensor for entry in entries(value) for tensor in tensors_in(entry)]


def entries(value):
    """The entries of a plain list, tuple or dict; nothing for anything else."""
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, (list, tuple)) else []


def copy_weights(parameters, weights):
    """Copy weights into a layer's parameters, {name: tensor}, and remove the filled ones from these.

    Returns the names of weights without a place, and the names of the remaining parameters.
    """
    unplaced = []
    for name, tensor in weights.items():
        places = [place for place in (name, f"{name}.weight") if place in parameters]
        fitting = [place for place in places if parameters[place].shape in (tensor.shape, tensor.T.shape)]
        if fitting:
            parameter = parameters.pop(fitting[0])
            parameter.data.copy_(tensor if parameter.shape == tensor.shape else tensor.T)
        else:
            unplaced.append(name)
    return unplaced, list(parameters)


def same_tensors(left, right):
    """Whether two tensors have the same values; nan equals nan here."""
    return left.shape == right.shape and torch.equal(left.detach().nan_to_num(), right.detach().nan_to_num())


def plain_value(value):
    """A result as plain data. A value of unknown kind becomes {"other": the name of its type}."""
    if isinstance(value, torch.Tensor):
        if value.is_meta:
            return {"other": "tensor without numbers (device meta)"}
        if value.numel() > LARGEST_TENSOR:
            return {"other": f"tensor of shape {tuple(value.shape)}, too large"}
        if value.dtype not in serialize.DTYPES.values() or value.layout != torch.strided:
            return {"other": f"tensor of another kind ({value.dtype}, {value.layout})"}
        return value.detach().as_subclass(torch.Tensor).cpu().clone()  # without its class's own methods
    if isinstance(value, np.generic):  # a NumPy number or truth value, such as np.bool_
        value = value.item()
    if value is None or isinstance(value, (bool, int, float)):
        return value if abs(value or 0) < 2**60 or isinstance(value, float) else {"other": "a very long number"}
    if isinstance(value, str):
        return value[:LONGEST_TEXT]
    if isinstance(value, (list, tuple)):
        return [plain_value(entry) for entry in value[:LONGEST_LIST]]
    if isinstance(value, dict):
        return {"other": "a dict"}
    return {"other": "a layer" if isinstance(value, nn.Module) else type(value).__name__}
