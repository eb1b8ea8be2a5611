"""How an encoder's weights are updated: AdamW in groups, with a linear schedule."""

from typing import Any

import torch

from plumbline.contract.learning_rate import decay_linearly
from plumbline.tasks.text_classification.params import EncoderConfig


def configure_optimizers(config: EncoderConfig, num_steps: int, model: Any) -> Any:
    """Return AdamW and its schedule.

    The head has its own learning rate. Biases, norms and word vectors have no weight decay.
    """
    optimizer = torch.optim.AdamW(_group_weights(config, model), fused=True)
    num_warmup = round(config.warmup * num_steps)
    return decay_linearly(optimizer, num_steps, num_warmup)


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
