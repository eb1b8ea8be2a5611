"""What happens to a row that cannot be used as it is: a policy drops, repairs or refuses it.

Every row treated so is counted.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from plumbline.contract.errors import DataError
from plumbline.sources.records import ReadRequest, SourcePart, SourceRow
from plumbline.tasks.text_classification.data.generated import GeneratedRow
from plumbline.tasks.text_classification.data.label_cells import LabelCell, LabelCells
from plumbline.tasks.text_classification.data.labels import LabelNames, is_null_like
from plumbline.tasks.text_classification.data.normalisation import digest_text
from plumbline.tasks.text_classification.params import Policies

NUM_PLACES = 5  # how many rows of one kind are kept to be shown
NUM_SPELLINGS = 20


class TextExample(NamedTuple):
    """A row that can be used."""

    id: str
    text: str
    label: str
    labels: tuple[str, ...]  # the same, one by one where a row has a set of labels
    values: tuple[str, ...]  # of the wanted columns after text and label; missing ones are empty
    digest: str
    decoded: bool
    truncated: bool
    noisy: bool | None  # None: only generated data know their true labels


@dataclass
class RowCount:
    """How many rows met one policy, the first of them, and how their values were spelled."""

    num_rows: int = 0
    first: list[str] = field(default_factory=list)
    spellings: Counter[str] = field(default_factory=Counter)

    def add(self, place: str, spelling: str | None = None) -> None:
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

    def build_facts(self, *policies: str) -> dict[str, Any]:
        """Return the counts of `policies`, also those at zero: they show what was looked for."""
        return {policy: self.counts[policy].build_facts() for policy in policies}


def read_examples(
    part: SourcePart,
    policies: Policies,
    request: ReadRequest,
    cells: LabelCells,
    counts: PolicyCounts,
    names: LabelNames | None = None,
) -> Iterator[TextExample]:
    """Yield the rows of `part` that can be used; raises DataError where a policy says refuse.

    Labels are called as `names` says; without it, any label that is not empty is one.
    """
    for row in part.read_rows(request):
        counts.num_rows += 1
        place = f"{part.name}:{row.number}"
        text = row.values[0]
        found = cells.read(row.values[1 : 1 + cells.num_cells], place)
        labels = _find_names(found, names)
        if is_null_like(text) or found is None or labels is None:
            _drop_or_refuse(text, found.text if found else "", place, policies, counts)
            continue
        named = LabelCell(cells.join(labels), labels)
        if named.text != found.text:
            counts.counts["label_respelled"].add(place, found.text)
        values = row.values[1 + cells.num_cells :]
        yield _build_example(place, str(text), named, values, row, policies.max_chars, counts)


def _find_names(found: LabelCell | None, names: LabelNames | None) -> tuple[str, ...] | None:
    """The names of the labels of a row; None where one is missing."""
    if found is None or names is None:
        return found.labels if found else None
    named = [names.names.get(label) for label in found.labels]
    known = [name for name in named if name is not None]
    return tuple(sorted(set(known))) if len(known) == len(named) else None


def _build_example(
    place: str,
    text: str,
    named: LabelCell,
    values: Sequence[str | None],
    row: SourceRow,
    max_chars: int,
    counts: PolicyCounts,
) -> TextExample:
    truncated = len(text) > max_chars
    if truncated:
        text = text[:max_chars]
        counts.counts["truncated"].add(place)
    if row.decoded:
        counts.counts["decoded"].add(place)
    if "\0" in text:
        counts.counts["nul_kept"].add(place)
    complete = tuple(value or "" for value in values)
    noisy = row.noisy if isinstance(row, GeneratedRow) else None
    return TextExample(
        place,
        text,
        named.text,
        named.labels,
        complete,
        digest_text(text),
        row.decoded,
        truncated,
        noisy,
    )


def _drop_or_refuse(
    text: str | None, label: str | None, place: str, policies: Policies, counts: PolicyCounts
) -> None:
    """Count the row under the first of its columns that is null, or refuse it."""
    if is_null_like(text):
        column, value = "text", text
    else:
        column, value = "label", label
    spelling = (value or "").strip()
    if policies.nulls == "refuse":
        fault = f"null-like ({spelling!r})" if spelling else "empty"
        raise DataError(
            f"{place}: the {column} is {fault}; fill it in, or set data.policies.nulls: drop"
        )
    counts.counts[f"null_{column}"].add(place, spelling)
