"""Attention as an encoder is trained with it, and as one operator of ONNX Runtime where it is exported."""

from typing import Any

import torch

NAME = "plumbline"  # under which transformers finds it


def use(body: Any) -> None:
    """Let `body` attend by the functions below, if it would by PyTorch's scaled dot-product attention."""
    from transformers import AttentionInterface
    from transformers.masking_utils import AttentionMaskInterface

    AttentionInterface.register(NAME, _attention)
    AttentionMaskInterface.register(NAME, _mask)
    if body.config._attn_implementation == "sdpa":
        body.set_attn_implementation(NAME)


def _attention(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: Any,
    **options: Any,
) -> Any:
    """Scaled dot-product attention; in bf16 a CPU spends 20 times longer on setting up the many small products."""
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    if torch.compiler.is_exporting() and mask is not None and query.shape[1] == key.shape[1]:
        return _fused(query, key, value, mask, options.get("scaling")), None
    if query.device.type != "cpu" or query.dtype != torch.bfloat16:
        return sdpa_attention_forward(module, query, key, value, mask, **options)
    with torch.autocast("cpu", enabled=False):
        mask = mask.float() if mask is not None and mask.is_floating_point() else mask
        output, weights = sdpa_attention_forward(
            module, query.float(), key.float(), value.float(), mask, **options
        )
    return output.to(torch.bfloat16), weights


def _mask(*args: Any, **options: Any) -> torch.Tensor | None:
    """Which keys a query may see (rows, 1, queries, keys): in a graph without the checks that a text needs none of."""
    from transformers.masking_utils import bidirectional_mask_function, sdpa_mask

    padding, every = (
        options.get("attention_mask"),
        options.get("mask_function") is bidirectional_mask_function,
    )
    if torch.compiler.is_exporting() and every and padding is not None and padding.ndim == 2:
        seen: torch.Tensor = padding[:, None, None, :].bool()
        return seen.expand(-1, 1, options["q_length"], -1)
    found: torch.Tensor | None = sdpa_mask(*args, **options)
    return found


def _fused(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor,
    scale: float | None,
) -> torch.Tensor:
    """The same by MultiHeadAttention of ONNX Runtime: (rows, queries, heads, width) from (rows, heads, any, width).

    It takes the place of a dozen operators, most of them guards against rows without any key, and there are none.
    """
    inputs = [put.transpose(1, 2).flatten(2) for put in (query, key, value)]
    bias = torch.where(mask, 0.0, torch.finfo(query.dtype).min)
    heads, attributes = query.shape[1], {} if scale is None else {"scale": scale}
    answer: torch.Tensor = torch.onnx.ops.symbolic(
        "com.microsoft::MultiHeadAttention",
        [*inputs, None, None, bias],
        {"num_heads": heads, **attributes},
        dtype=query.dtype,
        shape=inputs[0].shape,
        version=1,
    )
    return answer.reshape(*answer.shape[:2], heads, -1)
