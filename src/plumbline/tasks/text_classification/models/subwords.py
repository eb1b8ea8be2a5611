"""Tokenizers: one that came with pretrained weights, or one trained on the train split."""

from collections.abc import Sequence
from pathlib import Path

from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

SPECIAL = ["[PAD]", "[CLS]", "[SEP]"]


def read(path: Path, max_tokens: int) -> Tokenizer:
    """The tokenizer in `path`, made to cut at `max_tokens` and not to pad."""
    return _cut(Tokenizer.from_file(str(path)), max_tokens)


def trained(texts: Sequence[str], vocabulary: int, max_tokens: int) -> Tokenizer:
    """A byte-level BPE tokenizer (Sennrich et al. 2016, arXiv:1508.07909) of at most `vocabulary` entries.

    WordPiece will not do: its trainer numbers pieces in the order of a hash table, another one in each process.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        min_frequency=2,
        special_tokens=SPECIAL,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    places = [(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=places
    )
    tokenizer.decoder = decoders.ByteLevel()
    return _cut(tokenizer, max_tokens)


def _cut(tokenizer: Tokenizer, max_tokens: int) -> Tokenizer:
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_tokens)
    return tokenizer
