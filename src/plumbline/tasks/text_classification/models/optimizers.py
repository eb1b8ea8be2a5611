"""How an encoder's weights are updated: AdamW in groups, with a linear schedule."""

from functools import partial
from typing import Any

import torch

from plumbline.tasks.text_classification.params import EncoderConfig


def configure_optimizers(config: EncoderConfig, num_steps: int, model: Any) -> Any:
    """Return AdamW and its schedule, as Lightning expects them.

    The head has its own learning rate. Biases, norms and word vectors have no weight decay.
    """
    optimizer = torch.optim.AdamW(_group_weights(config, model), fused=True)
    num_warmup = round(config.warmup * num_steps)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, partial(_scale_linearly, num_steps, num_warmup)
    )
    return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


def _group_weights(config: EncoderConfig, model: Any) -> list[dict[str, Any]]:
    """Group the weights by learning rate and weight decay, in the order of the model.

    Those of all members of an ensemble are together.
    """
    groups: dict[tuple[bool, bool], list[torch.nn.Parameter]] = {}
    for member in getattr(model, "members", [model]):
        word_vectors = {id(weight) for weight in member.body.get_input_embeddings().parameters()}
        for name, weight in member.named_parameters():
            if weight.requires_grad:
                is_head = name.startswith("head.")
                decays = weight.ndim > 1 and id(weight) not in word_vectors
                groups.setdefault((is_head, decays), []).append(weight)
    return [
        {
            "params": weights,
            "lr": config.head_learning_rate if is_head else config.learning_rate,
            "weight_decay": config.weight_decay if decays else 0.0,
        }
        for (is_head, decays), weights in groups.items()
    ]


def _scale_linearly(num_steps: int, num_warmup: int, step: int) -> float:
    """Return the share of the learning rate at `step`: up in a line, then down in a line."""
    if step < num_warmup:
        return (step + 1) / num_warmup
    return (num_steps - step) / max(1, num_steps - num_warmup)
