"""Attention under bf16 on a CPU gives what PyTorch's own gives in fp32, but for rounding."""

import pytest
import torch
from torch.nn import functional

from plumbline.tasks.text_classification.models.layers import use_cheap_layers

ROWS, TOKENS, WORDS = 4, 9, 50
SIZES = {
    "vocab_size": WORDS,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 192,
}
# A product of bf16 is rounded to 8 bits; two of them and a softmax follow each other.
TOLERANCE = 0.05


@pytest.mark.parametrize(("kind", "num_padded"), [("bert", 0), ("bert", 3), ("deberta", 3)])
def test_states_and_gradients_are_those_of_fp32(kind: str, num_padded: int) -> None:
    ids, mask = _draw_batch(num_padded)
    exact, exact_gradient = _run(ids, mask, "fp32", kind)
    rounded, rounded_gradient = _run(ids, mask, "bf16", kind)
    seen = mask.bool()
    torch.testing.assert_close(rounded[seen], exact[seen], atol=TOLERANCE, rtol=0)
    similarity = functional.cosine_similarity(rounded_gradient, exact_gradient, dim=0)
    assert similarity > 0.99


def test_no_number_is_kept_for_each_pair_of_tokens_of_long_texts() -> None:
    kept: list[int] = []

    def note(tensor: torch.Tensor) -> torch.Tensor:
        kept.append(tensor.numel())
        return tensor

    ids, mask = _draw_batch(3, tokens=192)
    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        _run(ids, mask, "bf16")
    assert 0 < max(kept) < ROWS * SIZES["num_attention_heads"] * 192**2


def _draw_batch(num_padded: int, tokens: int = TOKENS) -> tuple[torch.Tensor, torch.Tensor]:
    """Return ids and mask (rows, tokens); the last tokens of two rows are padding."""
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(1, WORDS - 1, (ROWS, tokens), generator=generator)
    mask = torch.ones_like(ids)
    mask[:2, tokens - num_padded :] = 0
    return ids, mask


def _run(
    ids: torch.Tensor, mask: torch.Tensor, precision: str, kind: str = "bert"
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the states of a random encoder, and the gradient of its weights, in fp32."""
    from transformers import AutoConfig, AutoModel

    torch.manual_seed(0)
    encoder = AutoModel.from_config(AutoConfig.for_model(kind, **SIZES))
    use_cheap_layers(encoder)
    encoder.eval()
    with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
        states = encoder(input_ids=ids, attention_mask=mask).last_hidden_state.float()
    (states * mask[:, :, None]).pow(3).sum().backward()
    gradients = [
        weight.grad.flatten() for weight in encoder.parameters() if weight.grad is not None
    ]
    return states.detach(), torch.cat(gradients)
