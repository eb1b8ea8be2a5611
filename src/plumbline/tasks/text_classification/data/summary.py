"""What was read, in numbers and plain sentences: the content of data/source.json."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from plumbline.contract.errors import DataError
from plumbline.contract.task import SPLITS
from plumbline.sources.source_part import SourcePart
from plumbline.tasks.text_classification.data.label_sets import split_labels
from plumbline.tasks.text_classification.data.policies import PolicyCounts
from plumbline.tasks.text_classification.params import TextParams

if TYPE_CHECKING:
    import pyarrow as pa

POLICY_SENTENCES = {
    "null_text": "dropped for an empty or null-like text",
    "null_label": "dropped for an empty or null-like label",
    "copy": "dropped from validation or test for a text and label that an earlier row of it has",
    "leaked": "dropped for a text that is in a later split",
    "label_respelled": "whose label lost blanks around it, or got the spelling of an equal number",
    "truncated": "cut to data.policies.max_chars",
    "nul_kept": "with NUL characters, which were kept",
}


class Summary:
    """Counts of examples, taken while they are written."""

    def __init__(self, *, has_sets: bool) -> None:
        self._has_sets = has_sets
        self.splits: Counter[str] = Counter()
        self.noisy: Counter[str] = Counter()
        self.classes: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def add(self, rows: "pa.RecordBatch") -> None:
        """Count rows, as `RowDivision` returns them."""
        kinds = Counter(
            zip(*(rows[name].to_pylist() for name in ("split", "label", "noisy")), strict=True)
        )
        for (split, text, noisy), num_rows in kinds.items():
            self.splits[split] += num_rows
            self.noisy[split] += num_rows * bool(noisy)
            for label in split_labels(text) if self._has_sets else (text,):
                self.classes[label][split] += num_rows

    def build_facts(
        self,
        params: TextParams,
        parts: list[SourcePart],
        counts: PolicyCounts,
        notices: list[str],
    ) -> dict[str, Any]:
        """Return all of it, fit for JSON; raises DataError where train has no row."""
        if not self.splits["train"]:
            names = ", ".join(part.name for part in parts)
            usable = f"{self.splits.total():,} of {counts.num_rows:,} rows could be used"
            raise DataError(
                f"{names}: no row for the train split ({usable}); check the shares under data.split"
            )
        facts: dict[str, Any] = {
            "sources": [part.facts for part in parts],
            "rows_read": counts.num_rows,
            "rows_kept": self.splits.total(),
            "dropped": counts.build_facts("null_text", "null_label", "copy", "leaked"),
            "changed": counts.build_facts("decoded", "truncated", "nul_kept", "label_respelled"),
            "splits": {split: self.splits[split] for split in SPLITS},
            "classes": {label: dict(self.classes[label]) for label in sorted(self.classes)},
        }
        facts["notices"] = [*notices, *self._describe(counts)]
        if params.data.source == "generated":
            facts["generated"] = self._measure_noise(params)
        return facts

    def _describe(self, counts: PolicyCounts) -> Iterator[str]:
        """Yield a sentence for everything that a person should look at."""
        for policy, sentence in POLICY_SENTENCES.items():
            count = counts.counts[policy]
            if count.num_rows:
                values = ", ".join(repr(value) for value in count.spellings if value)
                spelled = f" ({values})" if values else ""
                yield (f"rows {sentence}: {count.num_rows:,}{spelled}, first at {count.first[0]}")
        for split in SPLITS:
            if not self.splits[split]:
                yield f"no row in {split}; check data.split, and how similar the rows are"
        num_numbers = sum(map(_is_number, self.classes))
        if num_numbers == len(self.classes):
            yield "labels are numbers; they are taken as names of classes, without order"
        elif num_numbers:
            yield (
                f"{num_numbers} of {len(self.classes)} labels are numbers, the others are words; "
                "does one file number its classes?"
            )

    def _measure_noise(self, params: TextParams) -> dict[str, Any]:
        """The share of labels that are not the true ones, and so what a perfect model scores."""
        ceiling = {}
        for split in SPLITS:
            if self.splits[split]:
                ceiling[split] = 1 - self.noisy[split] / self.splits[split]
        return {
            "label_noise": params.data.generated.label_noise,
            "drift": params.data.generated.drift,
            "noisy_share": self.noisy.total() / self.splits.total(),
            "ceiling": ceiling,
        }


def _is_number(label: str) -> bool:
    return label.strip().removeprefix("-").replace(".", "", 1).isdecimal()
