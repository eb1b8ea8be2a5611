"""The simple baselines that a candidate must beat, and the best score that is possible."""

import hashlib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from plumbline.contract.records import Bound
from plumbline.contract.task import Columns, Predictor
from plumbline.tasks.text_classification.data import read_split
from plumbline.tasks.text_classification.data.generated import find_noisy
from plumbline.tasks.text_classification.data.label_sets import NO_LABEL, join_labels, split_labels
from plumbline.tasks.text_classification.data.storage import has_label_sets, read_batches
from plumbline.tasks.text_classification.params import Costs, TextParams
from plumbline.tasks.text_classification.scoring.chosen_metric import (
    compute_jaccard,
    score_costs,
)


class FrequencyBaseline:
    """Answers without reading the text.

    The answer is `label`, without one the most frequent class or, if `draws`, a class drawn by its
    frequency.
    """

    forms = ("exact",)

    def __init__(self, counts: Counter[str], *, draws: bool, label: str | None = None) -> None:
        total = counts.total()
        by_count = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        self._shares = {label: count / total for label, count in by_count}
        self._draws = draws
        self._label = label or by_count[0][0]

    def predict(
        self, columns: Columns, top_k: int = 3, threshold: float = 0.0, **_: Any
    ) -> dict[str, list[Any]]:
        """Return the label of every text, with the class frequencies as scores."""
        labels = [self._choose_label(text) for text in columns["text"]]
        ranked = [{"label": label, "score": share} for label, share in self._shares.items()]
        shares = [self._shares.get(label, 0.0) for label in labels]
        return {
            "label": labels,
            "score": shares,
            "scores": [ranked[:top_k]] * len(labels),
            "abstained": [share < threshold for share in shares],
        }

    def _choose_label(self, text: str) -> str:
        """Choose by the text alone, so that every run gives the same answer."""
        if not self._draws:
            return self._label
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        point = int.from_bytes(digest[:6]) / 2**48
        end = 0.0
        for name, share in self._shares.items():
            end += share
            if point < end:
                return name
        return list(self._shares)[-1]


class SetBaseline(FrequencyBaseline):
    """Answers with a set of labels: `label`, the most frequent one or one that is drawn."""

    def __init__(self, counts: Counter[str], *, draws: bool, label: str | None = None) -> None:
        super().__init__(counts, draws=draws, label=label)
        rows = _count_each_label(counts)
        total = counts.total()
        self._scores = [
            {"label": label, "score": count / total}
            for label, count in sorted(rows.items(), key=lambda item: (-item[1], item[0]))
        ]

    def predict(
        self, columns: Columns, top_k: int = 3, threshold: float = 0.0, **_: Any
    ) -> dict[str, list[Any]]:
        """Return the set of every text, with its frequency and those of the labels as scores."""
        answers = super().predict(columns, top_k, threshold)
        labels = [list(split_labels(text)) for text in answers["label"]]
        return answers | {"scores": [self._scores[:top_k]] * len(labels), "labels": labels}


def build_baselines(params: TextParams, examples: Path) -> dict[str, Predictor]:
    """Return the predictors that any candidate has to beat, by name."""
    counts: Counter[str] = Counter()
    for batch in read_batches(examples, "train", ["label"]):
        counts.update(batch["label"].to_pylist())
    kind = FrequencyBaseline
    if has_label_sets(examples, "train"):
        kind = SetBaseline
    baselines: dict[str, Predictor] = {
        "majority": kind(counts, draws=False),
        "stratified": kind(counts, draws=True),
    }
    if params.evaluation.metric == "jaccard":  # of sets alone
        baselines["overlap"] = SetBaseline(counts, draws=False, label=_find_overlap(counts))
    costs = params.evaluation.costs
    if costs is not None:
        cheapest = min(sorted(counts), key=lambda answer: _sum_costs(counts, answer, costs))
        baselines["cheapest"] = FrequencyBaseline(counts, draws=False, label=cheapest)
    return baselines


def compute_bound(params: TextParams, examples: Path, split: str) -> Bound:
    """Return the best possible score on generated data: the source says which labels it flipped.

    It is known for accuracy.
    """
    if params.data.source != "generated":
        reason = "the label noise of this source is not known, so no ceiling can be stated"
        return Bound(None, reason)
    metric = params.evaluation.metric
    if metric != "accuracy":
        return Bound(None, f"what flipped labels cost in {metric} is not known")
    ids = read_split(examples, split, ["id"])["id"].to_pylist()
    noisy = find_noisy(params, ids)
    reason = (
        f"{len(noisy)} of {len(ids)} labels were flipped at random, and a model that knows "
        "the truth misses exactly these"
    )
    return Bound(1 - len(noisy) / len(ids), reason)


def _find_overlap(counts: Counter[str]) -> str:
    """Return the set that shares most with all rows: of the most frequent labels, the best few."""
    rows = _count_each_label(counts)
    ranked = sorted(rows, key=lambda label: (-rows[label], label))
    truth = list(map(split_labels, counts))
    weights = np.array(list(counts.values()))
    before = 0.0  # with one label less
    best, most = NO_LABEL, float(counts[NO_LABEL])  # of rows without a label, all is shared
    for size in range(1, len(ranked) + 1):
        answer = tuple(ranked[:size])
        shared = float(weights @ compute_jaccard(truth, [answer] * len(truth)))
        if shared < before:
            break
        before = shared
        if shared > most:
            best, most = join_labels(answer), shared
    return best


def _count_each_label(counts: Counter[str]) -> Counter[str]:
    """Count the rows that have each label, of the rows that have each set."""
    rows: Counter[str] = Counter()
    for text, count in counts.items():
        rows.update(dict.fromkeys(split_labels(text), count))
    return rows


def _sum_costs(counts: Counter[str], answer: str, costs: Costs) -> float:
    """Sum what it costs to give all rows of `counts` the same answer."""
    labels = np.array(sorted(counts), dtype=object)
    each = score_costs(labels, np.full(labels.size, answer, dtype=object), costs)
    return float(sum(cost * counts[label] for label, cost in zip(labels, each, strict=True)))
