"""Texts that occur more than once: copies in a split, contradictions, and leaks between splits."""

from collections.abc import Hashable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from plumbline.tasks.text_classification.expectations.excess import find_excess
from plumbline.tasks.text_classification.expectations.similar_pairs import find_similar_pairs

if TYPE_CHECKING:
    import pandas as pd


def find_copies(rows: "pd.DataFrame") -> "pd.Series":
    """For each row with the text and label of an earlier row of its split: that row. Else null."""
    first = rows.groupby(["split", "label", "compact"])["id"].transform("first")
    return ("repeats " + first).where(rows["id"] != first, None).astype(object)


def find_conflicts(rows: "pd.DataFrame") -> "pd.Series":
    """For each row whose text has another label as well in its split: that label. Else null."""
    distinct = rows.drop_duplicates(["split", "compact", "label"])
    by_text = distinct.groupby(["split", "compact"])["label"]
    several = distinct[by_text.transform("size") > 1]
    labels = several.groupby(["split", "compact"])["label"].agg(sorted)
    joined = rows.join(labels.rename("labels"), on=["split", "compact"])
    findings: list[str | None] = []
    for label, all_labels in joined[["label", "labels"]].itertuples(index=False):
        if not isinstance(all_labels, list):
            findings.append(None)
            continue
        others = [other for other in all_labels if other != label]
        findings.append(f"{label!r} here, {others[0]!r} elsewhere")
    return _build_column(rows, findings)


def find_exact_leaks(rows: "pd.DataFrame", split: str, before: Sequence[str]) -> "pd.Series":
    """For each row of `split` whose exact text is in a split of `before`: that row. Else null."""
    known = _map_first_ids(rows[rows["split"].isin(before)], "text")
    original = rows["text"].map(known).where(rows["split"] == split)
    return ("same text as " + original).astype(object).where(original.notna(), None)


def find_near_leaks(
    rows: "pd.DataFrame", split: str, before: Sequence[str], similarity: float
) -> "pd.Series":
    """Do as `find_exact_leaks` for texts that are nearly the same.

    They have one comparison form, or `similarity` (Jaccard, of character n-grams), or are among
    the rows by which more texts resemble one of `before` than these resemble each other (see
    `resemblance`). Exact leaks are left out.
    """
    known = _map_first_ids(rows[rows["split"].isin(before)], "compact")
    exact = find_exact_leaks(rows, split, before).notna()
    checked = rows.loc[(rows["split"] == split) & ~exact, "compact"]
    twins = _find_twins(tuple(known), tuple(sorted(set(checked) - set(known))), similarity)
    findings: dict[Hashable, str] = {}
    for row, text in checked.items():
        if text in known:
            findings[row] = f"same text as {known[text]}, except for case, punctuation or marks"
        elif text in twins:
            twin, score = twins[text]
            findings[row] = f"{score:.0%} similar to {known[twin]}"
    for row, finding in find_excess(rows, split, before, similarity).items():
        if row in checked.index:
            findings.setdefault(row, finding)
    return _build_column(rows, [findings.get(row) for row in rows.index])


@lru_cache(maxsize=2)  # the selftest asks about the same two splits dozens of times
def _find_twins(
    known: tuple[str, ...], checked: tuple[str, ...], similarity: float
) -> dict[str, tuple[str, float]]:
    """For texts of `checked` with a text of `known` that is similar enough: it, and how similar."""
    if not known or not checked:
        return {}
    twins: dict[str, tuple[str, float]] = {}
    for pair in find_similar_pairs(checked, known, similarity):
        text, twin = checked[pair.checked], known[pair.known]
        other, best = twins.get(text, ("", 0.0))
        if (pair.similarity, twin) > (best, other):
            twins[text] = (twin, pair.similarity)
    return twins


def _map_first_ids(rows: "pd.DataFrame", column: str) -> dict[str, str]:
    """Map each value of the column to the id of the first row that has it."""
    first = rows.drop_duplicates(column)
    return dict(zip(first[column], first["id"], strict=True))


def _build_column(rows: "pd.DataFrame", values: list[str | None]) -> "pd.Series":
    import pandas as pd

    return pd.Series(values, index=rows.index, dtype=object)
