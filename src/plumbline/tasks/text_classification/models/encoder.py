"""Two encoders, one pretrained and one from scratch, each with mean pooling and a linear head."""

import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from plumbline.contract.errors import ParamsError
from plumbline.contract.learning_rate import decay_linearly
from plumbline.encoders import weights
from plumbline.encoders.architectures import describe_architecture, get_max_tokens
from plumbline.encoders.layers import (
    UsedEmbedding,
    freeze_lower_layers,
    pool_by_mean,
    use_cheap_layers,
    use_full_embedding,
)
from plumbline.encoders.tokenizer import read_tokenizer, train_tokenizer
from plumbline.tasks.text_classification.models.designs import ModelDesign, weigh_classes
from plumbline.tasks.text_classification.models.reading import TokenTexts, tokenize_texts
from plumbline.tasks.text_classification.models.texts import TrainingTexts
from plumbline.tasks.text_classification.params import (
    EncoderConfig,
    LoraSettings,
    PretrainedConfig,
    TransformerConfig,
)


class MeanPooledClassifier(torch.nn.Module):
    """An encoder, the mean over a text's tokens, and a linear head."""

    def __init__(self, body: Any, num_classes: int) -> None:
        super().__init__()
        self.body = body
        self.head = torch.nn.Linear(body.config.hidden_size, num_classes)

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Logits (rows, classes) from ids and mask (rows, tokens)."""
        states = self.body(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        logits: torch.Tensor = self.head(pool_by_mean(states, attention_mask))
        return logits


def plan_pretrained(config: PretrainedConfig, seed: int, texts: TrainingTexts) -> ModelDesign:
    """Plan the fine-tuning of pretrained weights, or low-rank adapters on them.

    Of the word vectors, only those that the texts use are trained; the others stay as they are.
    """
    folder = weights.find_weights(config.weights, config.sha256)
    encoder = weights.load_encoder(config.weights, folder)
    limit = get_max_tokens(encoder)
    if limit is not None and config.max_tokens > limit:
        raise ParamsError(
            f"max_tokens: {config.max_tokens}, but {config.weights} reads at most {limit}"
        )
    tokenizer = read_tokenizer(folder / "tokenizer.json", config.max_tokens)
    reads = tokenize_texts(config, seed, tokenizer, texts, limit)

    def build_model(seed: int) -> MeanPooledClassifier:
        torch.manual_seed(seed)
        if config.lora:
            return MeanPooledClassifier(_add_lora(encoder, config.lora), len(texts.classes))
        used = np.union1d(reads.data.train.ids, reads.data.validation.ids).astype(np.int64)
        full = encoder.get_input_embeddings()
        encoder.set_input_embeddings(UsedEmbedding(full, torch.from_numpy(used)))
        if config.frozen_layers:
            freeze_lower_layers(encoder, config.frozen_layers)
        return MeanPooledClassifier(encoder, len(texts.classes))

    return _complete_design(config, build_model, reads)


def plan_transformer(config: TransformerConfig, seed: int, texts: TrainingTexts) -> ModelDesign:
    """Plan a small encoder from scratch; its tokenizer is trained on the train split alone."""
    tokenizer = train_tokenizer(texts.train.iterate_texts(), config.vocabulary, config.max_tokens)
    reads = tokenize_texts(config, seed, tokenizer, texts)

    def build_model(seed: int) -> MeanPooledClassifier:
        torch.manual_seed(seed)
        encoder = build_body(config, tokenizer.get_vocab_size())
        return MeanPooledClassifier(encoder, len(texts.classes))

    return _complete_design(config, build_model, reads)


def build_body(config: TransformerConfig, num_words: int) -> Any:
    """Build the encoder that `config` describes, with random weights."""
    from transformers import BertConfig, BertModel

    bert_config = BertConfig(
        vocab_size=num_words,
        hidden_size=config.hidden,
        num_hidden_layers=config.layers,
        num_attention_heads=config.heads,
        intermediate_size=4 * config.hidden,
        hidden_dropout_prob=config.dropout,
        attention_probs_dropout_prob=0.0,
        max_position_embeddings=config.max_tokens,
    )
    return BertModel(bert_config, add_pooling_layer=False)


def _add_lora(encoder: Any, lora: LoraSettings) -> Any:
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(
        r=lora.rank, lora_alpha=lora.alpha, lora_dropout=lora.dropout, target_modules="all-linear"
    )
    with warnings.catch_warnings():
        # peft 0.21 warns about its own call.
        warnings.filterwarnings(
            "ignore", message=".*is_gradient_checkpointing", category=FutureWarning
        )
        return get_peft_model(encoder, config)


def _complete_design(
    config: EncoderConfig,
    build_classifier: Callable[[int], MeanPooledClassifier],
    reads: TokenTexts,
) -> ModelDesign:
    def build_model(seed: int) -> torch.nn.Module:
        model: MeanPooledClassifier = build_classifier(seed)
        use_cheap_layers(model.body)
        return model

    def write_settings(folder: Path, model: Any) -> dict[str, Any]:
        if hasattr(model.body, "merge_and_unload"):
            model.body = model.body.merge_and_unload()
        use_full_embedding(model.body)
        return {
            "kind": "encoder",
            **reads.write_settings(folder),
            "encoder": describe_architecture(model.body),
        }

    num_steps = len(reads.data.sampler) * config.max_epochs
    return ModelDesign(
        config=config,
        data=reads.data,
        build_model=build_model,
        configure_optimizers=partial(configure_optimizers, config, num_steps),
        write_settings=write_settings,
        label_smoothing=config.label_smoothing,
        class_weights=weigh_classes(config.class_weights, reads.texts),
        monitor="validation/objective",  # NLL peaks an epoch or two too early under smoothing
        gradient_clip=config.gradient_clip,
        in_halves=True,
    )


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
