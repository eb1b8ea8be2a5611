"""Held-out rows that resemble earlier splits more often than these resemble themselves."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from plumbline.contract.rows import RowBatches
from plumbline.statistics.independent import compute_share_difference_interval
from plumbline.tasks.text_classification.expectations.resemblance import (
    find_all_resembling,
    find_resembling,
)
from plumbline.tasks.text_classification.expectations.text_rows import (
    TextColumn,
    collect_rows,
    count_rows,
    draw_rows,
    drop_repeated,
    map_first_ids,
    select_splits,
)

if TYPE_CHECKING:
    import pyarrow as pa

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
    checked = list(dict.fromkeys(ours))
    if not checked or not count_rows(known):
        return {}
    twins = find_resembling(TextColumn(known, "normal"), checked, similarity)
    among_known, shown = _compare_with_known(known, checked, len(twins), similarity)
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
    known: RowBatches, checked: Sequence[str], num_twins: int, similarity: float
) -> tuple[float, str]:
    """Return the share of `checked` that is more than `known` show among themselves, and these."""
    # As many as are checked: how many texts share a phrase depends on how many there are.
    sample = _draw_texts(known, min(len(checked), MAX_SAMPLE))
    num_usual = len(find_resembling(TextColumn(known, "normal"), sample, similarity))
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
    train = _list_others(rows, "train", checked)
    others = _list_others(rows, OTHER[split], checked)
    size = min(MAX_HELD_OUT, count_rows(train), count_rows(others))
    in_train = find_all_resembling(_draw_texts(train, size), checked, similarity)
    elsewhere = find_all_resembling(_draw_texts(others, size), checked, similarity)
    if not in_train:
        return 0.0, {}
    excess = compute_share_difference_interval(
        (len(in_train), len(checked)), (len(elsewhere), len(checked)), CERTAINTY
    )
    # A part of train shows a part of the twins, and the same share of these is too many.
    return excess.low * max(1.0, num_twins / len(in_train)), in_train


def _list_others(rows: RowBatches, split: str, checked: Sequence[str]) -> RowBatches:
    """Return each text of a split once, but for those that are checked."""
    import pyarrow as pa
    import pyarrow.compute as pc

    asked = pa.array(checked, pa.string())

    def drop_asked(batch: "pa.RecordBatch") -> "pa.RecordBatch":
        return batch.filter(pc.invert(pc.is_in(batch["normal"], asked)))

    return drop_repeated(select_splits(rows, [split]), ["compact"]).map(drop_asked)


def _draw_texts(rows: RowBatches, size: int) -> list[str]:
    texts: list[str] = draw_rows(rows, size, ["normal"])["normal"].tolist()
    return texts
