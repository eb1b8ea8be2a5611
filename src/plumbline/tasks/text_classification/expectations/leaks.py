"""What the leakage gate asks: do examples stand in two splits, though validation let them pass?"""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from plumbline.contract.task import SPLITS, Leak
from plumbline.tasks.text_classification.data import normalise, read
from plumbline.tasks.text_classification.expectations import duplicates
from plumbline.tasks.text_classification.expectations.findings import HELD_OUT, excerpt
from plumbline.tasks.text_classification.params import TextParams

if TYPE_CHECKING:
    import pandas as pd

MAX_EXAMPLES = 5


def leaks(params: TextParams, examples: Path) -> list[Leak]:
    """Texts of validation and test that stand, word for word or nearly, in a split before theirs; and such groups."""
    rows = _rows(examples)
    found = []
    for split, before in HELD_OUT.items():
        total = int((rows["split"] == split).sum())
        near = duplicates.nearly_leaked(
            rows, split, before, params.validation.near_duplicate_similarity
        )
        found += [
            _leak("exact", split, total, rows, duplicates.leaked(rows, split, before)),
            _leak("near", split, total, rows, near),
        ]
        if params.data.split.by == "group" and params.data.split.column in rows:
            known = set(rows.loc[rows["split"].isin(before), params.data.split.column])
            group = rows[params.data.split.column].where(rows["split"] == split)
            found.append(_leak("group", split, total, rows, group.where(group.isin(known), None)))
    return found


def _rows(examples: Path) -> "pd.DataFrame":
    import pandas as pd

    parts = [read(examples, split).to_pandas().assign(split=split) for split in SPLITS]
    rows: pd.DataFrame = pd.concat(parts, ignore_index=True)
    rows["compact"] = rows["text"].map(normalise).str.replace(" ", "")
    return rows


def _leak(
    kind: Literal["exact", "near", "group"],
    split: str,
    total: int,
    rows: "pd.DataFrame",
    found: "pd.Series",
) -> Leak:
    which = found[found.notna()]
    shown = tuple(
        f"{rows['id'][row]} ({excerpt(rows['text'][row])})" for row in which.index[:MAX_EXAMPLES]
    )
    return Leak(kind, split, len(which), total, shown)
