"""An encoder that turns a text into a vector of length 1, as it is trained."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from plumbline.contract.errors import ParamsError
from plumbline.encoders.architectures import get_max_tokens
from plumbline.encoders.layers import pool_by_mean, use_cheap_layers
from plumbline.encoders.tokenizer import INPUT_NAMES, read_tokenizer
from plumbline.encoders.weights import find_weights, load_encoder
from tasks.retrieval.params import EncoderSettings

BATCH = 32


class SentenceEncoder(torch.nn.Module):
    """An encoder, and the mean over a text's tokens (or its first token), of length 1."""

    def __init__(self, body: Any, pooling: str) -> None:
        super().__init__()
        self.body = body
        self._pooling = pooling

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Return vectors (rows, width) from ids and mask (rows, tokens)."""
        states = self.body(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        pooled = states[:, 0]
        if self._pooling == "mean":
            pooled = pool_by_mean(states, attention_mask)
            if torch.compiler.is_exporting():
                # The sum, of the same direction: as a product it has the same bits in any company.
                pooled = (attention_mask[:, None].float() @ states)[:, 0]
        return functional.normalize(pooled.float(), dim=1)


class TorchEncoder:
    """Encodes texts with the torch model, some of similar length at a time."""

    def __init__(self, config: EncoderSettings, model: SentenceEncoder) -> None:
        self._model = model.eval()
        self._tokenizer = load_tokenizer(config)
        self._prefixes = {False: config.query_prefix, True: config.passage_prefix}

    @torch.inference_mode()
    def encode(self, texts: Sequence[str], *, passages: bool) -> np.ndarray:
        """Return the vectors (texts, width) of queries or of passages."""
        prefixed = [self._prefixes[passages] + text for text in texts]
        rows = [encoding.ids for encoding in self._tokenizer.encode_batch_fast(prefixed)]
        order = sorted(range(len(rows)), key=lambda row: len(rows[row]))
        vectors = np.empty((len(rows), self._model.body.config.hidden_size), np.float32)
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            padded = pad_tokens([rows[row] for row in batch])
            vectors[batch] = self._model(**padded).numpy()
        return vectors


def load_model(config: EncoderSettings) -> SentenceEncoder:
    """Load the pretrained encoder; ParamsError where it cannot read `max_tokens`."""
    body = load_encoder(config.weights, find_weights(config.weights, config.sha256))
    limit = get_max_tokens(body)
    if limit is not None and config.max_tokens > limit:
        raise ParamsError(
            f"max_tokens: {config.max_tokens}, but {config.weights} reads at most {limit}"
        )
    use_cheap_layers(body)
    return SentenceEncoder(body, config.pooling)


def load_tokenizer(config: EncoderSettings) -> Tokenizer:
    """Load the tokenizer of the encoder, which cuts texts at `max_tokens`."""
    folder = find_weights(config.weights, None)
    return read_tokenizer(folder / "tokenizer.json", config.max_tokens)


def pad_tokens(rows: Sequence[Sequence[int]], prefix: str = "") -> dict[str, torch.Tensor]:
    """Return ids and mask (rows, tokens of the longest) by the names that the model has for them.

    `prefix` is put before the names.
    """
    texts = list(map(torch.tensor, rows))
    ids = pad_sequence(texts, batch_first=True)
    mask = pad_sequence(list(map(torch.ones_like, texts)), batch_first=True)
    return dict(zip([prefix + name for name in INPUT_NAMES], (ids, mask), strict=True))
