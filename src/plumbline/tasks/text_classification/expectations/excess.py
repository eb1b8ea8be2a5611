"""Held-out rows that resemble earlier splits more often than these resemble themselves."""

import random
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass

from plumbline.contract.rows import RowBatches
from plumbline.statistics.independent import compute_share_difference_interval
from plumbline.tasks.text_classification.expectations.resemblance import find_resembling
from plumbline.tasks.text_classification.expectations.text_rows import (
    TextColumn,
    collect_rows,
    drop_repeated,
    map_first_ids,
    select_splits,
)

MAX_SAMPLE = 4000  # texts that are held against all others, for what is usual
OTHER = {"validation": "test", "test": "validation"}
MAX_HELD_OUT = 2000  # of each split that are compared beside
CERTAINTY = 0.999  # of that comparison: a part of the rows speaks for all of them
CONFIDENCE = 0.98  # beside the limit of the share, which such a chance must exceed too


def find_excess(
    rows: RowBatches, known: RowBatches, split: str, before: Sequence[str], similarity: float
) -> dict[int, str]:
    """Map rows of `split` to the text of `before` that they resemble, as many as are too many.

    `known` are the rows of `before`, each text once. How many are usual is estimated twice, and the
    larger excess counts:

    * `before` itself shows how often one of its texts resembles another one. Whoever adds several
      versions of each copy hides there, since these resemble each other.
    * The other held-out split shows how often texts of `split` resemble as many that nobody could
      learn. As many texts of train, drawn at random, are resembled as often, unless they are
      copies.

    Too many are those that the lower end of the interval of the difference leaves.
    """
    asked = collect_rows(select_splits(rows, [split]), ["normal", "compact"])
    is_known = asked["compact"].isin(list(map_first_ids(known, "compact", asked["compact"])))
    ours = asked.loc[~is_known, "normal"]
    texts = TextColumn(known, "normal")
    checked = list(dict.fromkeys(ours))
    if not checked or not any(True for _ in texts):
        return {}
    twins = find_resembling(texts, checked, similarity)
    among_known, shown = _compare_with_known(texts, checked, len(twins), similarity)
    beside_others, others = _compare_with_held_out(rows, split, checked, len(twins), similarity)
    num_excess = int(max(among_known, beside_others, 0.0) * len(ours))
    twins = {**others, **twins}
    counts = (
        f"{len(twins)} of {len(checked)} are so close, {shown} of {' and '.join(before)} are usual"
    )
    ids = map_first_ids(known, "normal", twins.values())
    resembling = ours[ours.isin(list(twins))].head(num_excess)
    return {
        row: f"a word or an addition apart from {ids[twins[text]]} ({counts})"
        for row, text in zip(resembling.index.tolist(), resembling.tolist(), strict=True)
    }


def _compare_with_known(
    texts: Iterable[str], checked: Sequence[str], num_twins: int, similarity: float
) -> tuple[float, str]:
    """Return the share of `checked` that is more than `texts` show among themselves, and these."""
    # As many as are checked: how many texts share a phrase depends on how many there are.
    sample = _draw(texts, min(len(checked), MAX_SAMPLE))
    num_usual = len(find_resembling(texts, sample, similarity))
    excess = compute_share_difference_interval(
        (num_twins, len(checked)), (num_usual, len(sample)), CONFIDENCE
    )
    return excess.low, f"{num_usual} of {len(sample)} texts"


def _compare_with_held_out(
    rows: RowBatches, split: str, checked: Sequence[str], num_twins: int, similarity: float
) -> tuple[float, dict[str, str]]:
    """Compare a part of train with the other held-out split, by how often `checked` resemble it.

    Return the share of `checked` that is too much, and the texts of train that were resembled.
    """
    asked = set(checked)
    others = []
    for name in ("train", OTHER[split]):
        distinct = TextColumn(drop_repeated(select_splits(rows, [name]), ["compact"]), "normal")
        others.append(_Others(distinct, asked))
    size = min(MAX_HELD_OUT, *map(_count, others))
    close: list[dict[str, str]] = []
    for texts in others:
        sample = _draw(texts, size)
        close.append(find_resembling(sample, checked, similarity, with_common=True))
    in_train, elsewhere = close
    if not in_train:
        return 0.0, {}
    excess = compute_share_difference_interval(
        (len(in_train), len(checked)), (len(elsewhere), len(checked)), CERTAINTY
    )
    # A part of train shows a part of the twins, and the same share of these is too many.
    return excess.low * max(1.0, num_twins / len(in_train)), in_train


@dataclass(frozen=True)
class _Others:
    """Texts but for those of a set."""

    texts: Iterable[str]
    left_out: Set[str]

    def __iter__(self) -> Iterator[str]:
        return (text for text in self.texts if text not in self.left_out)


def _draw(texts: Iterable[str], size: int) -> list[str]:
    """Draw up to so many texts at random, the same ones each time."""
    num_texts = _count(texts)
    rng = random.Random(0)  # noqa: S311 - no secrets
    drawn = rng.sample(range(num_texts), min(size, num_texts))
    places = {number: place for place, number in enumerate(drawn)}
    sample = [""] * len(drawn)
    for number, text in enumerate(texts):
        if number in places:
            sample[places[number]] = text
    return sample


def _count(texts: Iterable[str]) -> int:
    return sum(1 for _ in texts)
