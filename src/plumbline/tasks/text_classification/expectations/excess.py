"""Held-out rows that resemble earlier splits more often than these resemble themselves."""

import random
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from plumbline.statistics.independent import compute_share_difference_interval
from plumbline.tasks.text_classification.expectations.resemblance import find_resembling

if TYPE_CHECKING:
    import pandas as pd

MAX_SAMPLE = 4000  # texts that are held against all others, for what is usual
CONFIDENCE = 0.98  # beside the limit of the share, which such a chance must exceed too


def find_excess(
    rows: "pd.DataFrame", split: str, before: Sequence[str], similarity: float
) -> dict[Hashable, str]:
    """Map rows of `split` to the text of `before` that they resemble, as many as are too many.

    How many are usual shows `before` itself: how often one of its texts resembles another one. Too
    many are those that the lower end of the interval of the difference leaves.
    """
    known = rows[rows["split"].isin(before)].drop_duplicates("compact")
    ours = rows[(rows["split"] == split) & ~rows["compact"].isin(set(known["compact"]))]
    texts = known["normal"].tolist()
    checked = list(dict.fromkeys(ours["normal"]))
    if not texts or not checked:
        return {}
    twins = find_resembling(texts, checked, similarity)
    # As many as are checked: how many texts share a phrase depends on how many there are.
    num_sampled = min(len(texts), len(checked), MAX_SAMPLE)
    sample = random.Random(0).sample(texts, num_sampled)  # noqa: S311 - no secrets
    num_usual = len(find_resembling(texts, sample, similarity)) if twins else 0
    excess = compute_share_difference_interval(
        (len(twins), len(checked)), (num_usual, len(sample)), CONFIDENCE
    )
    num_excess = int(max(0.0, excess.low) * len(ours))
    counts = (
        f"{len(twins)} of {len(checked)} are so close, "
        f"of {len(sample)} texts of {' and '.join(before)} {num_usual}"
    )
    ids = dict(zip(known["normal"], known["id"], strict=True))
    resembling = ours[ours["normal"].isin(twins)]
    return {
        row: f"a word or an addition apart from {ids[twins[text]]} ({counts})"
        for row, text in resembling["normal"].head(num_excess).items()
    }
