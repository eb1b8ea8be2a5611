"""Texts that occur more than once: copies in a split, contradictions, and leaks between splits."""

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from plumbline.contract.rows import FIRST, ROW, RowBatches, put_column
from plumbline.tasks.text_classification.expectations.excess import find_excess
from plumbline.tasks.text_classification.expectations.recent_answers import keep_recent
from plumbline.tasks.text_classification.expectations.similar_pairs import find_twins
from plumbline.tasks.text_classification.expectations.text_chunks import Texts
from plumbline.tasks.text_classification.expectations.text_rows import (
    TextColumn,
    collect_rows,
    drop_repeated,
    map_first_ids,
    select_splits,
    select_values,
)

if TYPE_CHECKING:
    import pyarrow as pa

COPY_KEYS = ("split", "label", "compact")
SIMILARITY = 0.9  # from which two texts are nearly equal: Jaccard index of character 3-grams
TEXT = "#text"  # the column with the number of the first row that has the text
Findings = dict[int, str]  # number of a row -> what is wrong with it


def find_copies(rows: RowBatches) -> Findings:
    """For each row with the text and label of an earlier row of its split: that row."""
    import pyarrow.compute as pc

    marked = rows.find_first(COPY_KEYS)
    repeated = marked.map(lambda batch: batch.filter(pc.not_equal(batch[FIRST], batch[ROW])))
    copies = collect_rows(repeated, [FIRST])[FIRST]
    originals = select_values(rows, ROW, copies.unique().tolist())
    ids = collect_rows(originals, ["id"])["id"].to_dict()
    pairs = zip(copies.index.tolist(), copies.tolist(), strict=True)
    return {number: f"repeats {ids[first]}" for number, first in pairs}


def find_conflicts(rows: RowBatches) -> Findings:
    """For each row whose text has another label as well in its split: that label."""
    marked = rows.find_first(("split", "compact")).map(_rename_first)
    num_labels = collect_rows(drop_repeated(marked, COPY_KEYS), [TEXT])[TEXT].value_counts()
    contradicted = num_labels.index[num_labels > 1].tolist()
    labelled = collect_rows(select_values(marked, TEXT, contradicted), [TEXT, "label"])
    columns = (labelled.index.tolist(), labelled[TEXT], labelled["label"])
    texts: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)
    for number, text, label in zip(*columns, strict=True):
        texts[text].append((number, label))
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


def find_near_leaks(rows: RowBatches, split: str, before: Sequence[str]) -> Findings:
    """Do as `find_exact_leaks` for texts that are nearly the same.

    They have one comparison form, or SIMILARITY (Jaccard, of character n-grams), or are among
    the rows by which more texts resemble one of `before` than these resemble each other (see
    `resemblance`). Exact leaks are left out.
    """
    exact = find_exact_leaks(rows, split, before)
    asked = collect_rows(select_splits(rows, [split]), ["compact"])["compact"]
    checked = asked[~asked.index.isin(list(exact))]
    earlier = drop_repeated(select_splits(rows, before), ["compact"])
    same = map_first_ids(earlier, "compact", checked)
    other = sorted(set(checked) - set(same))
    twins = _find_twins(TextColumn(earlier, "compact"), other, SIMILARITY)
    ids = map_first_ids(earlier, "compact", [twin for twin, _ in twins.values()])
    findings: Findings = {}
    for row, text in zip(checked.index.tolist(), checked.tolist(), strict=True):
        if text in same:
            findings[row] = f"same text as {same[text]}, except for case, punctuation or marks"
        elif text in twins:
            twin, score = twins[text]
            findings[row] = f"{score:.0%} similar to {ids[twin]}"
    for row, finding in find_excess(rows, earlier, split, before, SIMILARITY).items():
        if row not in exact:
            findings.setdefault(row, finding)
    return findings


@keep_recent(2)  # the selftest asks about the same two splits dozens of times
def _find_twins(
    known: Texts, checked: Sequence[str], similarity: float
) -> dict[str, tuple[str, float]]:
    """For texts of `checked` with a text of `known` that is similar enough: it, and how similar."""
    return {
        checked[number]: (twin.text, twin.similarity)
        for number, twin in find_twins(checked, known, similarity).items()
    }


def _rename_first(batch: "pa.RecordBatch") -> "pa.RecordBatch":
    return put_column(batch, TEXT, batch[FIRST])
