"""What the leakage gate asks: are examples in two splits, although validation accepted them?"""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from plumbline.contract.records import Leak
from plumbline.contract.task import SPLITS
from plumbline.tasks.text_classification.data import normalise, read_split
from plumbline.tasks.text_classification.expectations import duplicates, recognition
from plumbline.tasks.text_classification.expectations.findings import HELD_OUT, make_excerpt
from plumbline.tasks.text_classification.params import TextParams

if TYPE_CHECKING:
    import pandas as pd

MAX_EXAMPLES = 5


def find_leaks(params: TextParams, examples: Path) -> list[Leak]:
    """Find texts of validation and test that are, exactly or nearly, in a split before theirs.

    So are groups in two splits, where splits go by group, and values of metadata or numbers in the
    texts that come back with the label that they had.
    """
    rows = _read_rows(examples)
    similarity = params.validation.near_duplicate_similarity
    leaks = []
    for split, before in HELD_OUT.items():
        exact = duplicates.find_exact_leaks(rows, split, before)
        leaks.append(_build_leak("exact", split, rows, exact))
        near = duplicates.find_near_leaks(rows, split, before, similarity)
        leaks.append(_build_leak("near", split, rows, near))
        leaks.append(_build_leak("copy", split, rows, _find_copies(rows, split)))
        groups = recognition.find_shared_groups(rows, params, split, before)
        leaks.append(_build_leak("group", split, rows, groups))
    return leaks


def _read_rows(examples: Path) -> "pd.DataFrame":
    import pandas as pd

    tables = [read_split(examples, split).to_pandas().assign(split=split) for split in SPLITS]
    rows: pd.DataFrame = pd.concat(tables, ignore_index=True)
    rows["normal"] = rows["text"].map(normalise)
    rows["compact"] = rows["normal"].str.replace(" ", "")
    return rows


def _find_copies(rows: "pd.DataFrame", split: str) -> "pd.Series":
    is_copy = rows.duplicated(["split", "label", "compact"]) & (rows["split"] == split)
    return rows["id"].where(is_copy, None)


def _build_leak(
    kind: Literal["exact", "near", "group", "copy"],
    split: str,
    rows: "pd.DataFrame",
    findings: "pd.Series",
) -> Leak:
    total = int((rows["split"] == split).sum())
    leaked = findings[findings.notna()].index
    shown = []
    for row in leaked[:MAX_EXAMPLES]:
        shown.append(f"{rows['id'][row]} ({make_excerpt(rows['text'][row])})")
    return Leak(kind, split, len(leaked), total, tuple(shown))
