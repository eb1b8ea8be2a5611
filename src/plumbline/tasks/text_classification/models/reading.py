"""How much of its texts a model reads: what is beyond `max_tokens` is cut, and that is said."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from tokenizers import Tokenizer

ENOUGH = 0.95  # of all texts: the proposed length reads so many of them to their end
STEP = 16  # the proposed length is a multiple of this


@dataclass(frozen=True)
class Reading:
    """The shares of texts that are cut and of tokens that are not read, and a length for more."""

    max_tokens: int
    cut_share: float
    unread_share: float
    proposed: int

    def describe(self, limit: int | None) -> list[str]:
        """Return a sentence where texts are cut; `limit` is the most that the model can read."""
        if not self.cut_share:
            return []
        sentence = (
            f"{self.cut_share:.1%} of the training texts are longer than max_tokens "
            f"({self.max_tokens}), and {self.unread_share:.1%} of all tokens are not read"
        )
        proposed = min(self.proposed, limit or self.proposed)
        if proposed > self.max_tokens:
            sentence += f"; max_tokens: {proposed} would read more, in more time"
        return [sentence]


def measure_reading(tokenizer: Tokenizer, texts: Iterable[list[str]], max_tokens: int) -> Reading:
    """Count the tokens of `texts`, some at a time, without a limit, and those beyond `max_tokens`.

    In memory is one number a text.
    """
    unlimited = Tokenizer.from_str(tokenizer.to_str())
    unlimited.no_truncation()
    counts = []
    for chunk in texts:
        encodings = unlimited.encode_batch_fast(chunk)
        counts.append(np.array([len(encoding.ids) for encoding in encodings], np.int32))
    lengths = np.concatenate(counts)
    beyond = np.maximum(lengths - max_tokens, 0)
    proposed = int(np.ceil(np.quantile(lengths, ENOUGH) / STEP)) * STEP
    return Reading(
        max_tokens, float((beyond > 0).mean()), float(beyond.sum() / lengths.sum()), proposed
    )
