"""What happens to a row that cannot be used as it is: a policy drops, repairs or refuses it.

Every row treated so is counted.
"""

from dataclasses import dataclass
from typing import Any

from plumbline.contract.errors import DataError
from plumbline.tables.rows import StoredRows

NUM_PLACES = 5  # how many rows of one kind are kept to be shown
NUM_SPELLINGS = 20
LEAKED = "id || ' (as ' || later || ')'"
STRIPPED = r"""regexp_replace("#found", '^[\s\pZ]+|[\s\pZ]+$', '', 'g')"""
# policy -> which rows of the view `counted` met it, what is shown of each, how they were spelled
POLICIES = {
    "null_text": ("policy = 'null_text'", "id", "text"),
    "null_label": ("policy = 'null_label'", "id", STRIPPED),
    "label_respelled": ('label <> "#found"', "id", '"#found"'),
    "truncated": ("policy IS NULL AND truncated", "id", "NULL"),
    "decoded": ("policy IS NULL AND decoded", "id", "NULL"),
    "nul_kept": ('policy IS NULL AND "#nul"', "id", "NULL"),
    "copy": ("is_copy", "id", "NULL"),
    "chosen": ("is_barred", "id", "NULL"),
    "leaked": ("later IS NOT NULL", LEAKED, "NULL"),
}
COUNT = "SELECT count(*) AS size FROM counted WHERE {condition}"
FIRST = 'SELECT {place} FROM counted WHERE {condition} ORDER BY "#row" LIMIT {limit}'
SPELLINGS = """
    SELECT {spelling} AS spelling, count(*) FROM counted
    WHERE {condition} AND spelling IS NOT NULL GROUP BY spelling ORDER BY min("#row") LIMIT {limit}
"""


@dataclass(frozen=True)
class RowCount:
    """How many rows met one policy, the first of them, and how their values were spelled."""

    num_rows: int
    first: list[str]
    spellings: dict[str, int]

    def build_facts(self) -> dict[str, Any]:
        """Return the count as data/source.json has it."""
        facts: dict[str, Any] = {"rows": self.num_rows, "first": self.first}
        if self.spellings:
            facts["found"] = self.spellings
        return facts


def count_policies(rows: StoredRows) -> dict[str, RowCount]:
    """Count the rows that met each policy, also those that none met: they show what was sought."""
    counts = {}
    for policy, (condition, place, spelling) in POLICIES.items():
        num_rows = int(rows.query(COUNT.format(condition=condition))["size"][0])
        first = rows.query(FIRST.format(place=place, condition=condition, limit=NUM_PLACES))
        spellings = rows.query(
            SPELLINGS.format(spelling=spelling, condition=condition, limit=NUM_SPELLINGS)
        )
        found = dict(spellings.itertuples(index=False, name=None))
        counts[policy] = RowCount(num_rows, first.iloc[:, 0].tolist(), found)
    return counts


def refuse_null(column: str, spelling: str, place: str) -> DataError:
    """Return the error for a row without a text or label, where data.policies.nulls is refuse."""
    fault = f"null-like ({spelling!r})" if spelling else "empty"
    return DataError(
        f"{place}: the {column} is {fault}; fill it in, or set data.policies.nulls: drop"
    )
