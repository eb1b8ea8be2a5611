"""Attention as an encoder is trained with it, and as one operator of ONNX Runtime for export."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

ATTENTION_NAME = "plumbline"  # the name under which transformers finds the functions below
MAX_TOKENS = 128  # of a text whose pairs of tokens are multiplied one by one


def use_custom_attention(encoder: Any) -> None:
    """Replace PyTorch's scaled dot-product attention in `encoder`, if it uses that."""
    from transformers import AttentionInterface
    from transformers.masking_utils import AttentionMaskInterface

    AttentionInterface.register(ATTENTION_NAME, _attend)
    AttentionMaskInterface.register(ATTENTION_NAME, _build_mask)
    if encoder.config._attn_implementation == "sdpa":
        encoder.set_attn_implementation(ATTENTION_NAME)
    if encoder.config.model_type == "deberta":  # masks with the least number of fp32, also in bf16
        for module in encoder.modules():
            if hasattr(module, "q_bias"):
                module.forward = partial(_attend_in_fp32, module.forward)


def _attend_in_fp32(
    attend: Callable[..., Any], states: torch.Tensor, *args: Any, **options: Any
) -> Any:
    if not torch.is_autocast_enabled(states.device.type):
        return attend(states, *args, **options)
    with torch.autocast(states.device.type, enabled=False):
        return attend(states.float(), *args, **options)


def _attend(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: Any,
    **options: Any,
) -> Any:
    """Compute scaled dot-product attention; in bf16 on a CPU without PyTorch's operator for it.

    It takes ten times as long there as two products on short texts. Long ones and decoders have it
    in fp32: products keep a number for each pair of tokens, which soon takes GB and more time.
    """
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    scale: float = options.get("scaling") or query.shape[-1] ** -0.5
    has_equal_heads = query.shape[1] == key.shape[1]
    if torch.compiler.is_exporting() and mask is not None and has_equal_heads:
        return _attend_fused(query, key, value, mask, scale), None
    if query.device.type != "cpu" or query.dtype != torch.bfloat16:
        return sdpa_attention_forward(module, query, key, value, mask, **options)
    is_short = has_equal_heads and key.shape[2] <= MAX_TOKENS
    if is_short and not getattr(module, "is_causal", True) and not options.get("dropout"):
        scores = ((query * scale) @ key.transpose(-1, -2)).float()
        if mask is not None:
            scores = scores + torch.where(mask, 0.0, torch.finfo(scores.dtype).min)
        output = scores.softmax(-1).to(value.dtype) @ value
        return output.transpose(1, 2).contiguous(), None
    with torch.autocast("cpu", enabled=False):
        output, weights = sdpa_attention_forward(
            module, query.float(), key.float(), value.float(), mask, **options
        )
    return output.to(torch.bfloat16), weights


def _build_mask(*args: Any, **options: Any) -> Any:
    """Build the mask of the keys that a query may see, shape (rows, 1, queries, keys).

    The exported graph gets it without the checks of transformers, none of which a text needs.
    """
    from transformers.masking_utils import bidirectional_mask_function, sdpa_mask

    padding: Any = options.get("attention_mask")
    is_bidirectional = options.get("mask_function") is bidirectional_mask_function
    has_padding = padding is not None and padding.ndim == 2
    if torch.compiler.is_exporting() and is_bidirectional and has_padding:
        return padding[:, None, None, :].bool().expand(-1, 1, options["q_length"], -1)
    return sdpa_mask(*args, **options)


def _attend_fused(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor,
    scale: float,
) -> torch.Tensor:
    """Compute the same with the operator MultiHeadAttention of ONNX Runtime.

    Returns (rows, queries, heads, width) from inputs of shape (rows, heads, any, width). The
    operator replaces a dozen others, most of them guards against rows without a key; there are
    no such rows.
    """
    inputs = [tensor.transpose(1, 2).flatten(2) for tensor in (query, key, value)]
    bias = torch.where(mask, 0.0, torch.finfo(query.dtype).min)
    heads = query.shape[1]
    answer: torch.Tensor = torch.onnx.ops.symbolic(
        "com.microsoft::MultiHeadAttention",
        [*inputs, None, None, bias],
        {"num_heads": heads, "scale": scale},
        dtype=query.dtype,
        shape=inputs[0].shape,
        version=1,
    )
    return answer.reshape(*answer.shape[:2], heads, -1)
