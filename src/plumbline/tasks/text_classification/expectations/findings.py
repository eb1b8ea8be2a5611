"""What a check needs to see of each row, as computed columns beside those of the manifest.

Most columns hold a finding, a few words on what is wrong with a row, or null. So a check is that
the column is null in all but a share of rows, and what Great Expectations counts and lists is what
a person reads. Rows are in a database: what must be known of all of them is asked first.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.tables.manifest_file import Manifest
from plumbline.tables.rows import ROW, StoredRows
from plumbline.tasks.text_classification.data.label_sets import choose_list_labels
from plumbline.tasks.text_classification.expectations import (
    duplicates,
    giveaways,
    labels,
    recognition,
)
from plumbline.tasks.text_classification.expectations.labels import (
    count_labels,
    find_first_finding,
)
from plumbline.tasks.text_classification.expectations.personal import (
    find_personal_data,
    mask_personal_data,
)
from plumbline.tasks.text_classification.expectations.text_rows import read_manifest_rows
from plumbline.tasks.text_classification.expectations.vocabulary import build_vocabulary
from plumbline.tasks.text_classification.params import TextParams

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = ["id", "split", "label", "length", "decoded", "truncated"]  # of the manifest
# Held-out split -> the splits whose texts it must not repeat.
HELD_OUT = {"validation": ("train",), "test": ("train", "validation")}
MAX_EXCERPT = 100
# Of the comparison form, checks ask only whether it is another.
READ_ALL = "SELECT * REPLACE (hash(compact)::VARCHAR AS compact) FROM rows WHERE {part}"
# Control and direction characters, which would disturb a terminal or a page.
UNSHOWN = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
Values = Mapping[str, Sequence[Any]]  # columns of a batch
AddFindings = Callable[[Values], dict[str, list[Any]]]


def build_table(
    params: TextParams, examples: Path, manifest: Manifest, facts: Mapping[str, Any]
) -> "Iterator[pa.RecordBatch]":
    """Yield one row per example: COLUMNS, text, and a column for each check that needs one."""
    rows = read_manifest_rows(manifest, examples, COLUMNS, params.data.columns.metadata)
    has_sets = params.data.columns.has_label_sets
    sizes = count_labels(rows, choose_list_labels(has_sets))
    finders = [
        _plan_ingest_findings(params, facts),
        _plan_label_findings(rows, sizes, params),
        _plan_row_findings(rows, params),
        _plan_word_findings(rows),
    ]
    if not has_sets:
        finders.append(_plan_label_noise(rows, sizes, params.seed))
    return (_add_findings(batch, finders) for batch in rows.read_parts(READ_ALL))


def make_excerpt(text: str) -> str:
    """Return the start of `text` as it may be shown.

    Personal data is masked, and control characters are visible.
    """
    shown = mask_personal_data(text[: 4 * MAX_EXCERPT])
    if len(shown) > MAX_EXCERPT:
        shown = shown[:MAX_EXCERPT] + "…"
    return UNSHOWN.sub("\N{REPLACEMENT CHARACTER}", shown)


def _add_findings(batch: "pa.RecordBatch", finders: Sequence[AddFindings]) -> "pa.RecordBatch":
    """Return what was found beside the task's own columns, without metadata and forms of texts."""
    import pyarrow as pa

    values = batch.to_pydict()
    columns = {name: batch[name] for name in [*COLUMNS, "text", "compact"]}
    for find in finders:
        for name, found in find(values).items():
            kind = pa.string() if all(isinstance(each, str | None) for each in found) else None
            columns[name] = pa.array(found, kind)
    return pa.record_batch(columns)


def _plan_ingest_findings(params: TextParams, facts: Mapping[str, Any]) -> AddFindings:
    """Plan to say what ingest dropped and changed, which texts say nothing, and which too much."""
    num_dropped = sum(facts["dropped"][name]["rows"] for name in ("null_text", "null_label"))
    dropped_share = num_dropped / max(1, facts["rows_read"])
    cut = f"cut to {params.data.policies.max_chars} characters"

    def find(values: Values) -> dict[str, list[Any]]:
        texts = values["text"]
        return {
            "excerpt": list(map(make_excerpt, texts)),
            "dropped_share": [dropped_share] * len(texts),
            "encoding": ["bytes that are not UTF-8" if is_ else None for is_ in values["decoded"]],
            "cut": [cut if is_cut else None for is_cut in values["truncated"]],
            "blanks": list(map(_describe_blank, values["normal"])),
            "personal_data": [", ".join(find_personal_data(text)) or None for text in texts],
        }

    return find


def _plan_label_findings(
    rows: StoredRows, sizes: labels.LabelSizes, params: TextParams
) -> AddFindings:
    """Plan to say what is wrong with labels: of a row with several, with the first such one."""
    has_sets = params.data.columns.has_label_sets
    list_labels = choose_list_labels(has_sets)
    words = giveaways.find_label_words(rows, list_labels)
    of_train = {
        "rare_labels": labels.find_rare_labels(sizes, params.validation.min_rows_per_class),
        **{f"absent_labels_{split}": labels.find_absent_labels(sizes, split) for split in HELD_OUT},
    }
    of_all = {
        "unseen_labels": labels.find_unseen_labels(sizes),
        "continuous_labels": labels.find_measured_values(sizes),
        "near_identical_labels": labels.find_spelling_variants(sizes),
    }
    num_labels = Counter(split for split, _ in sizes)

    def find(values: Values) -> dict[str, list[Any]]:
        own = list(map(list_labels, values["label"]))
        in_train = [split == "train" for split in values["split"]]
        columns: dict[str, list[Any]] = {}
        for name, findings in of_all.items():
            columns[name] = [find_first_finding(findings, each) for each in own]
        for name, findings in of_train.items():
            given = [find_first_finding(findings, each) for each in own]
            columns[name] = _keep(given, in_train)
        signs = [giveaways.describe_label_words(words, text) for text in values["normal"]]
        columns["label_words"] = _keep(signs, in_train)
        if has_sets:
            columns["num_labels"] = [num_labels[split] for split in values["split"]]
        return columns

    return find


def _plan_label_noise(rows: StoredRows, sizes: labels.LabelSizes, seed: int) -> AddFindings:
    """Plan to say which labels a model contradicts, and of which rows it was asked."""
    noise = labels.find_label_noise(rows, sizes, seed)

    def find(values: Values) -> dict[str, list[Any]]:
        judged = [int(row in noise) for row in values[ROW]]
        suspects = list(map(noise.get, values[ROW]))
        return {"judged": judged, "label_noise": suspects}

    return find


def _plan_row_findings(rows: StoredRows, params: TextParams) -> AddFindings:
    """Plan to say of which other row a row is a copy, and what gives it away."""
    findings = {
        "duplicates": duplicates.find_copies(rows),
        "conflicting_duplicates": duplicates.find_conflicts(rows),
    }
    for split, before in HELD_OUT.items():
        findings |= {
            f"leakage_{split}": duplicates.find_exact_leaks(rows, split, before),
            f"near_duplicates_{split}": duplicates.find_near_leaks(rows, split, before),
            f"groups_{split}": recognition.find_shared_groups(rows, params, split, before),
        }

    def find(values: Values) -> dict[str, list[Any]]:
        return {name: list(map(found.get, values[ROW])) for name, found in findings.items()}

    return find


def _plan_word_findings(rows: StoredRows) -> AddFindings:
    known = build_vocabulary(rows)
    return lambda values: {"unknown_words": known.measure_excess(values["normal"])}


def _keep(findings: Sequence[str | None], is_kept: Sequence[bool]) -> list[str | None]:
    return [finding if keep else None for finding, keep in zip(findings, is_kept, strict=True)]


def _describe_blank(normal: str) -> str | None:
    # letters, numbers, symbols (emoji)
    signs = [char for char in normal if unicodedata.category(char)[0] in "LNS"]
    if not signs:
        return "blank"
    return "one character" if len(signs) == 1 else None
