"""Texts that occur more than once: copies in a split, contradictions, and leaks between splits."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from plumbline.tasks.text_classification.expectations.excess import find_excess
from plumbline.tasks.text_classification.expectations.recent_answers import keep_recent
from plumbline.tasks.text_classification.expectations.similar_pairs import find_similar_pairs

if TYPE_CHECKING:
    import pandas as pd


def find_copies(rows: "pd.DataFrame") -> "pd.Series":
    """For each row with the text and label of an earlier row of its split: that row. Else null."""
    first = rows.groupby(["split", "label", "compact"])["id"].transform("first")
    return ("repeats " + first).where(rows["id"] != first, None).astype(object)


def find_conflicts(rows: "pd.DataFrame") -> "pd.Series":
    """For each row whose text has another label as well in its split: that label. Else null."""
    distinct = rows[["split", "compact", "label"]].drop_duplicates()
    by_text = distinct.groupby(["split", "compact"])["label"]
    several = distinct[by_text.transform("size") > 1]
    labels = several.groupby(["split", "compact"])["label"].agg(sorted).to_dict()
    asked = rows.loc[rows["compact"].isin(several["compact"]), ["split", "compact", "label"]]
    findings: dict[Hashable, str] = {}
    for row, split, text, label in asked.itertuples():
        others = [other for other in labels.get((split, text), []) if other != label]
        if others:
            findings[row] = f"{label!r} here, {others[0]!r} elsewhere"
    return _build_column(rows, findings)


def find_exact_leaks(rows: "pd.DataFrame", split: str, before: Sequence[str]) -> "pd.Series":
    """For each row of `split` whose exact text is in a split of `before`: that row. Else null."""
    asked = rows.loc[rows["split"] == split, "text"]
    earlier = rows.loc[rows["split"].isin(before), ["id", "text"]]
    known = _map_first_ids(earlier, "text", asked)
    leaked = asked[asked.isin(list(known))]
    return _build_column(rows, {row: f"same text as {known[text]}" for row, text in leaked.items()})


def find_near_leaks(
    rows: "pd.DataFrame", split: str, before: Sequence[str], similarity: float
) -> "pd.Series":
    """Do as `find_exact_leaks` for texts that are nearly the same.

    They have one comparison form, or `similarity` (Jaccard, of character n-grams), or are among
    the rows by which more texts resemble one of `before` than these resemble each other (see
    `resemblance`). Exact leaks are left out.
    """
    exact = find_exact_leaks(rows, split, before).notna()
    checked = rows.loc[(rows["split"] == split) & ~exact, "compact"]
    earlier = rows.loc[rows["split"].isin(before), ["id", "compact"]].drop_duplicates("compact")
    same = _map_first_ids(earlier, "compact", checked)
    other = sorted(set(checked) - set(same))
    twins = _find_twins(earlier["compact"].tolist(), other, similarity)
    ids = _map_first_ids(earlier, "compact", [twin for twin, _ in twins.values()])
    findings: dict[Hashable, str] = {}
    for row, text in checked.items():
        if text in same:
            findings[row] = f"same text as {same[text]}, except for case, punctuation or marks"
        elif text in twins:
            twin, score = twins[text]
            findings[row] = f"{score:.0%} similar to {ids[twin]}"
    for row, finding in find_excess(rows, split, before, similarity).items():
        if row in checked.index:
            findings.setdefault(row, finding)
    return _build_column(rows, findings)


@keep_recent(2)  # the selftest asks about the same two splits dozens of times
def _find_twins(
    known: Iterable[str], checked: Sequence[str], similarity: float
) -> dict[str, tuple[str, float]]:
    """For texts of `checked` with a text of `known` that is similar enough: it, and how similar."""
    twins: dict[str, tuple[str, float]] = {}
    for pair in find_similar_pairs(checked, known, similarity):
        text = checked[pair.checked]
        other, best = twins.get(text, ("", 0.0))
        if (pair.similarity, pair.twin) > (best, other):
            twins[text] = (pair.twin, pair.similarity)
    return twins


def _map_first_ids(rows: "pd.DataFrame", column: str, values: Iterable[str]) -> dict[str, str]:
    """Map those of `values` that the column has to the id of the first row with it."""
    first = rows[rows[column].isin(list(values))].drop_duplicates(column)
    return dict(zip(first[column], first["id"], strict=True))


def _build_column(rows: "pd.DataFrame", findings: Mapping[Hashable, str]) -> "pd.Series":
    import pandas as pd

    return pd.Series([findings.get(row) for row in rows.index], index=rows.index, dtype=object)
