"""What the leakage gate asks: does a held-out split repeat sequences, beyond what chance explains?

Short sequences repeat by chance: of sequences of 64 symbols that are often all equal, a few per
cent are in every split. A sequence counts as leaked only if its exact probability is so small
that chance would hardly ever repeat it.
"""

from pathlib import Path

import numpy as np

from plumbline.contract.records import Leak
from plumbline.contract.task import SPLITS
from tasks.sequence_bayes.data import name_rows, read_prior, read_sequences
from tasks.sequence_bayes.data.exact import compute_log_probability
from tasks.sequence_bayes.data.ingestion import compute_digests
from tasks.sequence_bayes.params import SequenceParams

MAX_EXAMPLES = 5
# Expected chance repeats of sequences that are this improbable: one in so many data sets.
RARITY = 100


def find_leaks(params: SequenceParams, examples: Path) -> list[Leak]:
    """Count held-out sequences that an earlier split has, where chance does not explain it."""
    repeats = find_repeats(examples)
    leaks = []
    for split in SPLITS[1:]:
        own = [(name, before) for (of, name), before in repeats.items() if of == split]
        shown = tuple(f"{name} (also in {before})" for name, before in own[:MAX_EXAMPLES])
        num_rows = len(read_sequences(examples, split))
        leaks.append(Leak("exact", split, len(own), num_rows, shown))
    return leaks


def find_repeats(examples: Path) -> dict[tuple[str, str], str]:
    """Return the earlier split of each held-out row, by (split, id), that repeats too rare a row.

    Of n train and m own rows, a sequence of probability p is expected n m p times in both.
    """
    prior = read_prior(examples)
    earlier: dict[str, tuple[str, int]] = {}  # digest -> split and its number of rows
    repeats = {}
    for split in SPLITS:
        sequences = read_sequences(examples, split)
        digests = compute_digests(sequences)
        readable = np.minimum(sequences, prior.num_symbols - 1)
        logs = compute_log_probability(prior, readable)
        for name, digest, log in zip(name_rows(split, len(digests)), digests, logs, strict=True):
            before, num_before = earlier.get(digest, ("", 0))
            if before and log < -np.log(RARITY * num_before * len(digests)):
                repeats[split, name] = before
        for digest in digests:
            earlier.setdefault(digest, (split, len(digests)))
    return repeats
