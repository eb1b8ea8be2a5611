"""Copied into a bundle as faulty.py: a model of label sets that is wrong as its config says.

Like every predictor it imports nothing of plumbline.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

ALL_LABELS = 10_000
SURE, REST = 0.999, 0.001


def wrap(sound: Any, config: Mapping[str, Any]) -> "FaultyTagger":
    """Return a predictor that answers as `sound`, but for what `config` says."""
    return FaultyTagger(sound, config)


class FaultyTagger:
    """Asks the sound predictor, then changes its sets; label_sets.HARMLESS lists the settings."""

    def __init__(self, sound: Any, config: Mapping[str, Any]) -> None:
        self.forms = sound.forms
        self._sound, self._config = sound, config

    def predict(
        self, columns: Mapping[str, Sequence[Any]], top_k: int = 3, threshold: float = 0.0
    ) -> dict[str, list[Any]]:
        """Answer every text, wrongly where the config says so."""
        sound = self._sound.predict(columns, top_k=ALL_LABELS)
        sets = [self._change_set(labels) for labels in sound["labels"]]
        scores = [self._change_scores(*row) for row in zip(sets, sound["scores"], strict=True)]
        chances = [self._state_chance(*row) for row in zip(sets, scores, strict=True)]
        return {
            "label": ["|".join(labels) or "(none)" for labels in sets],
            "score": chances,
            "scores": [row[:top_k] for row in scores],
            "abstained": [chance < threshold for chance in chances],
            "labels": [labels[:1] for labels in sets] if self._config["shortens"] else sets,
        }

    def _change_set(self, labels: list[str]) -> list[str]:
        config = self._config
        if config["always"] is not None:
            return list(config["always"])
        if config["follows"] and config["follows"][0] in labels:
            return sorted({*labels, config["follows"][1]})
        return labels

    def _change_scores(
        self, labels: list[str], ranked: list[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        if self._config["always"] is None and not self._config["sure"]:
            return ranked
        others = [entry["label"] for entry in ranked if entry["label"] not in labels]
        given = [{"label": label, "score": SURE} for label in labels]
        return given + [{"label": label, "score": REST} for label in others]

    def _state_chance(self, labels: list[str], scores: list[dict[str, Any]]) -> float:
        """Return the probability of the set; that of its least certain label if it `boasts`."""
        chances: list[float] = [
            entry["score"] if entry["label"] in labels else 1 - entry["score"] for entry in scores
        ]
        return min(chances) if self._config["boasts"] else math.prod(chances)
