"""What the leakage gate asks: are examples in two splits, although validation accepted them?"""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from plumbline.contract.records import Leak
from plumbline.contract.task import SPLITS
from plumbline.tasks.text_classification.data import normalise, read_split
from plumbline.tasks.text_classification.expectations import duplicates
from plumbline.tasks.text_classification.expectations.findings import HELD_OUT, make_excerpt
from plumbline.tasks.text_classification.params import TextParams

if TYPE_CHECKING:
    import pandas as pd

MAX_EXAMPLES = 5


def find_leaks(params: TextParams, examples: Path) -> list[Leak]:
    """Find texts of validation and test that are, exactly or nearly, in a split before theirs.

    Where splits go by group, groups that are in two splits are leaks as well.
    """
    rows = _read_rows(examples)
    similarity = params.validation.near_duplicate_similarity
    leaks = []
    for split, before in HELD_OUT.items():
        exact = duplicates.find_exact_leaks(rows, split, before)
        leaks.append(_build_leak("exact", split, rows, exact))
        near = duplicates.find_near_leaks(rows, split, before, similarity)
        leaks.append(_build_leak("near", split, rows, near))
        column = params.data.split.column
        if params.data.split.by == "group" and column in rows:
            known = set(rows.loc[rows["split"].isin(before), column])
            groups = rows[column].where(rows["split"] == split)
            shared = groups.where(groups.isin(known), None)
            leaks.append(_build_leak("group", split, rows, shared))
    return leaks


def _read_rows(examples: Path) -> "pd.DataFrame":
    import pandas as pd

    tables = [read_split(examples, split).to_pandas().assign(split=split) for split in SPLITS]
    rows: pd.DataFrame = pd.concat(tables, ignore_index=True)
    rows["compact"] = rows["text"].map(normalise).str.replace(" ", "")
    return rows


def _build_leak(
    kind: Literal["exact", "near", "group"],
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
