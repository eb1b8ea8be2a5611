"""What happens to a row that cannot be used as it is: a policy drops, repairs or refuses it.

Every row treated so is counted.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from plumbline.contract.errors import DataError

NUM_PLACES = 5  # how many rows of one kind are kept to be shown
NUM_SPELLINGS = 20


@dataclass
class RowCount:
    """How many rows met one policy, the first of them, and how their values were spelled."""

    num_rows: int = 0
    first: list[str] = field(default_factory=list)
    spellings: Counter[str] = field(default_factory=Counter)

    def add(self, place: str, spelling: str | None) -> None:
        """Count the row at `place`."""
        self.num_rows += 1
        if len(self.first) < NUM_PLACES:
            self.first.append(place)
        if spelling is None:
            return
        if spelling in self.spellings or len(self.spellings) < NUM_SPELLINGS:
            self.spellings[spelling] += 1

    def build_facts(self) -> dict[str, Any]:
        """Return the count as data/source.json has it."""
        facts: dict[str, Any] = {"rows": self.num_rows, "first": self.first}
        if self.spellings:
            facts["found"] = dict(self.spellings)
        return facts


@dataclass
class PolicyCounts:
    """How many rows were read, and how many met which policy."""

    num_rows: int = 0
    counts: defaultdict[str, RowCount] = field(default_factory=lambda: defaultdict(RowCount))

    def add_rows(self, policy: str, places: Iterable[str], spellings: Iterable[str | None]) -> None:
        """Count rows that met a policy, in order."""
        for place, spelling in zip(places, spellings, strict=True):
            self.counts[policy].add(place, spelling)

    def build_facts(self, *policies: str) -> dict[str, Any]:
        """Return the counts of `policies`, also those at zero: they show what was looked for."""
        return {policy: self.counts[policy].build_facts() for policy in policies}


def refuse_null(column: str, spelling: str, place: str) -> DataError:
    """Return the error for a row without a text or label, where data.policies.nulls is refuse."""
    fault = f"null-like ({spelling!r})" if spelling else "empty"
    return DataError(
        f"{place}: the {column} is {fault}; fill it in, or set data.policies.nulls: drop"
    )
