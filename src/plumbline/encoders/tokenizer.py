"""Tokenizers: with pretrained weights, or trained on the train split; and what they cut off."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from tokenizers import (
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

INPUT_NAMES = ("input_ids", "attention_mask")
ENOUGH = 0.95  # of all texts: the proposed length reads so many of them to their end
STEP = 16  # the proposed length is a multiple of this
SPECIAL = ["[PAD]", "[CLS]", "[SEP]"]


def read_tokenizer(path: Path, max_tokens: int) -> Tokenizer:
    """Read the tokenizer in `path`; it truncates texts to `max_tokens` and does not pad."""
    return _set_truncation(Tokenizer.from_file(str(path)), max_tokens)


def train_tokenizer(texts: Iterable[list[str]], vocabulary: int, max_tokens: int) -> Tokenizer:
    """Train a byte-level BPE tokenizer of at most `vocabulary` entries on texts, some at a time.

    The method is that of Sennrich et al. 2016 (arXiv:1508.07909). WordPiece is not an option: its
    trainer numbers pieces in the order of a hash table, which differs from process to process.
    """
    tokenizer = Tokenizer(models.BPE())
    # Blanks are tokens of a byte-level tokenizer: if they are doubled, a model that reads so many
    # tokens would read half of the words.
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.BertNormalizer(), normalizers.Replace(Regex(r"\s+"), " ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        min_frequency=2,
        special_tokens=SPECIAL,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    special_ids = [(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=special_ids
    )
    tokenizer.decoder = decoders.ByteLevel()
    return _set_truncation(tokenizer, max_tokens)


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


def _set_truncation(tokenizer: Tokenizer, max_tokens: int) -> Tokenizer:
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_tokens)
    return tokenizer
