"""Tiny models of families with random weights, made by the library from configurations, and our layers in them.

The library is the oracle: nothing is downloaded. `heard` says what entered and left each of its attention modules.
"""

import functools
import random

import torch
import transformers

from course_utils.attention import Attention, LatentAttention, rescaled, rotary_frequencies, yarn
from course_utils.families import FAMILIES, NUMBERS

SIZES = {
    "vocab_size": 50,
    "hidden_size": 24,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 64,
    "pad_token_id": None,
    "bos_token_id": None,
    "eos_token_id": None,
}
FULL = {"layer_types": ["full_attention", "full_attention"], "mlp_only_layers": [0, 1]}
MIXED = {"layer_types": ["sliding_attention", "full_attention"], "sliding_window": 4}
LLAMA_3 = {"rope_type": "llama3", "rope_theta": 500_000.0, "factor": 8.0, "original_max_position_embeddings": 32}
LLAMA_3 |= {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
YARN = {"rope_type": "yarn", "rope_theta": 150_000.0, "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0}
YARN |= {"truncate": False, "original_max_position_embeddings": 2}
PLAIN = {"rope_type": "default", "rope_theta": 10_000.0}
LOWEST = torch.finfo(torch.bfloat16).min  # finite in each kind of numbers
EXPERTS = {"num_experts_per_tok": 2, "attention_dropout": 0.0}
HALF = PLAIN | {"partial_rotary_factor": 0.5}
NO_HEAD_DIM = {name: size for name, size in SIZES.items() if name != "head_dim"}  # some families take none
LATENT = SIZES | {"num_key_value_heads": 6, "head_dim": 4, "q_lora_rank": 10, "kv_lora_rank": 8, "qk_nope_head_dim": 6}
LATENT |= {"qk_rope_head_dim": 4, "v_head_dim": 5, "first_k_dense_replace": 2, "num_local_experts": 4}
INDEXER = {"index_topk": 4, "index_head_dim": 6, "index_n_heads": 3}


def configurations():
    """{family: its configuration}."""
    lib = transformers
    return {
        "GPT-2": lib.GPT2Config(
            vocab_size=50, n_embd=24, n_layer=2, n_head=6, n_positions=64, bos_token_id=None, eos_token_id=None
        ),
        "Llama": lib.LlamaConfig(**SIZES, rope_parameters=LLAMA_3),
        "Mistral": lib.MistralConfig(**SIZES, sliding_window=4),
        "Qwen3": lib.Qwen3Config(**SIZES, rope_parameters=PLAIN | {"rope_theta": 1_000_000.0}),
        "Gemma 3": lib.Gemma3TextConfig(**SIZES, **MIXED, query_pre_attn_scalar=12),
        "gpt-oss": lib.GptOssConfig(**SIZES, **MIXED, **EXPERTS, num_local_experts=4, rope_parameters=YARN),
        "DeepSeek-V3": lib.DeepseekV3Config(**LATENT),
        "SmolLM3": lib.SmolLM3Config(**SIZES, no_rope_layers=[0, 1]),  # the first layer turns nothing
        "Phi": lib.PhiConfig(**NO_HEAD_DIM | {"hidden_size": 48}, rope_parameters=HALF),
        "Qwen3-Next": lib.Qwen3NextConfig(**SIZES, **FULL, rope_parameters=HALF),
        "Gemma 2": lib.Gemma2Config(**SIZES, **MIXED, query_pre_attn_scalar=12, attn_logit_softcapping=2.0),
        "DeepSeek-V3.2": lib.DeepseekV32Config(**LATENT, **INDEXER, mlp_layer_types=["dense"] * 2),
    }


DRAWN = [*FAMILIES, "Qwen2", "Gemma", "GPT-NeoX", "Cohere", "DeepSeek-V2"]  # the families that the course names


def drawn(family, seed):
    """A configuration of a family with sizes, frequencies, biases and windows drawn from a seed."""
    chance = random.Random(f"{family} {seed}")
    groups, kv_heads, head_dim = chance.randint(1, 4), chance.randint(1, 3), 2 * chance.randint(2, 6)
    sizes = SIZES | {
        "hidden_size": groups * kv_heads * chance.randint(2, 5),  # which some families want to be a multiple
        "num_attention_heads": groups * kv_heads,
        "num_key_value_heads": kv_heads,
        "head_dim": head_dim,
    }
    biased = {"attention_bias": chance.random() < 0.5}
    window = {"sliding_window": chance.randint(2, 8)}  # of 1 the library is wrong, as a test shows
    mixed = MIXED | window
    plain = PLAIN | {"rope_theta": 10 ** chance.uniform(2, 6)}
    factor, lib = {"factor": chance.uniform(2, 40)}, transformers
    rope = {"rope_parameters": plain}
    if family == "GPT-2":
        heads = chance.randint(1, 6)
        sizes = {"vocab_size": 50, "n_layer": 2, "n_head": heads, "n_embd": heads * chance.randint(2, 9)}
        return lib.GPT2Config(**sizes, n_positions=64, bos_token_id=None, eos_token_id=None)
    if family == "Llama":
        low = chance.uniform(0.5, 2)
        borders = {"low_freq_factor": low, "high_freq_factor": low + chance.uniform(0.5, 4)}
        llama_3 = LLAMA_3 | factor | borders | {"rope_theta": plain["rope_theta"]}
        kinds = [plain, plain | {"rope_type": "linear"} | factor, llama_3]
        return lib.LlamaConfig(**sizes, **biased, rope_parameters=chance.choice(kinds))
    if family == "Mistral":
        return lib.MistralConfig(**sizes, **rope, **window)
    if family == "Qwen2":
        sizes |= {"hidden_size": groups * kv_heads * head_dim}  # it takes no head_dim of its own
        del sizes["head_dim"]
        if chance.random() < 0.5:
            return lib.Qwen2Config(**sizes, **rope)
        return lib.Qwen2Config(**sizes, **rope, use_sliding_window=True, **mixed)
    if family == "Qwen3":
        return lib.Qwen3Config(**sizes, **rope, **biased, rms_norm_eps=10 ** chance.uniform(-6, -2))
    if family == "Gemma":
        return lib.GemmaConfig(**sizes, **rope, **biased)
    if family == "Gemma 3":
        both = {"full_attention": plain, "sliding_attention": PLAIN}
        scale = {"query_pre_attn_scalar": chance.randint(2, 20)}
        return lib.Gemma3TextConfig(**sizes, **mixed, **biased, **scale, rope_parameters=both)
    if family == "gpt-oss":
        yarn = YARN | factor | {"rope_theta": plain["rope_theta"], "truncate": chance.random() < 0.5}
        return lib.GptOssConfig(**sizes, **mixed, **biased, **EXPERTS, num_local_experts=4, rope_parameters=yarn)
    part = {"rope_parameters": plain | {"partial_rotary_factor": chance.choice([0.25, 0.5, 1.0])}}
    if family == "SmolLM3":
        kinds = [chance.randint(0, 1), chance.randint(0, 1)]
        more = window | {"use_sliding_window": True, "layer_types": MIXED["layer_types"]}
        more = chance.choice([{}, more])
        return lib.SmolLM3Config(**sizes, **biased, **more, **rope, no_rope_layers=kinds)
    if family in ("Phi", "GPT-NeoX"):
        sizes = {name: size for name, size in sizes.items() if name != "head_dim"}
        sizes["hidden_size"] = groups * kv_heads * 8 * chance.randint(1, 3)  # head_dim is a multiple of 8
        if family == "Phi":
            return lib.PhiConfig(**sizes, **part)
        del sizes["num_key_value_heads"]
        return lib.GPTNeoXConfig(**sizes, **biased, **part)
    if family == "Qwen3-Next":
        sizes["head_dim"] = 8 * chance.randint(1, 2)
        return lib.Qwen3NextConfig(**sizes, **FULL, **biased, **part)
    if family == "Gemma 2":
        scale = {"query_pre_attn_scalar": chance.randint(2, 20), "attn_logit_softcapping": chance.uniform(0.5, 50)}
        return lib.Gemma2Config(**sizes, **mixed, **biased, **scale, **rope)
    if family == "Cohere":
        sizes = {name: size for name, size in sizes.items() if name != "head_dim"}
        sizes["hidden_size"] = groups * kv_heads * head_dim
        return lib.CohereConfig(**sizes, **biased, **rope)
    heads, rotary = chance.randint(1, 6), 2 * chance.randint(1, 4)
    ranks = {"q_lora_rank": chance.randint(2, 12), "kv_lora_rank": chance.randint(2, 12)}
    ranks |= {"qk_nope_head_dim": chance.randint(1, 8), "qk_rope_head_dim": rotary, "v_head_dim": chance.randint(1, 8)}
    sizes |= ranks | {"num_attention_heads": heads, "num_key_value_heads": heads, "head_dim": rotary}
    sizes |= {"first_k_dense_replace": 2, "num_local_experts": 4}
    grown = chance.uniform(0.5, 1.5)  # the two that DeepSeek's files have are alike
    longer = {name: value for name, value in YARN.items() if name != "truncate"} | factor
    longer |= {"rope_theta": plain["rope_theta"], "mscale": grown, "mscale_all_dim": grown}
    rope = {"rope_parameters": chance.choice([plain, longer])}
    if family == "DeepSeek-V2":
        sizes |= {"q_lora_rank": chance.choice([None, ranks["q_lora_rank"]])}
        sizes["hidden_size"] = sizes["num_attention_heads"] * 4  # this family wants a multiple
        return lib.DeepseekV2Config(**sizes, rope_parameters=plain)
    if family == "DeepSeek-V3.2":
        indexer = {"index_topk": chance.randint(1, 12), "index_head_dim": rotary + chance.randint(0, 4)}
        indexer |= {"index_n_heads": chance.randint(1, 4), "mlp_layer_types": ["dense"] * 2}
        return lib.DeepseekV32Config(**sizes, **rope, **indexer)
    return lib.DeepseekV3Config(**sizes, **rope)


@functools.cache
def model(family):
    """The library's model of a family, in 64 bits, every number of it random."""
    return made(configurations()[family], FAMILIES.index(family))


def made(config, seed):
    """The library's model of a configuration, in 64 bits, every number of it random."""
    torch.manual_seed(seed)
    made = transformers.AutoModelForCausalLM.from_config(
        config, attn_implementation="eager", experts_implementation="eager"
    )
    for parameter in made.parameters():  # those that start at 0 or 1 would hide what is forgotten
        torch.nn.init.normal_(parameter, std=0.3)
    return made.double().eval()


def attention_modules(made):
    """The attention modules of a model of the library, layer by layer."""
    return [module for name, module in made.named_modules() if name.endswith((".attn", ".self_attn", ".attention"))]


@torch.no_grad()
def heard(made, numbers, **more):
    """(what the model returns, [(input, output, weights) of each attention module]) for token numbers (B, T)."""
    records = []

    def listen(module, positional, named, returned):
        x = positional[0] if positional else named["hidden_states"]
        records.append((x, *returned[:2]))

    def soften(module, positional, named):
        mask = named.get("attention_mask")  # filled with the lowest of 64 bits, which is -inf in its softmax of 32
        more = {} if mask is None else {"attention_mask": mask.clamp(min=LOWEST)}
        return positional, named | more

    modules = attention_modules(made)
    hooks = [module.register_forward_hook(listen, with_kwargs=True) for module in modules]
    hooks += [module.register_forward_pre_hook(soften, with_kwargs=True) for module in modules]
    returned = made(numbers, **more)
    for hook in hooks:
        hook.remove()
    return returned, records


# --- our layers with the library's numbers ----------------------------------------------------------------------------


def ours(made, number):
    """Our layer with the arguments and the weights of the library's attention module in layer `number`."""
    theirs = attention_modules(made)[number]
    arguments, weights = parts(made.config, theirs, made)
    layer = (LatentAttention if "latent_dim" in arguments else Attention)(**arguments)
    layer.load_state_dict({name: weight for name, weight in weights.items() if not name.startswith("indexer")})
    return layer.to(next(theirs.parameters())).eval()


def parts(config, theirs, made):
    """(arguments, weights under our names) of one of the library's attention modules."""
    weights = {name: tensor.detach() for name, tensor in theirs.state_dict().items()}
    if config.model_type == "gpt2":
        arguments = {"d_model": config.n_embd, "num_heads": config.n_head, "bias": True}
        arguments["dropout"] = config.attn_pdrop
        return arguments, of_gpt2(weights)
    if config.model_type.startswith("deepseek"):
        return of_deepseek(config, weights)
    heads = config.num_attention_heads
    arguments = {
        "d_model": config.hidden_size,
        "num_heads": heads,
        "num_kv_heads": getattr(config, "num_key_value_heads", heads),
        "head_dim": getattr(theirs, "head_dim", None) or theirs.head_size,
    }
    if getattr(theirs, "use_rope", True):
        arguments |= turns(config, theirs)
    if config.model_type == "cohere":
        arguments["interleaved"] = True
    window = config.sliding_window if config.model_type == "mistral" else getattr(theirs, "sliding_window", None)
    if window is not None:
        arguments["window"] = window
    if config.model_type == "gpt_oss":
        arguments["sinks"] = True
    if config.model_type == "gpt_neox":
        of_gpt_neox(weights, heads)
    if "q_proj.bias" in weights:
        arguments["bias"] = True
        if "o_proj.bias" not in weights and "dense.bias" not in weights:
            arguments["out_bias"] = False
    if config.model_type == "qwen3_next":
        arguments["gate"] = True
        of_qwen3_next(weights, heads)
    if getattr(theirs, "qk_layernorm", False):  # Phi's
        weights = {name.replace("_layernorm", "_norm"): tensor for name, tensor in weights.items()}
    if "q_norm.weight" in weights:
        arguments["norm_eps"] = getattr(config, "rms_norm_eps", 1e-5)
    if config.model_type in ("gemma2", "gemma3_text"):
        arguments["scale"] = config.query_pre_attn_scalar**-0.5
    if config.model_type == "gemma2":
        arguments["softcap"] = config.attn_logit_softcapping
    if config.model_type in ("gemma3_text", "qwen3_next"):
        for name in ("q_norm.weight", "k_norm.weight"):
            weights[name] = weights[name] + 1  # its RMSNorm multiplies by 1 + weight
    return arguments, {our_name(name): tensor for name, tensor in weights.items()}


def our_name(name):
    """What Attention calls the tensor that the library calls `name`."""
    names = {"q_proj": "W_query", "k_proj": "W_key", "v_proj": "W_value", "o_proj": "out_proj", "dense": "out_proj"}
    names |= {"q_norm": "query_norm", "k_norm": "key_norm", "gate": "W_gate"}
    first, _, last = name.partition(".")
    return ".".join(filter(None, [names.get(first, first), last]))


def turns(config, theirs):
    """The arguments for rotary positions: frequencies, and where they are needed rotary_dim and scale."""
    rope = config.rope_parameters
    rope = rope.get(getattr(theirs, "layer_type", None), rope)
    head_dim = getattr(theirs, "head_dim", None) or theirs.head_size
    rotary_dim = int(head_dim * rope.get("partial_rotary_factor", 1))
    part = {} if rotary_dim == head_dim else {"rotary_dim": rotary_dim}
    frequencies = rotary_frequencies(rotary_dim, rope["rope_theta"])
    if rope["rope_type"] == "linear":
        frequencies = frequencies / rope["factor"]
    if rope["rope_type"] == "llama3":
        borders = rope["low_freq_factor"], rope["high_freq_factor"]
        frequencies = rescaled(frequencies, rope["factor"], rope["original_max_position_embeddings"], *borders)
    if rope["rope_type"] == "yarn":
        frequencies, grown = of_yarn(rope, head_dim)
        part["scale"] = head_dim**-0.5 * grown
    return {"frequencies": frequencies} | part


def of_yarn(rope, head_dim):
    """What our yarn gives for the library's rope_parameters: frequencies, and what scores are multiplied by."""
    return yarn(
        head_dim,
        rope["rope_theta"],
        rope["factor"],
        rope["original_max_position_embeddings"],
        rope["beta_fast"],
        rope["beta_slow"],
        rope.get("truncate", True),
        rope.get("mscale_all_dim", 1.0),
    )


def of_gpt_neox(weights, heads):
    """GPT-NeoX's weights apart: in one matrix, head by head, rows of queries, keys and values follow each other."""
    for kind in ("weight", "bias"):
        if f"query_key_value.{kind}" in weights:
            both = weights.pop(f"query_key_value.{kind}").unflatten(0, (heads, 3, -1))
            for number, name in enumerate(["q_proj", "k_proj", "v_proj"]):
                weights[f"{name}.{kind}"] = both[:, number].flatten(0, 1)


def of_qwen3_next(weights, heads):
    """Qwen3-Next's gate apart: in one matrix, head by head, rows of the gate follow those of queries."""
    for kind in ("weight", "bias"):
        if f"q_proj.{kind}" in weights:
            both = weights[f"q_proj.{kind}"].unflatten(0, (heads, 2, -1))
            weights[f"q_proj.{kind}"], weights[f"gate.{kind}"] = both[:, 0].flatten(0, 1), both[:, 1].flatten(0, 1)


def of_gpt2(weights):
    """GPT-2's weights: one matrix for queries, keys and values, and all of them stored transposed."""
    found = {}
    for name, theirs in {"weight": weights["c_attn.weight"].T, "bias": weights["c_attn.bias"]}.items():
        for ours, part in zip(["W_query", "W_key", "W_value"], theirs.chunk(3)):
            found[f"{ours}.{name}"] = part
    return found | {"out_proj.weight": weights["c_proj.weight"].T, "out_proj.bias": weights["c_proj.bias"]}


def of_deepseek(config, weights):
    """The arguments and weights of DeepSeek-V2 and V3, and of V3.2 with those of its indexer."""
    heads, content, rotary = config.num_attention_heads, config.qk_nope_head_dim, config.qk_rope_head_dim
    latent, rotary_key = weights["kv_a_proj_with_mqa.weight"].split([config.kv_lora_rank, rotary])
    both = weights["kv_b_proj.weight"].unflatten(0, (heads, -1))  # (heads, content + value, latent)
    rope = config.rope_parameters
    arguments = {
        "d_model": config.hidden_size,
        "num_heads": heads,
        "content_dim": content,
        "rotary_dim": rotary,
        "value_dim": config.v_head_dim,
        "query_rank": config.q_lora_rank,
        "latent_dim": config.kv_lora_rank,
        "frequencies": rotary_frequencies(rotary, rope["rope_theta"]),
        "interleaved": True,
    }
    if rope["rope_type"] == "yarn":
        arguments["frequencies"], grown = of_yarn(rope, rotary)
        arguments["scale"] = (content + rotary) ** -0.5 * grown
    direct = config.q_lora_rank is None
    ours = {"W_query.weight": weights["q_proj.weight" if direct else "q_b_proj.weight"]}
    if not direct:
        ours |= {
            "to_query_latent.weight": weights["q_a_proj.weight"],
            "query_norm.weight": weights["q_a_layernorm.weight"],
        }
    ours |= {name: weight for name, weight in weights.items() if name.startswith("indexer")}
    return arguments, ours | {
        "to_latent.weight": latent,
        "latent_norm.weight": weights["kv_a_layernorm.weight"],
        "to_rotary_key.weight": rotary_key,
        "W_key.weight": both[:, :content].flatten(0, 1),
        "W_value.weight": both[:, content:].flatten(0, 1),
        "out_proj.weight": weights["o_proj.weight"],
    }


# --- what the course stores of this -----------------------------------------------------------------------------------


def stored(family):
    """What `course_utils.families` keeps of a family: its first attention module, fed with two sequences."""
    made = model(family)
    numbers = torch.randint(50, (2, 11), generator=torch.Generator().manual_seed(0))
    x, output, weights = heard(made, numbers)[1][0]
    arguments, parameters = parts(made.config, attention_modules(made)[0], made)
    parameters = {name: tensor.contiguous().clone() for name, tensor in parameters.items()}
    return {"arguments": arguments, "parameters": parameters, "x": x, "output": output, "weights": weights}


if __name__ == "__main__":
    torch.save({family: stored(family) for family in FAMILIES}, NUMBERS)
