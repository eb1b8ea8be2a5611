"""What a check needs to see of each row, as computed columns beside those of the manifest.

Most columns hold a finding, a few words on what is wrong with a row, or null. So a check is that
the column is null in all but a share of rows, and what Great Expectations counts and lists is what
a person reads.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.contract.errors import ParamsError
from plumbline.contract.task import SPLITS
from plumbline.tasks.text_classification.data import normalise, read_split
from plumbline.tasks.text_classification.expectations import (
    duplicates,
    giveaways,
    labels,
    recognition,
)
from plumbline.tasks.text_classification.expectations.drift import (
    Vocabulary,
    measure_label_distance,
    measure_length_distance,
)
from plumbline.tasks.text_classification.expectations.each_label import (
    count_labels,
    join_findings,
    list_each_label,
)
from plumbline.tasks.text_classification.expectations.personal import (
    find_personal_data,
    mask_personal_data,
)
from plumbline.tasks.text_classification.params import TextParams

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ["id", "split", "label", "length", "decoded", "truncated"]  # of the manifest
# Held-out split -> the splits whose texts it must not repeat.
HELD_OUT = {"validation": ("train",), "test": ("train", "validation")}
MAX_EXCERPT = 100
# Control and direction characters, which would disturb a terminal or a page.
UNSHOWN = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def build_table(
    params: TextParams, examples: Path, manifest: "pd.DataFrame", facts: Mapping[str, Any]
) -> "pd.DataFrame":
    """Return one row per example: manifest, text, and a column for each check that needs one.

    Raises DataError where examples are not those of the manifest, ParamsError where the reference
    cannot be read.
    """
    metadata = [column for column in params.data.columns.metadata if column in manifest]
    rows = _join_texts(manifest, examples, metadata)
    _add_ingest_findings(rows, params, facts)
    _add_label_findings(rows, params)
    _add_duplicate_findings(rows, params)
    for split, before in HELD_OUT.items():
        rows[f"groups_{split}"] = recognition.find_shared_groups(rows, params, split, before)
    train_words = Vocabulary(rows.loc[rows["split"] == "train", "normal"].tolist())
    rows["unknown_words"] = train_words.measure_excess(rows["normal"].tolist())
    rows["personal_data"] = [", ".join(find_personal_data(text)) or None for text in rows["text"]]
    if params.validation.reference is not None:
        _add_drift(rows, Path(params.validation.reference))
    return rows


def make_excerpt(text: str) -> str:
    """Return the start of `text` as it may be shown.

    Personal data is masked, and control characters are visible.
    """
    shown = mask_personal_data(text[: 4 * MAX_EXCERPT])
    if len(shown) > MAX_EXCERPT:
        shown = shown[:MAX_EXCERPT] + "…"
    return UNSHOWN.sub("\N{REPLACEMENT CHARACTER}", shown)


def _join_texts(
    manifest: "pd.DataFrame", examples: Path, metadata: Sequence[str] = ()
) -> "pd.DataFrame":
    import pandas as pd

    tables = [read_split(examples, split, ["id", "text"]).to_pandas() for split in SPLITS]
    columns = list(dict.fromkeys([*COLUMNS, *metadata]))
    rows = manifest[columns].merge(pd.concat(tables), on="id", how="left", validate="one_to_one")
    rows["normal"] = rows["text"].map(normalise)
    rows["compact"] = rows["normal"].str.replace(" ", "")
    return rows


def _add_ingest_findings(
    rows: "pd.DataFrame", params: TextParams, facts: Mapping[str, Any]
) -> None:
    """Add what ingest dropped and changed, and texts that say nothing."""
    rows["excerpt"] = rows["text"].map(make_excerpt)
    num_dropped = sum(facts["dropped"][name]["rows"] for name in ("null_text", "null_label"))
    rows["dropped_share"] = num_dropped / max(1, facts["rows_read"])
    rows["encoding"] = rows["decoded"].map({True: "bytes that are not UTF-8"}).astype(object)
    cut = f"cut to {params.data.policies.max_chars} characters"
    rows["cut"] = rows["truncated"].map({True: cut}).astype(object)
    rows["blanks"] = rows["normal"].map(_describe_blank)


def _add_label_findings(rows: "pd.DataFrame", params: TextParams) -> None:
    has_sets = params.data.columns.has_label_sets
    each = list_each_label(rows[["split", "label", "normal"]]) if has_sets else rows
    findings = {
        "rare_labels": labels.find_rare_labels(each, params.validation.min_rows_per_class),
        "unseen_labels": labels.find_unseen_labels(each),
        **{f"absent_labels_{split}": labels.find_absent_labels(each, split) for split in HELD_OUT},
        "continuous_labels": labels.find_measured_values(each),
        "label_words": giveaways.find_label_words(each, rows),
        "near_identical_labels": labels.find_spelling_variants(each),
    }
    for name, found in findings.items():
        rows[name] = join_findings(found, rows) if has_sets else found
    if has_sets:
        rows["num_labels"] = count_labels(each, rows)
        return
    noise = labels.find_label_noise(rows, params.seed)
    rows["judged"] = rows.index.isin(noise.index).astype(int)
    rows["label_noise"] = noise["suspect"].reindex(rows.index).astype(object)


def _add_duplicate_findings(rows: "pd.DataFrame", params: TextParams) -> None:
    similarity = params.validation.near_duplicate_similarity
    rows["duplicates"] = duplicates.find_copies(rows)
    rows["conflicting_duplicates"] = duplicates.find_conflicts(rows)
    for split, before in HELD_OUT.items():
        rows[f"leakage_{split}"] = duplicates.find_exact_leaks(rows, split, before)
        near = duplicates.find_near_leaks(rows, split, before, similarity)
        rows[f"near_duplicates_{split}"] = near


def _describe_blank(normal: str) -> str | None:
    # letters, numbers, symbols (emoji)
    signs = [char for char in normal if unicodedata.category(char)[0] in "LNS"]
    if not signs:
        return "blank"
    return "one character" if len(signs) == 1 else None


def _add_drift(rows: "pd.DataFrame", reference: Path) -> None:
    """Add how different `rows` are from those of an earlier ingest."""
    import pandas as pd

    try:
        manifest = pd.read_parquet(reference, columns=COLUMNS)
    except (OSError, ValueError) as error:
        raise ParamsError(f"validation.reference: {reference} cannot be read ({error})") from None
    before = _join_texts(manifest, reference.parent / "examples")
    before = before[before["split"] == "train"]
    rows["label_drift"] = measure_label_distance(before["label"], rows["label"])
    rows["length_drift"] = measure_length_distance(before["length"], rows["length"])
    known_words = Vocabulary(before["normal"].tolist())
    rows["new_words"] = known_words.measure_excess(rows["normal"].tolist())
