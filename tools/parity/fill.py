"""Random weights for a tiny model: every tensor counts, logits spread by two, nothing is 0 or 1.

Called by make_parity_models.py. Norm weights lie away from 1, biases away from 0, queries and keys
are large enough for peaked attention, and both branches of a layer outweigh the embedding, so that
the next token is not simply the last one again.
"""

import math

import torch

TARGET_SPREAD = 2.0  # standard deviation of the logits
ADDS_ONE = ("GemmaRMSNorm", "Gemma2RMSNorm", "Gemma3RMSNorm", "NemotronLayerNorm1P")
GAINS = {"q": 1.6, "out": 2.5, "router": 2.5, "embed": 0.3, "other": 1.1}


def kind_of(name: str) -> str:
    """What a matrix is for, by its name in transformers' code."""
    leaf = name.rsplit(".", 2)[-2] if name.endswith(".weight") else name.rsplit(".", 1)[-1]
    if any(word in name for word in ("embed", "wte", "wpe", "embd")):
        return "embed"
    if leaf in ("gate", "router", "layer") and "expert" not in leaf:
        return "router"
    if leaf in ("o_proj", "dense", "out_proj", "c_proj", "down_proj", "fc2", "fc_out", "w2"):
        return "out"
    if leaf in ("dense_4h_to_h", "output_linear"):
        return "out"
    if leaf in ("q_proj", "k_proj", "q_b_proj", "query_key_value", "c_attn", "Wqkv", "qkv_proj"):
        return "q"
    return "other"


def inputs_of(name: str, module, tensor) -> int:
    """How many inputs each output of a matrix sums."""
    if type(module).__name__ == "Conv1D":
        return tensor.shape[0]
    if tensor.dim() == 3 and type(module).__name__ == "GptOssExperts":
        return tensor.shape[1]
    return tensor.shape[-1]


def embed_multiplier(config) -> float:
    """By what the model multiplies its embeddings; they are made that much smaller."""
    if config.model_type.startswith("gemma"):
        return math.sqrt(config.hidden_size)
    return getattr(config, "embedding_multiplier", getattr(config, "scale_emb", 1.0))


def value_for(name: str, module, tensor, generator) -> torch.Tensor:
    """Random values of a tensor's shape."""
    noise = torch.randn(tensor.shape, generator=generator)
    is_norm = "norm" in type(module).__name__.lower()
    if is_norm and "embed" in name:  # bloom's: would outweigh the layers
        return 0.3 * (name.endswith("weight") + 0.25 * noise)
    if is_norm and name.endswith("weight"):
        return (0.0 if type(module).__name__ in ADDS_ONE else 1.0) + 0.25 * noise
    if name.endswith("sinks"):
        return noise
    if name.endswith("e_score_correction_bias"):
        return 0.15 * noise
    if tensor.dim() == 1 or name.endswith("bias"):
        return 0.3 * noise
    kind = kind_of(name)
    if kind == "embed":
        return GAINS["embed"] * noise
    return GAINS[kind] / math.sqrt(inputs_of(name, module, tensor)) * noise


def tensors_of(model):
    """(full name, module, tensor) of all parameters and of the router's buffer."""
    for prefix, module in model.named_modules():
        for name, tensor in module.named_parameters(recurse=False):
            yield f"{prefix}.{name}", module, tensor
        for name, tensor in module.named_buffers(recurse=False):
            if name == "e_score_correction_bias":
                yield f"{prefix}.{name}", module, tensor


def fill(model, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    seen = set()
    for name, module, tensor in tensors_of(model):
        if tensor.data_ptr() in seen:  # a tied head
            continue
        seen.add(tensor.data_ptr())
        values = value_for(name, module, tensor, generator)
        if tensor is model.get_input_embeddings().weight:
            values /= embed_multiplier(model.config)
        tensor.data.copy_(values)


def round_to(model, dtype) -> None:
    """Every tensor becomes a value that `dtype` holds."""
    for _, _, tensor in tensors_of(model):
        tensor.data.copy_(tensor.data.to(dtype).to(torch.float32))


def last_norm(model):
    """The norm before the head, if it has a weight."""
    found = None
    for name, module in model.named_modules():
        if name.split(".")[-1] in ("norm", "ln_f", "final_layer_norm", "final_layernorm", "norm_f"):
            depth = name.count(".")
            if getattr(module, "weight", None) is not None and depth <= 2 and "layers" not in name:
                found = module
    return found


def scale_logits(model, factor: float) -> None:
    """Scales what stands before the logits: an untied head, the last norm, or the embedding."""
    head, embedding = model.get_output_embeddings(), model.get_input_embeddings()
    norm = last_norm(model)
    if head.weight is not embedding.weight:
        head.weight.data *= factor
    elif norm is not None:
        one = 1.0 if type(norm).__name__ in ADDS_ONE else 0.0
        norm.weight.data.copy_((norm.weight.data + one) * factor - one)
    else:
        embedding.weight.data *= factor


@torch.no_grad()
def calibrate(model, ids) -> None:
    """Brings the spread of the logits to TARGET_SPREAD. Soft caps and ties take a few rounds."""
    for _ in range(6):
        spread = model(ids).logits.std().item()
        if abs(spread / TARGET_SPREAD - 1) < 0.1:
            return
        scale_logits(model, min(max(TARGET_SPREAD / spread, 0.2), 5.0))
