"""The simple baselines that a candidate must beat, and the best score that is possible."""

import hashlib
from collections import Counter
from pathlib import Path
from typing import Any

from plumbline.contract.records import Bound
from plumbline.contract.task import Columns, Predictor
from plumbline.tasks.text_classification.data import read_split
from plumbline.tasks.text_classification.data.generated import find_noisy
from plumbline.tasks.text_classification.params import TextParams


class FrequencyBaseline:
    """Answers without reading the text.

    The answer is the most frequent class or, if `draws`, a class drawn by its frequency.
    """

    forms = ("exact",)

    def __init__(self, counts: Counter[str], *, draws: bool) -> None:
        total = counts.total()
        by_count = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        self._shares = {label: count / total for label, count in by_count}
        self._draws = draws

    def predict(
        self, columns: Columns, top_k: int = 3, threshold: float = 0.0, **_: Any
    ) -> dict[str, list[Any]]:
        """Return the label of every text, with the class frequencies as scores."""
        labels = [self._choose_label(text) for text in columns["text"]]
        ranked = [{"label": label, "score": share} for label, share in self._shares.items()]
        shares = [self._shares[label] for label in labels]
        return {
            "label": labels,
            "score": shares,
            "scores": [ranked[:top_k]] * len(labels),
            "abstained": [share < threshold for share in shares],
        }

    def _choose_label(self, text: str) -> str:
        """Choose by the text alone, so that every run gives the same answer."""
        names = list(self._shares)
        if not self._draws:
            return names[0]
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        point = int.from_bytes(digest[:6]) / 2**48
        end = 0.0
        for name, share in self._shares.items():
            end += share
            if point < end:
                return name
        return names[-1]


def build_baselines(params: TextParams, examples: Path) -> dict[str, Predictor]:
    """Return the predictors that any candidate has to beat, by name."""
    labels = read_split(examples, "train", ["label"])["label"].to_pylist()
    counts = Counter(labels)
    return {
        "majority": FrequencyBaseline(counts, draws=False),
        "stratified": FrequencyBaseline(counts, draws=True),
    }


def compute_bound(params: TextParams, examples: Path, split: str) -> Bound:
    """Return the best possible score on generated data: the source says which labels it flipped.

    For other data the bound is not known.
    """
    if params.data.source != "generated":
        reason = "the label noise of this source is not known, so no ceiling can be stated"
        return Bound(None, reason)
    ids = read_split(examples, split, ["id"])["id"].to_pylist()
    num_flipped = len(find_noisy(params, ids))
    reason = (
        f"{num_flipped} of {len(ids)} labels were flipped at random, and a model that knows "
        "the truth misses exactly these"
    )
    return Bound(1 - num_flipped / len(ids), reason)
