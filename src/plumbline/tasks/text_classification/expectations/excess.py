"""Held-out rows that resemble earlier splits more often than these resemble themselves."""

import random
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from plumbline.statistics.independent import compute_share_difference_interval
from plumbline.tasks.text_classification.expectations.resemblance import find_resembling

if TYPE_CHECKING:
    import pandas as pd

MAX_SAMPLE = 4000  # texts that are held against all others, for what is usual
OTHER = {"validation": "test", "test": "validation"}
MAX_HELD_OUT = 2000  # of each split that are compared beside
CERTAINTY = 0.999  # of that comparison: a part of the rows speaks for all of them
CONFIDENCE = 0.98  # beside the limit of the share, which such a chance must exceed too


def find_excess(
    rows: "pd.DataFrame", split: str, before: Sequence[str], similarity: float
) -> dict[Hashable, str]:
    """Map rows of `split` to the text of `before` that they resemble, as many as are too many.

    How many are usual is estimated twice, and the larger excess counts:

    * `before` itself shows how often one of its texts resembles another one. Whoever adds several
      versions of each copy hides there, since these resemble each other.
    * The other held-out split shows how often texts of `split` resemble as many that nobody could
      learn. As many texts of train, drawn at random, are resembled as often, unless they are
      copies.

    Too many are those that the lower end of the interval of the difference leaves.
    """
    columns = ["id", "normal", "compact"]
    known = rows.loc[rows["split"].isin(before), columns].drop_duplicates("compact")
    asked = rows.loc[rows["split"] == split, columns]
    ours = asked[~asked["compact"].isin(known["compact"])]
    texts = known["normal"].tolist()
    checked = list(dict.fromkeys(ours["normal"]))
    if not texts or not checked:
        return {}
    twins = find_resembling(texts, checked, similarity)
    among_known, shown = _compare_with_known(texts, checked, len(twins), similarity)
    beside_others, others = _compare_with_held_out(rows, split, checked, len(twins), similarity)
    num_excess = int(max(among_known, beside_others, 0.0) * len(ours))
    twins = {**others, **twins}
    counts = (
        f"{len(twins)} of {len(checked)} are so close, {shown} of {' and '.join(before)} are usual"
    )
    resembled = known[known["normal"].isin(list(twins.values()))]
    ids = dict(zip(resembled["normal"], resembled["id"], strict=True))
    resembling = ours[ours["normal"].isin(twins)]
    return {
        row: f"a word or an addition apart from {ids[twins[text]]} ({counts})"
        for row, text in resembling["normal"].head(num_excess).items()
    }


def _compare_with_known(
    texts: Sequence[str], checked: Sequence[str], num_twins: int, similarity: float
) -> tuple[float, str]:
    """Return the share of `checked` that is more than `texts` show among themselves, and these."""
    # As many as are checked: how many texts share a phrase depends on how many there are.
    num_sampled = min(len(texts), len(checked), MAX_SAMPLE)
    sample = random.Random(0).sample(texts, num_sampled)  # noqa: S311 - no secrets
    num_usual = len(find_resembling(texts, sample, similarity))
    excess = compute_share_difference_interval(
        (num_twins, len(checked)), (num_usual, len(sample)), CONFIDENCE
    )
    return excess.low, f"{num_usual} of {len(sample)} texts"


def _compare_with_held_out(
    rows: "pd.DataFrame", split: str, checked: Sequence[str], num_twins: int, similarity: float
) -> tuple[float, dict[str, str]]:
    """Compare a part of train with the other held-out split, by how often `checked` resemble it.

    Return the share of `checked` that is too much, and the texts of train that were resembled.
    """
    columns = ["normal", "compact"]
    close: list[dict[str, str]] = []
    splits: list[pd.Series] = []
    for name in ("train", OTHER[split]):
        texts = rows.loc[rows["split"] == name, columns].drop_duplicates("compact")["normal"]
        splits.append(texts[~texts.isin(checked)])
    size = min(MAX_HELD_OUT, *map(len, splits))
    for texts in splits:
        places = random.Random(0).sample(range(len(texts)), size)  # noqa: S311 - no secrets
        sample = texts.iloc[places].tolist()
        close.append(find_resembling(sample, checked, similarity, with_common=True))
    in_train, elsewhere = close
    if not in_train:
        return 0.0, {}
    excess = compute_share_difference_interval(
        (len(in_train), len(checked)), (len(elsewhere), len(checked)), CERTAINTY
    )
    # A part of train shows a part of the twins, and the same share of these is too many.
    return excess.low * max(1.0, num_twins / len(in_train)), in_train
