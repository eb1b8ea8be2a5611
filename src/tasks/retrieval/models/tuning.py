"""Fine-tuning on pairs: a query's passage against the other passages of its batch."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional
from torch.utils.data import Dataset

from plumbline.contract.epoch_batches import EpochBatches, EpochSampler
from plumbline.contract.learning_rate import decay_linearly
from plumbline.contract.records import Learner
from plumbline.encoders.layers import UsedEmbedding, freeze_lower_layers
from tasks.retrieval.data.storage import read_corpus, read_queries
from tasks.retrieval.models.encoder_files import save_encoder
from tasks.retrieval.models.encoding import SentenceEncoder, load_model, load_tokenizer, pad_tokens
from tasks.retrieval.params import RetrievalParams, TunedConfig

VALIDATION_BATCH = 64
MAX_NEGATIVES = 2  # of each query in a batch, of those that the data name
Batch = dict[str, torch.Tensor]


def build_tuned_learner(config: TunedConfig, params: RetrievalParams, examples: Path) -> Learner:
    """Return the encoder of `config` and its batches."""
    train, validation = (QueryPairs(config, examples, split) for split in ("train", "validation"))
    torch.manual_seed(params.seed)
    model = load_model(config)
    used = np.union1d(train.list_tokens(), validation.list_tokens())
    full = model.body.get_input_embeddings()
    model.body.set_input_embeddings(UsedEmbedding(full, torch.from_numpy(used)))
    if config.frozen_layers:
        freeze_lower_layers(model.body, config.frozen_layers)

    def begin_epoch(epoch: int) -> list[int]:
        random = np.random.default_rng((params.seed, epoch))
        order: list[int] = random.permutation(len(train)).tolist()
        return order

    sampler = EpochSampler(config.batch_size, begin_epoch)
    module = PairTrainer(model, config, len(sampler) * config.max_epochs)
    return Learner(
        save=partial(save_encoder, config, model, params, examples),
        module=module,
        data=EpochBatches(train, sampler, validation, VALIDATION_BATCH),
        max_epochs=config.max_epochs,
        patience=config.patience,
        gradient_clip=config.gradient_clip,
    )


class QueryPairs(Dataset[Batch]):
    """Each query of a split with each of its passages and some of its negatives, as tokens."""

    def __init__(self, config: TunedConfig, examples: Path, split: str) -> None:
        tokenizer = load_tokenizer(config)
        queries, corpus = read_queries(examples, split), read_corpus(examples)
        places = {id_: place for place, id_ in enumerate(corpus.ids)}
        self._answers = [{places[id_] for id_ in ids} for ids in queries["passages"]]
        self._pairs = [
            (row, place) for row, answers in enumerate(self._answers) for place in sorted(answers)
        ]
        named = queries.get("negatives", [()] * len(queries))
        self._negatives = [[places[id_] for id_ in ids[:MAX_NEGATIVES]] for ids in named]
        texts = [config.query_prefix + query for query in queries["query"]]
        self._queries = [each.ids for each in tokenizer.encode_batch_fast(texts)]
        texts = [config.passage_prefix + text for text in corpus.texts]
        self._passages = [each.ids for each in tokenizer.encode_batch_fast(texts)]

    def __len__(self) -> int:
        return len(self._pairs)

    def __getitems__(self, rows: list[int]) -> Batch:
        """Return the tokens of queries and passages, and whether each passage answers each query.

        `query_input_ids`, `query_attention_mask` and the same of `passage_` have the shape
        (rows, tokens), `is_answer` (rows, passages): own ones first, then those named as negatives.
        """
        pairs = [self._pairs[row] for row in rows]
        places = [place for _, place in pairs]
        for query, _ in pairs:
            places += self._negatives[query]
        answers = [[place in self._answers[query] for place in places] for query, _ in pairs]
        queries = pad_tokens([self._queries[query] for query, _ in pairs], "query_")
        passages = pad_tokens([self._passages[place] for place in places], "passage_")
        return queries | passages | {"is_answer": torch.tensor(answers)}

    def list_tokens(self) -> np.ndarray:
        """Return the ids of all tokens that occur, int64."""
        return np.unique(np.concatenate([[0], *self._queries, *self._passages]))


class PairTrainer(torch.nn.Module):
    """Trains `model` so that of a batch's passages its own is nearest to each query."""

    def __init__(self, model: SentenceEncoder, config: TunedConfig, num_steps: int) -> None:
        super().__init__()
        self.model = model
        self._config = config
        self._num_steps = num_steps

    def training_step(self, batch: Batch) -> torch.Tensor:
        """Return the mean loss of a batch."""
        logits, own = self._compare(batch)
        return functional.cross_entropy(logits, own)

    def validation_step(self, batch: Batch) -> dict[str, torch.Tensor]:
        """Return sums over a batch: the loss, and queries whose own passage is the nearest."""
        logits, own = self._compare(batch)
        return {
            "loss": functional.cross_entropy(logits, own, reduction="sum"),
            "nearest": (logits.argmax(1) == own).sum(),
        }

    def configure_optimizers(self) -> Any:
        """Return AdamW and its schedule; biases and norms have no weight decay."""
        tables: dict[str, Any] = {"params": [], "weight_decay": self._config.weight_decay}
        others: dict[str, Any] = {"params": [], "weight_decay": 0.0}
        for weight in self.parameters():
            if weight.requires_grad:
                (tables if weight.ndim > 1 else others)["params"].append(weight)
        config = self._config
        optimizer = torch.optim.AdamW([tables, others], lr=config.learning_rate, fused=True)
        return decay_linearly(optimizer, self._num_steps, round(config.warmup * self._num_steps))

    def _compare(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        """Return scaled cosines (rows, passages) and the column of each row's own passage.

        Another passage of the batch that answers the query too is not a negative.
        """
        queries, passages = (
            self.model(batch[f"{side}_input_ids"], batch[f"{side}_attention_mask"])
            for side in ("query", "passage")
        )
        own = torch.arange(len(queries), device=queries.device)
        columns = torch.arange(len(passages), device=passages.device)
        is_other_answer = batch["is_answer"] & (own[:, None] != columns)
        cosines = queries @ passages.T / self._config.temperature
        return cosines.float().masked_fill(is_other_answer, -torch.inf), own
