"""Layers that compute the same as those they replace, with less memory traffic.

Most of a small encoder is its vocabulary.
"""

from typing import Any

import torch
from torch.nn import functional

from plumbline.contract.errors import ParamsError
from plumbline.encoders.attention import use_custom_attention
from plumbline.encoders.halves import get_generator
from plumbline.process import ranks

LAST_NORMS = ("final_norm", "norm", "ln_f")  # above all layers, in encoders that have one


class UsedEmbedding(torch.nn.Module):
    """An embedding that trains only the rows that the examples use.

    The other rows, which no gradient would reach, are kept aside. Gradients and AdamW moments of
    30 522 word vectors are half of a MiniLM's memory traffic; most data use a tenth of them.
    """

    place: torch.Tensor  # (num_embeddings,): the row of `weight` that holds a token's vector

    def __init__(self, full: torch.nn.Embedding, used: torch.Tensor) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(full.weight.detach()[used].clone())
        rows = torch.zeros(full.num_embeddings, dtype=torch.int64)
        self.register_buffer("place", rows, persistent=False)
        self.place[used] = torch.arange(len(used))
        self._used = used
        if not ranks.is_main():  # of processes that train together, the first one exports
            full.to("meta")

        def get_full() -> torch.nn.Embedding:
            return full

        # A function: parameters() does not list what it keeps, and deepcopy does not copy it.
        self._get_full = get_full

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Vectors (..., width) of token ids."""
        return functional.embedding(self.place[ids], self.weight)

    def rebuild_full(self) -> torch.nn.Embedding:
        """Return the whole embedding, with the trained rows in it."""
        full = self._get_full()
        with torch.no_grad():
            full.weight[self._used] = self.weight.detach().cpu()
        return full


class ByteDropout(torch.nn.Module):
    """Dropout whose CPU mask takes one random byte per number; p in steps of 1/256, below 1.

    PyTorch's own calls a serial generator for each number. Floats are faster to compare than bytes.
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """`x` with a share p of it set to 0 and the rest scaled up, in training."""
        dropped = min(round(self.p * 256), 255)
        if not self.training or dropped == 0:
            return x
        if x.device.type != "cpu":
            return functional.dropout(x, self.p)
        words = torch.empty(-(-x.numel() // 8), dtype=torch.int64)
        words.random_(-(2**63), None, generator=get_generator())
        random_bytes = words.view(torch.uint8)
        keep = random_bytes[: x.numel()].view(x.shape).to(x.dtype).ge_(dropped)
        return x * keep.mul_(256 / (256 - dropped))


def pool_by_mean(states: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
    """Return the mean (rows, width) over tokens of `states` (rows, tokens, width), without padding.

    `attention_mask` (rows, tokens) is 1 where a text has a token.
    """
    mask = attention_mask.unsqueeze(2).float()
    mean: torch.Tensor = (states * mask).sum(1) / mask.sum(1)
    return mean


def use_cheap_layers(encoder: torch.nn.Module) -> None:
    """Replace Dropout by ByteDropout throughout `encoder`, and its attention by our own."""
    for module in list(encoder.modules()):
        if isinstance(module, torch.nn.LayerNorm):
            module.register_forward_hook(_narrow)
        for name, child in list(module.named_children()):
            if type(child) is torch.nn.Dropout:
                setattr(module, name, ByteDropout(child.p))
    use_custom_attention(encoder)


def _narrow(_module: Any, _inputs: Any, states: torch.Tensor) -> torch.Tensor:
    """Return `states` in bf16 under autocast on a CPU, once for all products that take them."""
    if not torch.is_autocast_enabled("cpu"):
        return states
    return states.bfloat16()


def use_full_embedding(encoder: Any) -> None:
    """Undo UsedEmbedding, for export."""
    embedding = encoder.get_input_embeddings()
    if isinstance(embedding, UsedEmbedding):
        encoder.set_input_embeddings(embedding.rebuild_full())


def freeze_lower_layers(encoder: Any, num_frozen: int) -> None:
    """Leave the embeddings and the lowest layers of a pretrained `encoder` as they are.

    No gradient is computed for them. Raises ParamsError where no layer would be left to train.
    """
    # The outermost list of modules is that of the layers.
    layers = next(module for module in encoder.modules() if isinstance(module, torch.nn.ModuleList))
    if num_frozen >= len(layers):
        raise ParamsError(
            f"frozen_layers: {num_frozen}, but the encoder has {len(layers)}; leave one to train"
        )
    encoder.requires_grad_(False)
    last = [getattr(encoder, name) for name in LAST_NORMS if hasattr(encoder, name)]
    for module in [*layers[num_frozen:], *last]:
        module.requires_grad_(True)
