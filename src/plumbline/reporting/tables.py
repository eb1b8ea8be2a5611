"""Tables of the report: worst mistakes, examples won and lost, cells as a person reads them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from plumbline.contract.records import Candidate
from plumbline.contract.task import Columns
from plumbline.reporting.html import format_name

if TYPE_CHECKING:
    import pandas as pd

NUM_MISTAKES = 20
NUM_ITEMS = 6  # of a signal that are shown


def list_mistakes(winner: Candidate, inputs: Columns, metric: Mapping[str, Any]) -> "pd.DataFrame":
    """List the worst answers on validation: the input, and all that is known of the answer.

    `inputs` are the predictor's columns, in the order of the winner's scores there. Rows of the
    test split are not shown: who knows them can learn them by heart.
    """
    import pandas as pd

    table = pd.DataFrame(dict(inputs) | winner.validation.per_example)
    if "id" in table:  # the last column
        table = table[[*table.columns.drop("id"), "id"]]
    name = metric["name"]
    if metric["kind"] == "binary":
        wrong: pd.DataFrame = table[table[name] == 0].drop(columns=name)
        by = "nll" if "nll" in table else "id"
        ascending = False
    else:
        wrong = table
        by = name
        ascending = metric["higher_is_better"]
    if by in wrong:
        wrong = wrong.sort_values(by, ascending=ascending, kind="stable")
    return wrong.head(NUM_MISTAKES)


def build_flip_tables(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """Build the tables of won and lost examples: how many there are, and those that are listed."""
    import pandas as pd

    flips = evidence["flips"]
    if not flips:
        return {}
    names = {"ours": evidence["winner"], "theirs": "champion"}
    is_binary = evidence["metric"]["kind"] == "binary"
    tables = {}
    for kind in ("won", "lost"):
        rows = pd.DataFrame(flips[kind])
        if is_binary:  # these are always 1 and 0
            rows = rows.drop(columns=[*names], errors="ignore")
        rows.columns = [_name_owner(str(column), names) for column in rows]
        tables[kind] = {"count": flips[f"num_{kind}"], **format_table(rows)}
    return tables


def format_table(table: "pd.DataFrame") -> dict[str, Any]:
    """Return column names, and rows of text and rounded numbers."""
    rows = []
    for values in table.itertuples(index=False):
        rows.append([_format_cell(value) for value in values])
    return {"columns": [format_name(str(name)) for name in table.columns], "rows": rows}


def _name_owner(column: str, names: Mapping[str, str]) -> str:
    """Return 'predicted by minilm' for 'ours_predicted', 'minilm' for 'ours'."""
    owner, _, measure = column.partition("_")
    name = names.get(owner)
    if name and measure:
        return f"{measure}_by_{name}"
    return name or column


def _format_cell(value: Any) -> str | float | int:
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value)
    if isinstance(value, list) and len(value) > NUM_ITEMS and isinstance(value[0], float):
        shown = ", ".join(f"{item:.4g}" for item in value[:NUM_ITEMS])
        return f"{shown}, ... ({len(value):,} in all)"
    return str(value)
