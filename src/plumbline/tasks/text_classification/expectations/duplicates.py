"""Texts that occur more than once: copies in a split, contradictions, and leaks between splits."""

from collections.abc import Sequence

from plumbline.contract.task import SPLITS
from plumbline.statistics.similar_texts import find_twins
from plumbline.tables.rows import StoredRows
from plumbline.tasks.text_classification.expectations.excess import find_excess, find_repeats
from plumbline.tasks.text_classification.expectations.text_rows import (
    find_equal,
    find_ids,
    read_first_texts,
)

SIMILARITY = 0.9  # from which two texts are nearly equal: Jaccard index of character 3-grams
FIND_COPIES = """
    SELECT copy."#row", original.id
    FROM rows AS copy
    JOIN (
        SELECT split, label, hash(compact) AS text, min("#row") AS first,
            arg_min(id, "#row") AS id
        FROM rows WHERE split IN (SELECT unnest(?)) GROUP BY ALL HAVING count(*) > 1
    ) AS original
    ON copy.split = original.split AND copy.label = original.label
        AND hash(copy.compact) = original.text
    WHERE copy."#row" > original.first ORDER BY copy."#row"
"""
FIND_CONFLICTS = """
    SELECT "#row", label, labels
    FROM rows
    JOIN (
        SELECT split, hash(compact) AS text, list_sort(list(DISTINCT label)) AS labels
        FROM rows GROUP BY ALL HAVING count(DISTINCT label) > 1
    ) AS contradicted ON rows.split = contradicted.split AND hash(compact) = contradicted.text
    ORDER BY "#row"
"""
Findings = dict[int, str]  # number of a row -> what is wrong with it


def find_copies(rows: StoredRows, splits: Sequence[str] = SPLITS) -> Findings:
    """For each row with the text and label of an earlier row of its split: that row."""
    copies = rows.query(FIND_COPIES, list(splits)).itertuples(index=False, name=None)
    return {row: f"repeats {original}" for row, original in copies}


def find_conflicts(rows: StoredRows) -> Findings:
    """For each row whose text has another label as well in its split: that label."""
    findings: Findings = {}
    for row, label, labels in rows.query(FIND_CONFLICTS).itertuples(index=False, name=None):
        other = next(name for name in labels if name != label)
        findings[row] = f"{label!r} here, {other!r} elsewhere"
    return findings


def find_exact_leaks(rows: StoredRows, split: str, before: Sequence[str]) -> Findings:
    """For each row of `split` whose exact text is in a split of `before`: that row."""
    leaks = find_equal(rows, "text", split, before)
    return {row: f"same text as {id_}" for row, id_ in leaks.items()}


def find_near_leaks(rows: StoredRows, split: str, before: Sequence[str]) -> Findings:
    """Do as `find_exact_leaks` for texts that are nearly the same.

    They have one comparison form, or SIMILARITY (Jaccard, of character n-grams), or are among
    the rows by which more texts are a word apart from one of `before` than these are from each
    other, or are alike within `split` (`excess`). Exact leaks are left out.
    """
    exact = find_equal(rows, "text", split, before)
    same = find_equal(rows, "compact", split, before)
    asked = rows.query('SELECT "#row", compact FROM rows WHERE split = ?', split)
    others = asked[~asked["#row"].isin(list(same))].sort_values("compact")
    checked = others["compact"].unique().tolist()
    twins = find_twins(checked, read_first_texts(rows, "compact", before), SIMILARITY)
    ids = find_ids(rows, "compact", [twin.text for twin in twins.values()], before)
    similar = {
        checked[number]: f"{twin.similarity:.0%} similar to {ids[twin.text]}"
        for number, twin in twins.items()
    }
    findings = {
        row: f"same text as {id_}, except for case, punctuation or marks"
        for row, id_ in same.items()
    }
    for row, text in others[others["compact"].isin(list(similar))].itertuples(index=False):
        findings[row] = similar[text]
    findings = find_repeats(rows, split) | find_excess(rows, split, before, same) | findings
    return {row: findings[row] for row in sorted(findings.keys() - exact)}
