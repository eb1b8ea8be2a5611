"""What was read, in numbers and plain sentences: the content of data/source.json."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from plumbline.contract.errors import DataError
from plumbline.contract.task import SPLITS
from plumbline.sources.source_part import SourcePart
from plumbline.tasks.text_classification.data.label_cells import LabelCells
from plumbline.tasks.text_classification.data.policies import RowCount
from plumbline.tasks.text_classification.params import TextParams

if TYPE_CHECKING:
    import pandas as pd

POLICY_SENTENCES = {
    "null_text": "dropped for an empty or null-like text",
    "null_label": "dropped for an empty or null-like label",
    "copy": "dropped from validation or test for a text and label that an earlier row of it has",
    "chosen": "kept out of validation and test, as somebody chose which of these get a label",
    "leaked": "dropped for a text that is in a later split",
    "label_respelled": "whose label lost blanks around it, or got the spelling of an equal number",
    "truncated": "cut to data.policies.max_chars",
    "nul_kept": "with NUL characters, which were kept",
}
DROPPED = ("null_text", "null_label", "copy", "chosen", "leaked")
CHANGED = ("decoded", "truncated", "nul_kept", "label_respelled")


class Summary:
    """Counts of examples, from a table of split, label, whether that is noise, origin, and rows."""

    def __init__(self, kinds: "pd.DataFrame", cells: LabelCells) -> None:
        self.splits: Counter[str] = Counter()
        self.noisy: Counter[str] = Counter()
        self.classes: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.outcomes: dict[str, Counter[str]] = {split: Counter() for split in SPLITS}
        for split, text, noisy, origin, num_rows in kinds.itertuples(index=False, name=None):
            self.splits[split] += num_rows
            self.noisy[split] += num_rows * noisy
            if origin:
                self.outcomes[split][origin] += num_rows
            for label in cells.list_labels(text):
                self.classes[label][split] += num_rows

    def build_facts(
        self,
        params: TextParams,
        parts: list[SourcePart],
        num_read: int,
        counts: Mapping[str, RowCount],
        notices: list[str],
    ) -> dict[str, Any]:
        """Return all of it, fit for JSON; raises DataError where train has no row."""
        if not self.splits["train"]:
            names = ", ".join(part.name for part in parts)
            usable = f"{self.splits.total():,} of {num_read:,} rows could be used"
            raise DataError(
                f"{names}: no row for the train split ({usable}); check the shares under data.split"
            )
        facts: dict[str, Any] = {
            "sources": [part.facts for part in parts],
            "rows_read": num_read,
            "rows_kept": self.splits.total(),
            "dropped": {name: counts[name].build_facts() for name in DROPPED},
            "changed": {name: counts[name].build_facts() for name in CHANGED},
            "splits": {split: self.splits[split] for split in SPLITS},
            "classes": {label: dict(self.classes[label]) for label in sorted(self.classes)},
        }
        facts["notices"] = [*notices, *self._describe(counts)]
        if any(self.outcomes.values()):
            facts["outcomes"] = {split: dict(self.outcomes[split]) for split in SPLITS}
            facts["notices"].append(self._describe_outcomes())
        if params.data.source == "generated":
            facts["generated"] = self._measure_noise(params)
        return facts

    def _describe(self, counts: Mapping[str, RowCount]) -> Iterator[str]:
        """Yield a sentence for everything that a person should look at."""
        for policy, sentence in POLICY_SENTENCES.items():
            count = counts[policy]
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

    def _describe_outcomes(self) -> str:
        train, test = self.outcomes["train"].total(), self.outcomes["test"]["chosen"]
        return (
            f"{train:,} of {self.splits['train']:,} train rows from outcomes, "
            f"{test:,} of {self.splits['test']:,} test rows chosen to be labelled"
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
