"""What was read, in numbers and plain sentences: the content of data/source.json."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from plumbline.contract.errors import DataError
from plumbline.contract.task import SPLITS
from plumbline.tasks.text_classification.data.policies import Example, Tally
from plumbline.tasks.text_classification.data.rows import Part
from plumbline.tasks.text_classification.data.splits import absent
from plumbline.tasks.text_classification.params import TextParams

MAX_CLASSES = (
    20_000  # distinct labels after which this is not a classification problem, whatever params say
)
SAYS = {
    "null_text": "dropped for an empty or null-like text",
    "null_label": "dropped for an empty or null-like label",
    "truncated": "cut to data.policies.max_chars",
    "nul_kept": "with NUL characters, which were kept",
}


class Summary:
    """Counted while rows are written."""

    def __init__(self) -> None:
        self.splits: Counter[str] = Counter()
        self.noisy: Counter[str] = Counter()
        self.classes: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def add(self, split: str, row: Example) -> None:
        """Count one example; raises DataError once there are far too many classes."""
        self.splits[split] += 1
        self.noisy[split] += bool(row.noisy)
        self.classes[row.label][split] += 1
        if len(self.classes) > MAX_CLASSES:
            raise DataError(
                f"{row.id}: more than {MAX_CLASSES:,} different labels so far, such as {row.label[:40]!r}; "
                "is data.columns.label the right column?"
            )

    def facts(
        self, params: TextParams, parts: list[Part], tally: Tally, notices: list[str]
    ) -> dict[str, Any]:
        """All of it, fit for JSON; raises DataError where nothing is left to train on."""
        if not self.splits["train"]:
            names = ", ".join(part.name for part in parts)
            kept = f"{self.splits.total():,} of {tally.num_rows:,} rows could be used"
            raise DataError(
                f"{names}: no row for the train split ({kept}); look at the shares under data.split"
            )
        facts = {
            "sources": [part.facts for part in parts],
            "rows_read": tally.num_rows,
            "rows_kept": self.splits.total(),
            "dropped": tally.facts("null_text", "null_label"),
            "changed": tally.facts("decoded", "truncated", "nul_kept"),
            "splits": {split: self.splits[split] for split in SPLITS},
            "classes": {label: dict(self.classes[label]) for label in sorted(self.classes)},
        }
        facts["notices"] = [*notices, *self._notices(tally)]
        if params.data.source == "generated":
            facts["generated"] = self._noise(params)
        return facts

    def _notices(self, tally: Tally) -> list[str]:
        found = []
        for name, says in SAYS.items():
            count = tally.counts[name]
            if count.num_rows:
                spelled = ", ".join(repr(value) for value in count.found if value)
                spelled = f" ({spelled})" if spelled else ""
                found.append(f"rows {says}: {count.num_rows:,}{spelled}, first at {count.first[0]}")
        found += [
            f"no row in {split}; look at data.split, or at how alike the rows are"
            for split in self._empty()
        ]
        return [
            *found,
            *self._on_labels(),
            *absent(self.classes, [split for split in SPLITS if self.splits[split]]),
        ]

    def _empty(self) -> list[str]:
        return [split for split in SPLITS if not self.splits[split]]

    def _on_labels(self) -> Iterator[str]:
        whole = [label for label in self.classes if _is_whole(label)]
        numbers = [label for label in self.classes if _is_number(label)]
        if len(whole) == len(self.classes):
            yield "labels are whole numbers; they are taken as names of classes, without order"
        elif len(numbers) - len(whole) > len(self.classes) / 2:
            yield "most labels are numbers with fractions; is this a value to predict rather than a class?"
        elif whole:
            yield f"{len(whole)} of {len(self.classes)} labels are whole numbers, the rest words; is one file numbered?"

    def _noise(self, params: TextParams) -> dict[str, Any]:
        """The share of labels that are not the true ones, and with it what the best of all models scores."""
        total = self.splits.total()
        return {
            "label_noise": params.data.generated.label_noise,
            "drift": params.data.generated.drift,
            "noisy_share": self.noisy.total() / total,
            "ceiling": {
                split: 1 - self.noisy[split] / self.splits[split]
                for split in SPLITS
                if self.splits[split]
            },
        }


def _is_whole(label: str) -> bool:
    return label.strip().removeprefix("-").isdecimal()


def _is_number(label: str) -> bool:
    try:
        float(label)
    except ValueError:
        return False
    return True
