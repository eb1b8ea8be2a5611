"""Layers that do the same as those they replace with less memory traffic: most of a small encoder is its vocabulary."""

from typing import Any

import torch
from torch.nn import functional

from plumbline.tasks.text_classification.models import attention


class UsedEmbedding(torch.nn.Module):
    """The rows of an embedding that the examples use, trained; the others, which no gradient would reach, kept aside.

    Gradients and AdamW moments of 30 522 word vectors are half of a MiniLM's memory traffic; most data use a tenth.
    """

    place: torch.Tensor  # (num_embeddings,): the row of `weight` that holds a token's vector

    def __init__(self, full: torch.nn.Embedding, used: torch.Tensor) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(full.weight.detach()[used].clone())
        self.register_buffer(
            "place", torch.zeros(full.num_embeddings, dtype=torch.int64), persistent=False
        )
        self.place[used] = torch.arange(len(used))
        self._full, self._used = (
            [full],
            used,
        )  # in a list: not to be found among this module's parameters

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Vectors (..., width) of token ids."""
        return functional.embedding(self.place[ids], self.weight)

    def full(self) -> torch.nn.Embedding:
        """The whole embedding, trained rows put back."""
        full = self._full[0]
        with torch.no_grad():
            full.weight[self._used] = self.weight.detach().cpu()
        return full


class ByteDropout(torch.nn.Module):
    """Dropout whose CPU mask takes a random byte a number, not a call of a serial generator; p in steps of 1/256."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """`x` with a share p of it set to 0 and the rest scaled up, in training."""
        dropped = round(self.p * 256)
        if not self.training or dropped == 0:
            return x
        if x.device.type != "cpu":
            return functional.dropout(x, self.p)
        random = (
            torch.empty(-(-x.numel() // 8), dtype=torch.int64)
            .random_(-(2**63), None)
            .view(torch.uint8)
        )
        keep = (random[: x.numel()] >= dropped).view(x.shape)
        return x * keep.to(x.dtype).mul_(256 / (256 - dropped))


def thrifty(body: torch.nn.Module) -> None:
    """Put ByteDropout in place of Dropout, and attention in fp32 where bf16 is slow, throughout `body`."""
    for module in list(body.modules()):
        for name, child in list(module.named_children()):
            if type(child) is torch.nn.Dropout:
                setattr(module, name, ByteDropout(child.p))
    attention.use(body)


def use_full_embedding(body: Any) -> None:
    """Undo UsedEmbedding, for export."""
    embedding = body.get_input_embeddings()
    if isinstance(embedding, UsedEmbedding):
        body.set_input_embeddings(embedding.full())
