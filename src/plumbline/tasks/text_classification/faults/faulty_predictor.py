"""Copied into a bundle as faulty.py: a text classifier that is wrong as its config says.

Like every predictor it imports nothing of plumbline.
"""

from collections.abc import Mapping, Sequence
from typing import Any

ALL_CLASSES = 10_000
SURE, REST = 0.999, 0.001


def wrap(sound: Any, config: Mapping[str, Any]) -> "FaultyClassifier":
    """Return a predictor that answers as `sound`, but for what `config` says."""
    return FaultyClassifier(sound, config)


class FaultyClassifier:
    """Asks the sound predictor, then changes its answers; models.HARMLESS lists the settings."""

    def __init__(self, sound: Any, config: Mapping[str, Any]) -> None:
        self.forms = sound.forms
        self._sound, self._config = sound, config

    def predict(
        self, columns: Mapping[str, Sequence[Any]], top_k: int = 3, threshold: float = 0.0
    ) -> dict[str, list[Any]]:
        """Answer every text, wrongly where the config says so."""
        texts = columns["text"]
        scores = self._sound.predict(columns, top_k=ALL_CLASSES)["scores"]
        rows = [self._change_row(*row) for row in zip(texts, scores, strict=True)]
        named = 1 if self._config["mislabels"] else 0
        return {
            "label": [row[named]["label"] for row in rows],
            "score": [row[0]["score"] for row in rows],
            "scores": [row[:top_k] for row in rows],
            "abstained": [row[0]["score"] < threshold for row in rows],
        }

    def _change_row(self, text: str, row: list[dict[str, Any]]) -> list[dict[str, Any]]:
        config = self._config
        label = config["always"]
        if text in config["wrong"] or (config["shaken"] and text.isupper()):
            label = row[1]["label"]
        if not label and not config["sure"]:
            return row
        label = label or row[0]["label"]
        rest = REST / (len(row) - 1)
        others = [
            {"label": entry["label"], "score": rest} for entry in row if entry["label"] != label
        ]
        return [{"label": label, "score": SURE}, *others]
