#!/usr/bin/env python3
"""Writes tests/lib/ops/router_cases.txt: logits of routers and the experts and weights that transformers gives.

Each router runs with the unit matrix as its weight, so that its input is its logits. Ties are avoided: torch
leaves their order open. A line is: kind, n_used, renormalize, scale, n_groups, groups_used, group_top, jitter,
then "|", the logits, "|", the bias for choosing (may be empty), "|", expert:weight in order of experts.

    python3 tools/make_router_cases.py > tests/lib/ops/router_cases.txt   (needs torch and transformers)
"""

from types import SimpleNamespace

import torch
from transformers import __version__ as version
from transformers.models.deepseek_v2.modeling_deepseek_v2 import DeepseekV2TopkRouter
from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3TopkRouter
from transformers.models.glm4_moe.modeling_glm4_moe import Glm4MoeTopkRouter
from transformers.models.gpt_oss.modeling_gpt_oss import GptOssTopKRouter
from transformers.models.granitemoe.modeling_granitemoe import GraniteMoeTopKRouter
from transformers.models.mixtral.modeling_mixtral import MixtralTopKRouter
from transformers.models.phimoe.modeling_phimoe import PhimoeTopKRouter
from transformers.models.qwen2_moe.modeling_qwen2_moe import Qwen2MoeTopKRouter

DEFAULTS = {
    "renormalize": False,
    "scale": 1.0,
    "groups": (1, 1, 1),  # n_groups, groups_used, group_top
    "jitter": 0.0,
    "bias": None,
    "spread": 1.0,
    "shift": 0.0,
}


def case(router, kind, n_experts, n_used, **options):
    """Prints three lines: random logits of a `spread` around `shift`; options as in DEFAULTS."""
    o = SimpleNamespace(**(DEFAULTS | options))
    config = SimpleNamespace(
        hidden_size=n_experts,
        num_local_experts=n_experts,
        num_experts=n_experts,
        num_experts_per_tok=n_used,
        norm_topk_prob=o.renormalize,
        routed_scaling_factor=o.scale,
        n_group=o.groups[0],
        topk_group=o.groups[1],
        topk_method="group_limited_greedy" if o.groups[0] > 1 else "greedy",
        router_jitter_noise=o.jitter,
        input_jitter_noise=0.0,
    )
    module = router(config).eval()
    module.weight.data = torch.eye(n_experts)
    if o.bias is not None:
        module.e_score_correction_bias.data = o.bias
    for _ in range(3):
        logits = torch.randn(1, n_experts) * o.spread + o.shift
        with torch.no_grad():
            _, weights, experts = module(logits)
        pairs = sorted(zip(experts[0].tolist(), weights[0].tolist(), strict=True))
        head = [kind, n_used, int(o.renormalize), f"{o.scale:g}", *o.groups, f"{o.jitter:g}"]
        print(
            *head,
            "|",
            *[f"{x:.9g}" for x in logits[0].tolist()],
            "|",
            *[f"{x:.9g}" for x in ([] if o.bias is None else o.bias.tolist())],
            "|",
            *[f"{expert}:{weight:.9g}" for expert, weight in pairs],
        )


def main():
    torch.manual_seed(20)
    print(f"# Written by tools/make_router_cases.py with transformers {version}.")
    case(MixtralTopKRouter, "softmax", 8, 2, renormalize=True, spread=2.0)
    case(Qwen2MoeTopKRouter, "softmax", 60, 4)
    case(Qwen2MoeTopKRouter, "softmax", 128, 8, renormalize=True, spread=30.0)
    case(GraniteMoeTopKRouter, "top_k_softmax", 40, 8)
    case(GptOssTopKRouter, "top_k_softmax", 32, 4, spread=20.0, shift=-200.0)
    case(DeepseekV2TopkRouter, "softmax", 64, 6, scale=16.0)
    case(DeepseekV2TopkRouter, "softmax", 80, 6, scale=16.0, groups=(8, 3, 1))
    bias = torch.randn(128) * 0.3
    v3 = {"renormalize": True, "scale": 2.5, "groups": (8, 4, 2)}
    case(DeepseekV3TopkRouter, "sigmoid", 128, 8, bias=bias, **v3)
    # Every biased score is below 0: an expert outside the best groups must not win all the same.
    case(DeepseekV3TopkRouter, "sigmoid", 128, 8, bias=bias - 4.0, **v3)
    case(DeepseekV3TopkRouter, "sigmoid", 16, 3, bias=bias[:16], groups=(2, 1, 2), spread=6.0)
    case(Glm4MoeTopkRouter, "sigmoid", 64, 8, renormalize=True, bias=bias[:64], groups=(1, 1, 2))
    mixer = {"jitter": 0.01}
    case(PhimoeTopKRouter, "sparse_mixer", 16, 2, **mixer)
    case(PhimoeTopKRouter, "sparse_mixer", 16, 2, spread=0.1, shift=10.0, **mixer)  # near rivals
    case(PhimoeTopKRouter, "sparse_mixer", 16, 2, spread=0.1, shift=-10.0, **mixer)


if __name__ == "__main__":
    main()
