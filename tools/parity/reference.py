"""What transformers computes for a model folder: logits of a pass, greedy tokens, float64 differences.

Called by make_parity_models.py. The folder is loaded as a user would load it; keys that are missing or
left over stop the maker.
"""

import contextlib

import torch
from torch.overrides import TorchFunctionMode
from transformers import AutoConfig, AutoModelForCausalLM

from parity.fill import tensors_of

NEW_TOKENS = 8


class InDouble(TorchFunctionMode):
    """Turns casts to float32 inside the model's code into casts to float64."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if func is torch.Tensor.float:
            return args[0].double()
        args = tuple(torch.float64 if a is torch.float32 else a for a in args)
        for key, value in kwargs.items():
            if value is torch.float32:
                kwargs[key] = torch.float64
        return func(*args, **kwargs)


def load(folder: str, attention: str, changes: dict | None = None):
    """The model of a folder in float32; `changes` are put into its config."""
    config = AutoConfig.from_pretrained(folder)
    for key, value in (changes or {}).items():
        setattr(config, key, value)
    model, info = AutoModelForCausalLM.from_pretrained(
        folder,
        config=config,
        dtype=torch.float32,
        attn_implementation=attention,
        output_loading_info=True,
    )
    with contextlib.suppress(ValueError, AttributeError):
        model.set_experts_implementation("eager")
    for kind in ("missing_keys", "unexpected_keys", "mismatched_keys", "error_msgs"):
        if info.get(kind):
            raise SystemExit(f"{folder}: {kind}: {info[kind]}")
    return model.eval()


@torch.no_grad()
def logits(model, ids: list[int], double: bool = False) -> torch.Tensor:
    """[positions, vocabulary]; in float64 when `double` (the model is turned into float64)."""
    batch = torch.tensor([ids])
    if not double:
        return model(batch, use_cache=False).logits[0].float()
    with InDouble():
        return model.double()(batch, use_cache=False).logits[0].double()


@torch.no_grad()
def greedy_cached(model, ids: list[int]) -> tuple[list[int], float]:
    """NEW_TOKENS greedy tokens with a KV cache, and the smallest lead of a best token."""
    batch, cache, tokens, lead = torch.tensor([ids]), None, [], float("inf")
    for _ in range(NEW_TOKENS):
        out = model(batch, past_key_values=cache, use_cache=True)
        best = out.logits[0, -1].topk(2)
        cache = out.past_key_values
        lead = min(lead, (best.values[0] - best.values[1]).item())
        tokens.append(best.indices[0].item())
        batch = torch.tensor([[tokens[-1]]])
    return tokens, lead


def greedy_whole(load_model, ids: list[int], by_length: bool) -> tuple[list[int], float]:
    """The same without a cache. Where rope depends on the length every pass has the planned length:
    ids behind the current position fill it, which causal attention cannot see."""
    tokens, lead, model = list(ids), float("inf"), load_model()
    planned = len(ids) + NEW_TOKENS
    for _ in range(NEW_TOKENS):
        if by_length:
            model = load_model()  # transformers remembers the longest length it has seen
        row = tokens + [5] * (planned - len(tokens)) if by_length else tokens
        best = logits(model, row)[len(tokens) - 1].topk(2)
        lead = min(lead, (best.values[0] - best.values[1]).item())
        tokens.append(best.indices[0].item())
    return tokens[len(ids) :], lead


def perturbed(model, ids: list[int], relative: float) -> float:
    """Largest change of a logit when every weight is off by `relative`: routers must not flip."""
    before = logits(model, ids)
    generator = torch.Generator().manual_seed(7)
    saved = [(tensor, tensor.data.clone()) for _, _, tensor in tensors_of(model)]
    for tensor, values in saved:
        noise = torch.randn(values.shape, generator=generator)
        tensor.data.copy_(values * (1 + relative * noise))
    change = (logits(model, ids) - before).abs().max().item()
    for tensor, values in saved:
        tensor.data.copy_(values)
    return change
