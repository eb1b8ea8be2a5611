"""The encoders, a pretrained one to fine-tune and a small one from scratch: mean pooling and a linear head on both."""

import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer

from plumbline.contract.errors import ParamsError
from plumbline.contract.task import Learner
from plumbline.tasks.text_classification.models import subwords, weights
from plumbline.tasks.text_classification.models.batches import Batches, Rows, Texts, targets
from plumbline.tasks.text_classification.models.classifier import Classifier
from plumbline.tasks.text_classification.models.export import save
from plumbline.tasks.text_classification.models.forms import Wanted
from plumbline.tasks.text_classification.models.layers import (
    UsedEmbedding,
    thrifty,
    use_full_embedding,
)
from plumbline.tasks.text_classification.params import Encoder, Lora, Pretrained, Transformer

NAMES = ("input_ids", "attention_mask")


class Pooled(torch.nn.Module):
    """An encoder, the mean over a text's tokens, and a linear head."""

    def __init__(self, body: Any, num_classes: int) -> None:
        super().__init__()
        self.body = body
        self.head = torch.nn.Linear(body.config.hidden_size, num_classes)

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Logits (rows, classes) from ids and mask (rows, tokens)."""
        states = self.body(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        mask = attention_mask.unsqueeze(2).to(states.dtype)
        logits: torch.Tensor = self.head((states * mask).sum(1) / mask.sum(1))
        return logits


def pretrained(
    shape: Pretrained, seed: int, classes: list[str], train: Texts, validation: Texts, asked: Wanted
) -> Learner:
    """Fine-tuning; only the word vectors that the texts use are trained, the others stay as they were found."""
    folder = weights.find(shape.weights, shape.sha256)
    body = weights.body(folder)
    limit = getattr(body.config, "max_position_embeddings", shape.max_tokens)
    if shape.max_tokens > limit:
        raise ParamsError(
            f"max_tokens: {shape.max_tokens}, but {shape.weights} reads at most {limit}"
        )
    tokenizer = subwords.read(folder / "tokenizer.json", shape.max_tokens)
    data = _batches(shape, seed, tokenizer, classes, train, validation)
    torch.manual_seed(seed)
    if shape.lora:
        body = _adapted(body, shape.lora)
    else:
        used = np.unique(np.concatenate([*data.train.ids, *data.validation.ids]))
        body.set_input_embeddings(
            UsedEmbedding(body.get_input_embeddings(), torch.from_numpy(used))
        )
    return _learner(shape, Pooled(body, len(classes)), data, tokenizer, classes, asked)


def transformer(
    shape: Transformer,
    seed: int,
    classes: list[str],
    train: Texts,
    validation: Texts,
    asked: Wanted,
) -> Learner:
    """A small encoder from scratch, its tokenizer trained on the train split alone."""
    from transformers import BertConfig, BertModel

    tokenizer = subwords.trained(train.texts, shape.vocabulary, shape.max_tokens)
    data = _batches(shape, seed, tokenizer, classes, train, validation)
    config = BertConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=shape.hidden,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        intermediate_size=4 * shape.hidden,
        hidden_dropout_prob=shape.dropout,
        attention_probs_dropout_prob=0.0,
        max_position_embeddings=shape.max_tokens,
    )
    torch.manual_seed(seed)
    model = Pooled(BertModel(config, add_pooling_layer=False), len(classes))
    return _learner(shape, model, data, tokenizer, classes, asked)


def _batches(
    shape: Encoder,
    seed: int,
    tokenizer: Tokenizer,
    classes: list[str],
    train: Texts,
    validation: Texts,
) -> Batches:
    def rows(split: Texts) -> Rows:
        ids = [np.array(found.ids) for found in tokenizer.encode_batch_fast(list(split.texts))]
        return Rows(NAMES, ids, [np.ones_like(row) for row in ids], targets(split.labels, classes))

    return Batches(rows(train), rows(validation), shape.batch_size, seed)


def _learner(
    shape: Encoder,
    model: Pooled,
    data: Batches,
    tokenizer: Tokenizer,
    classes: list[str],
    asked: Wanted,
) -> Learner:
    thrifty(model.body)
    num_steps = len(data.sampler) * shape.max_epochs
    module = Classifier(model, partial(_optimizers, shape, num_steps), shape.label_smoothing)

    def write(folder: Path) -> None:
        if hasattr(model.body, "merge_and_unload"):
            model.body = model.body.merge_and_unload()
        use_full_embedding(model.body)
        tokenizer.save(str(folder / "tokenizer.json"))
        config = {"kind": "encoder", "classes": classes, "max_tokens": shape.max_tokens}
        save(folder, model, data.validation, asked, config)

    return Learner(
        save=write,
        module=module,
        data=data,
        max_epochs=shape.max_epochs,
        patience=shape.patience,
        monitor="validation/objective",  # NLL peaks an epoch or two too early under smoothing
        gradient_clip=shape.gradient_clip,
    )


def _adapted(body: Any, lora: Lora) -> Any:
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(
        r=lora.rank, lora_alpha=lora.alpha, lora_dropout=lora.dropout, target_modules="all-linear"
    )
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", message=".*is_gradient_checkpointing", category=FutureWarning
        )  # peft 0.21
        return get_peft_model(body, config)


def _optimizers(shape: Encoder, num_steps: int, model: torch.nn.Module) -> Any:
    """AdamW, a learning rate of its own for the head; biases, norms and word vectors do not decay."""
    groups: dict[tuple[bool, bool], list[torch.nn.Parameter]] = {}
    for name, weight in model.named_parameters():
        if weight.requires_grad:
            decays = weight.ndim > 1 and "word_embeddings" not in name
            groups.setdefault((name.startswith("head."), decays), []).append(weight)
    optimizer = torch.optim.AdamW(
        [
            {
                "params": params,
                "lr": shape.head_learning_rate if head else shape.learning_rate,
                "weight_decay": shape.weight_decay if decays else 0.0,
            }
            for (head, decays), params in groups.items()
        ],
        fused=True,
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, partial(_rate, num_steps, round(shape.warmup * num_steps))
    )
    return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


def _rate(num_steps: int, num_warmup: int, step: int) -> float:
    """The share of the learning rate at `step`: up in a line, then down in a line."""
    if step < num_warmup:
        return (step + 1) / num_warmup
    return (num_steps - step) / max(1, num_steps - num_warmup)
