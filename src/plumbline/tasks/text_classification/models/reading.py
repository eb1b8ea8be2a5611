"""How a candidate reads texts as tokens: what is beyond `max_tokens` is cut, and that is said."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from plumbline.tasks.text_classification.models.batches import TextDataModule
from plumbline.tasks.text_classification.models.encoded_texts import encode_split
from plumbline.tasks.text_classification.models.texts import TrainingTexts
from plumbline.tasks.text_classification.params import TokenConfig
from plumbline.tasks.text_classification.predictor import TokenFeatures

INPUT_NAMES = ("input_ids", "attention_mask")
ENOUGH = 0.95  # of all texts: the proposed length reads so many of them to their end
STEP = 16  # the proposed length is a multiple of this


@dataclass(frozen=True)
class TokenTexts:
    """The texts of train and validation as tokens, and what the bundle keeps of that."""

    tokenizer: Tokenizer
    texts: TrainingTexts
    data: TextDataModule
    max_tokens: int
    notes: list[str]

    def write_settings(self, folder: Path) -> dict[str, Any]:
        """Write the tokenizer to `folder`; return what else a predictor needs to read texts."""
        self.tokenizer.save(str(folder / "tokenizer.json"))
        return {
            "classes": self.texts.classes,
            "max_chars": self.texts.max_chars,
            "max_tokens": self.max_tokens,
            "notes": self.notes,
        }


def tokenize_texts(
    config: TokenConfig,
    seed: int,
    tokenizer: Tokenizer,
    texts: TrainingTexts,
    limit: int | None = None,
) -> TokenTexts:
    """Encode the texts of both splits; say what is cut, before hours are spent on the rest.

    `limit` is the most tokens that the model can read.
    """
    notes = describe_reading(tokenizer, texts.train.iterate_texts(), config.max_tokens, limit)
    for note in notes:
        print(f"train: note: {note}", flush=True)  # noqa: T201 (the stage's result)
    features = TokenFeatures(tokenizer)
    train, validation = (
        encode_split(INPUT_NAMES, split, texts.classes, features)
        for split in (texts.train, texts.validation)
    )
    data = TextDataModule(train, validation, config.batch_size, seed)
    return TokenTexts(tokenizer, texts, data, config.max_tokens, notes)


def describe_reading(
    tokenizer: Tokenizer, texts: Iterable[list[str]], max_tokens: int, limit: int | None
) -> list[str]:
    """Return a sentence where some of `texts`, some at a time, are longer than `max_tokens`."""
    unlimited = Tokenizer.from_str(tokenizer.to_str())
    unlimited.no_truncation()
    counts = []
    for chunk in texts:
        encodings = unlimited.encode_batch_fast(chunk)
        counts.append(np.array([len(encoding.ids) for encoding in encodings], np.int32))
    lengths = np.concatenate(counts)
    beyond = np.maximum(lengths - max_tokens, 0)
    if not beyond.any():
        return []
    sentence = (
        f"{(beyond > 0).mean():.1%} of the training texts are longer than max_tokens "
        f"({max_tokens}), and {beyond.sum() / lengths.sum():.1%} of all tokens are not read"
    )
    proposed = int(np.ceil(np.quantile(lengths, ENOUGH) / STEP)) * STEP
    proposed = min(proposed, limit or proposed)
    if proposed > max_tokens:
        sentence += f"; max_tokens: {proposed} would read more, in more time"
    return [sentence]
