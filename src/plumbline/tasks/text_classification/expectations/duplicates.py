"""Texts that occur more than once: copies in a split, contradictions, and leaks between splits."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from plumbline.contract.rows import FIRST, ROW, RowBatches
from plumbline.tasks.text_classification.expectations.excess import find_excess
from plumbline.tasks.text_classification.expectations.recent_answers import keep_recent
from plumbline.tasks.text_classification.expectations.similar_pairs import find_similar_pairs
from plumbline.tasks.text_classification.expectations.text_rows import (
    TextColumn,
    collect_rows,
    drop_repeated,
    map_first_ids,
    select_splits,
)

COPY_KEYS = ("split", "label", "compact")
Findings = dict[int, str]  # number of a row -> what is wrong with it


def find_copies(rows: RowBatches) -> Findings:
    """For each row with the text and label of an earlier row of its split: that row."""
    first_of: dict[int, int] = {}
    for batch in rows.find_first(COPY_KEYS):
        numbers, first = batch[ROW].to_numpy(), batch[FIRST].to_numpy()
        is_copy = numbers != first
        first_of.update(zip(numbers[is_copy].tolist(), first[is_copy].tolist(), strict=True))
    wanted = set(first_of.values())
    ids: dict[int, str] = {}
    for batch in rows:
        for number, id_ in zip(batch[ROW].to_pylist(), batch["id"].to_pylist(), strict=True):
            if number in wanted:
                ids[number] = id_
    return {number: f"repeats {ids[first]}" for number, first in first_of.items()}


def find_conflicts(rows: RowBatches) -> Findings:
    """For each row whose text has another label as well in its split: that label."""
    contradicted = _find_contradicted(rows)
    texts: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)
    for batch in rows.find_first(("split", "compact")):
        values = (batch[name].to_pylist() for name in (FIRST, ROW, "label"))
        for first, number, label in zip(*values, strict=True):
            if first in contradicted:
                texts[first].append((number, label))
    findings: Findings = {}
    for members in texts.values():
        labels = sorted({label for _, label in members})
        for number, label in members:
            other = next(name for name in labels if name != label)
            findings[number] = f"{label!r} here, {other!r} elsewhere"
    return findings


def find_exact_leaks(rows: RowBatches, split: str, before: Sequence[str]) -> Findings:
    """For each row of `split` whose exact text is in a split of `before`: that row."""
    asked = collect_rows(select_splits(rows, [split]), ["text"])["text"]
    known = map_first_ids(select_splits(rows, before), "text", asked)
    return {
        row: f"same text as {known[text]}"
        for row, text in zip(asked.index.tolist(), asked.tolist(), strict=True)
        if text in known
    }


def find_near_leaks(
    rows: RowBatches, split: str, before: Sequence[str], similarity: float
) -> Findings:
    """Do as `find_exact_leaks` for texts that are nearly the same.

    They have one comparison form, or `similarity` (Jaccard, of character n-grams), or are among
    the rows by which more texts resemble one of `before` than these resemble each other (see
    `resemblance`). Exact leaks are left out.
    """
    exact = find_exact_leaks(rows, split, before)
    asked = collect_rows(select_splits(rows, [split]), ["compact"])["compact"]
    checked = asked[~asked.index.isin(list(exact))]
    earlier = drop_repeated(select_splits(rows, before), ["compact"])
    same = map_first_ids(earlier, "compact", checked)
    other = sorted(set(checked) - set(same))
    twins = _find_twins(TextColumn(earlier, "compact"), other, similarity)
    ids = map_first_ids(earlier, "compact", [twin for twin, _ in twins.values()])
    findings: Findings = {}
    for row, text in zip(checked.index.tolist(), checked.tolist(), strict=True):
        if text in same:
            findings[row] = f"same text as {same[text]}, except for case, punctuation or marks"
        elif text in twins:
            twin, score = twins[text]
            findings[row] = f"{score:.0%} similar to {ids[twin]}"
    for row, finding in find_excess(rows, earlier, split, before, similarity).items():
        if row not in exact:
            findings.setdefault(row, finding)
    return findings


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


def _find_contradicted(rows: RowBatches) -> set[int]:
    """Return the texts that have several labels in a split, as the number of their first row."""
    parts = [np.zeros(0, dtype=np.int64)]
    texts = iter(rows.find_first(("split", "compact")))
    for labelled in rows.find_first(COPY_KEYS):
        is_new = labelled[FIRST].to_numpy() == labelled[ROW].to_numpy()
        parts.append(next(texts)[FIRST].to_numpy()[is_new])
    distinct, counts = np.unique(np.concatenate(parts), return_counts=True)
    return set(distinct[counts > 1].tolist())
