"""What a check needs to see of each row, as computed columns beside those of the manifest.

Most columns hold a finding, a few words on what is wrong with a row, or null; so a check is that the column is null in
all but a share of rows, and what Great Expectations counts and lists is what a person reads.
"""

import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.contract.errors import ParamsError
from plumbline.contract.task import SPLITS
from plumbline.tasks.text_classification.data import normalise, read
from plumbline.tasks.text_classification.expectations import drift, duplicates, labels, personal
from plumbline.tasks.text_classification.params import TextParams

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ["id", "split", "label", "length", "decoded", "truncated"]  # of the manifest
HELD_OUT = {
    "validation": ("train",),
    "test": ("train", "validation"),
}  # split -> those whose texts it must not repeat
MAX_EXCERPT = 100
UNSHOWN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)  # would disturb a terminal or page


def table(
    params: TextParams, examples: Path, manifest: "pd.DataFrame", facts: Mapping[str, Any]
) -> "pd.DataFrame":
    """One row per example: the manifest's own columns, the text, and a column for each check that needs one.

    Raises DataError where examples are not those of the manifest, ParamsError where the reference cannot be read.
    """
    limits = params.validation
    rows = _with_texts(manifest, examples)
    rows["excerpt"] = rows["text"].map(excerpt)
    rows["dropped_share"] = sum(count["rows"] for count in facts["dropped"].values()) / max(
        1, facts["rows_read"]
    )
    rows["encoding"] = rows["decoded"].map({True: "bytes that are not UTF-8"}).astype(object)
    rows["cut"] = (
        rows["truncated"]
        .map({True: f"cut to {params.data.policies.max_chars} characters"})
        .astype(object)
    )
    rows["blanks"] = rows["normal"].map(_blank)
    rows["rare_labels"] = labels.rare(rows, limits.min_rows_per_class)
    rows["unseen_labels"] = labels.unseen(rows)
    rows["continuous_labels"] = labels.fractional(rows)
    rows["near_identical_labels"] = labels.near_identical(rows)
    rows["duplicates"] = duplicates.repeated(rows)
    rows["conflicting_duplicates"] = duplicates.conflicting(rows)
    known = drift.Vocabulary(rows.loc[rows["split"] == "train", "normal"].tolist())
    rows["unknown_words"] = known.excess(rows["normal"].tolist())
    for split, before in HELD_OUT.items():
        rows[f"leakage_{split}"] = duplicates.leaked(rows, split, before)
        near = duplicates.nearly_leaked(rows, split, before, limits.near_duplicate_similarity)
        rows[f"near_duplicates_{split}"] = near
    rows["personal_data"] = [", ".join(personal.kinds(text)) or None for text in rows["text"]]
    suspects = labels.suspects(rows, params.seed)
    rows["judged"] = rows.index.isin(suspects.index).astype(int)
    rows["label_noise"] = suspects["suspect"].reindex(rows.index).astype(object)
    if limits.reference is not None:
        _compare(rows, Path(limits.reference))
    return rows


def excerpt(text: str) -> str:
    """The start of `text` as it may be shown: personal data masked, control characters visible."""
    shown = personal.masked(text[: 4 * MAX_EXCERPT])
    return UNSHOWN.sub(
        "\N{REPLACEMENT CHARACTER}",
        shown if len(shown) <= MAX_EXCERPT else shown[:MAX_EXCERPT] + "…",
    )


def _with_texts(manifest: "pd.DataFrame", examples: Path) -> "pd.DataFrame":
    import pandas as pd

    texts = pd.concat([read(examples, split, ["id", "text"]).to_pandas() for split in SPLITS])
    rows = manifest[COLUMNS].merge(texts, on="id", how="left", validate="one_to_one")
    rows["normal"] = rows["text"].map(normalise)
    rows["compact"] = rows["normal"].str.replace(" ", "")
    return rows


def _blank(normal: str) -> str | None:
    signs = [
        c for c in normal if unicodedata.category(c)[0] in "LNS"
    ]  # letters, numbers, symbols (emoji)
    return None if len(signs) > 1 else "blank" if not signs else "one character"


def _compare(rows: "pd.DataFrame", reference: Path) -> None:
    """Add to `rows` how far they lie from those of an earlier ingest."""
    import pandas as pd

    try:
        manifest = pd.read_parquet(reference, columns=COLUMNS)
    except (OSError, ValueError) as error:
        raise ParamsError(f"validation.reference: {reference} cannot be read ({error})") from None
    before = _with_texts(manifest, reference.parent / "examples")
    before = before[before["split"] == "train"]
    rows["label_drift"] = drift.label_distance(before["label"], rows["label"])
    rows["length_drift"] = drift.length_distance(before["length"], rows["length"])
    rows["new_words"] = drift.Vocabulary(before["normal"].tolist()).excess(rows["normal"].tolist())
