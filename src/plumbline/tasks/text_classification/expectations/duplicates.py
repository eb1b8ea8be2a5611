"""Texts that occur more than once: copies in a split, contradictions, and what leaks from one split into another."""

import zlib
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

NGRAM = 3  # characters; texts are short, and one changed word touches few of them
NUM_HASHES = 128  # 12 bands of 10: at similarity 0.9 all but 1 % of pairs are found, and every find is verified


def repeated(rows: "pd.DataFrame") -> "pd.Series":
    """For each row with the text and label of an earlier row of its split: which row that is. Else null."""
    first = rows.groupby(["split", "label", "compact"])["id"].transform("first")
    return ("repeats " + first).where(rows["id"] != first, None).astype(object)


def conflicting(rows: "pd.DataFrame") -> "pd.Series":
    """For each row whose text also stands under another label in its split: that label. Else null."""
    one = rows.drop_duplicates(["split", "compact", "label"])
    counts = one.groupby(["split", "compact"])["label"].transform("size")
    labels = one[counts > 1].groupby(["split", "compact"])["label"].agg(sorted)
    found = rows.join(labels.rename("labels"), on=["split", "compact"])[["label", "labels"]]
    return _series(
        rows,
        [
            f"{label!r} here, {next(other for other in others if other != label)!r} elsewhere"
            if isinstance(others, list)
            else None
            for label, others in found.itertuples(index=False)
        ],
    )


def leaked(rows: "pd.DataFrame", split: str, before: Sequence[str]) -> "pd.Series":
    """For each row of `split` whose very text stands in a split of `before`: in which row. Else null."""
    known = _first_ids(rows[rows["split"].isin(before)], "text")
    found = rows["text"].map(known).where(rows["split"] == split)
    return ("the text of " + found).astype(object).where(found.notna(), None)


def nearly_leaked(
    rows: "pd.DataFrame", split: str, before: Sequence[str], similarity: float
) -> "pd.Series":
    """As `leaked`, for texts that differ in case, punctuation and spaces alone, or have `similarity` in n-grams."""
    known = {
        str(text): str(row)
        for text, row in _first_ids(rows[rows["split"].isin(before)], "compact").items()
    }
    exact = leaked(rows, split, before).notna()
    asked = rows.loc[(rows["split"] == split) & ~exact, "compact"]
    near = _nearest(list(known), sorted(set(asked) - set(known)), similarity)
    found: dict[Hashable, str] = {}
    for row, text in asked.items():
        if text in known:
            found[row] = f"but for case or punctuation the text of {known[text]}"
        elif text in near:
            twin, score = near[text]
            found[row] = f"{score:.0%} the text of {known[twin]}"
    return _series(rows, [found.get(row) for row in rows.index])


def _nearest(
    known: Sequence[str], asked: Sequence[str], similarity: float
) -> dict[str, tuple[str, float]]:
    """For texts of `asked` with a text of `known` at least that similar (Jaccard): the most similar, and how much."""
    from datasketch import MinHash, MinHashLSH

    if not known or not asked:
        return {}
    known_grams, asked_grams = [_grams(text) for text in known], [_grams(text) for text in asked]
    index = MinHashLSH(
        threshold=max(similarity - 0.1, 0.1), num_perm=NUM_HASHES, weights=(0.2, 0.8)
    )
    for row, sketch in enumerate(
        MinHash.generator(known_grams, num_perm=NUM_HASHES, hashfunc=zlib.crc32)
    ):
        index.insert(row, sketch)
    found = {}
    sketches = MinHash.generator(asked_grams, num_perm=NUM_HASHES, hashfunc=zlib.crc32)
    for text, grams, sketch in zip(asked, asked_grams, sketches, strict=True):
        scored = [(_jaccard(grams, known_grams[row]), known[row]) for row in index.query(sketch)]
        score, twin = max(scored, default=(0.0, ""))
        if score >= similarity:
            found[text] = (twin, score)
    return found


def _grams(text: str) -> set[bytes]:
    return {text[start : start + NGRAM].encode() for start in range(max(1, len(text) - NGRAM + 1))}


def _jaccard(one: set[bytes], other: set[bytes]) -> float:
    both = len(one & other)
    return both / (len(one) + len(other) - both)


def _first_ids(rows: "pd.DataFrame", column: str) -> "pd.Series":
    return rows.drop_duplicates(column).set_index(column)["id"]


def _series(rows: "pd.DataFrame", values: list[str | None]) -> "pd.Series":
    import pandas as pd

    return pd.Series(values, index=rows.index, dtype=object)
