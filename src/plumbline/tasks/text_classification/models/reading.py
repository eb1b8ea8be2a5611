"""How a candidate reads texts as tokens: what is beyond `max_tokens` is cut, and that is said."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from plumbline.encoders.tokenizer import INPUT_NAMES, describe_reading
from plumbline.tasks.text_classification.models.batches import TextDataModule
from plumbline.tasks.text_classification.models.encoded_texts import encode_split
from plumbline.tasks.text_classification.models.texts import TrainingTexts
from plumbline.tasks.text_classification.params import TokenConfig
from plumbline.tasks.text_classification.predictor import TokenFeatures


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
