"""Held-out rows much like other ones, more often than rows of train are like each other.

Short texts on one subject are so by chance, in every split alike. What counts is therefore how many
more are so across two splits, or within a held-out one, than within train.
"""

import random
from collections.abc import Iterable, Sequence

from plumbline.statistics.independent import compute_share_difference_interval
from plumbline.statistics.similar_texts import find_twins
from plumbline.tables.rows import StoredRows
from plumbline.tasks.text_classification.expectations.exchanges import find_exchanged
from plumbline.tasks.text_classification.expectations.text_rows import (
    FIRST_ROWS,
    find_ids,
    read_first_texts,
)

MAX_SAMPLE = 4000  # texts that are held against all others, for what is usual
OTHER = {"validation": "test", "test": "validation"}
MAX_HELD_OUT = 2000  # of each split that are compared beside
CERTAINTY = 0.999  # of that comparison: a part of the rows speaks for all of them
REPEATED = 0.8  # Jaccard index of character n-grams of a text and another one of its split
SELDOM = 0.01  # of a split: so few such texts do not make it look larger
CONFIDENCE = 0.98  # beside the limit of the share, which such a chance must exceed too


def find_excess(
    rows: StoredRows, split: str, before: Sequence[str], same: Iterable[int]
) -> dict[int, str]:
    """Map rows of `split` to a text of `before` a word apart, as many rows as are too many.

    Rows of `same`, whose text is one of `before`, do not count. How many are usual is estimated
    twice, and the larger excess counts:

    * `before` itself shows how often one of its texts is a word apart from another one. Whoever
      adds several versions of each copy hides there, since these are so from each other.
    * The other held-out split shows how often texts of `split` are a word apart from as many that
      nobody could learn. From as many of train, drawn at random, they are as often, unless they
      are copies.

    Too many are those that the lower end of the interval of the difference leaves.
    """
    asked = rows.query('SELECT "#row", normal FROM rows WHERE split = ? ORDER BY "#row"', split)
    ours = asked[~asked["#row"].isin(same)]
    checked = ours["normal"].unique().tolist()
    known = _draw_texts(rows, before, min(len(checked), MAX_SAMPLE))
    if not known:
        return {}
    twins = find_exchanged(read_first_texts(rows, "normal", before), checked)
    usual = find_exchanged(read_first_texts(rows, "normal", before), known)
    among_known = compute_share_difference_interval(
        (len(twins), len(checked)), (len(usual), len(known)), CONFIDENCE
    ).low
    beside_others, others = _compare_with_held_out(rows, split, checked, len(twins))
    num_excess = int(max(among_known, beside_others, 0.0) * len(ours))
    twins = {**others, **twins}
    counts = (
        f"{len(twins)} of {len(checked)} are so close, {len(usual)} of {len(known)} texts of "
        f"{' and '.join(before)} are usual"
    )
    ids = find_ids(rows, "normal", twins.values(), before)
    excess = ours[ours["normal"].isin(list(twins))].head(num_excess)
    return {
        row: f"a word apart from {ids[twins[text]]} ({counts})"
        for row, text in excess.itertuples(index=False, name=None)
    }


def find_repeats(rows: StoredRows, split: str) -> dict[int, str]:
    """Map rows of `split` to another text of it much like theirs, as many rows as are too many.

    They make a split look larger than it is. Train shows how many are usual: it is larger, and so
    more of its texts have a twin by chance. Of a large split a part is looked at, and the same
    part of train, as parts have fewer twins.
    """
    asked = rows.query('SELECT "#row", normal FROM rows WHERE split = ? ORDER BY "#row"', split)
    own = _draw_texts(rows, [split], MAX_SAMPLE)
    twins = find_twins(own, own, REPEATED)
    if len(twins) <= SELDOM * len(own):
        return {}
    num_train = rows.query("SELECT count(*) AS num FROM rows WHERE split = 'train'")["num"].item()
    train = _draw_texts(rows, ["train"], num_train * len(own) // max(1, len(asked)))
    sample = sorted(train)[:: 1 + len(train) // MAX_SAMPLE]
    if not train:
        return {}
    usual = find_twins(sample, train, REPEATED)
    excess = compute_share_difference_interval(
        (len(twins), len(own)), (len(usual), len(sample)), CONFIDENCE
    )
    num_excess = int(max(excess.low, 0.0) * len(asked))
    originals = {own[number]: twin.text for number, twin in twins.items()}
    ids = find_ids(rows, "normal", originals.values(), [split])
    repeats = asked[asked["normal"].isin(list(originals))].head(num_excess)
    counts = f"{len(twins)} of {len(own)} are so close, {len(usual)} of {len(sample)} of train"
    return {
        row: f"much like {ids[originals[text]]} of the same split ({counts})"
        for row, text in repeats.itertuples(index=False, name=None)
    }


def _compare_with_held_out(
    rows: StoredRows, split: str, checked: Sequence[str], num_twins: int
) -> tuple[float, dict[str, str]]:
    """Compare a part of train with the other held-out split, by how often `checked` are so close.

    Return the share of `checked` that is too much, and the texts of train that were so close.
    """
    num_train, num_others = (
        len(_draw_texts(rows, [own], MAX_HELD_OUT, checked)) for own in ("train", OTHER[split])
    )
    size = min(num_train, num_others)
    in_train = find_exchanged(_draw_texts(rows, ["train"], size, checked), checked)
    elsewhere = find_exchanged(_draw_texts(rows, [OTHER[split]], size, checked), checked)
    if not in_train:
        return 0.0, {}
    excess = compute_share_difference_interval(
        (len(in_train), len(checked)), (len(elsewhere), len(checked)), CERTAINTY
    )
    # A part of train shows a part of the twins, and the same share of these is too many.
    return excess.low * max(1.0, num_twins / len(in_train)), in_train


def _draw_texts(
    rows: StoredRows, splits: Sequence[str], size: int, without: Sequence[str] = ()
) -> list[str]:
    """Draw so many texts of these splits, each text once, the same ones each time."""
    query = f"""
        SELECT "#row" FROM rows WHERE "#row" IN ({FIRST_ROWS})
        AND normal NOT IN (SELECT unnest(?)) ORDER BY "#row"
    """  # noqa: S608
    numbers = rows.query(query, list(splits), list(without))["#row"].tolist()
    drawn = random.Random(0).sample(numbers, min(size, len(numbers)))  # noqa: S311 - no secrets
    query = 'SELECT normal FROM rows WHERE "#row" IN (SELECT unnest(?))'
    texts: list[str] = rows.query(query, drawn)["normal"].tolist()
    return texts
