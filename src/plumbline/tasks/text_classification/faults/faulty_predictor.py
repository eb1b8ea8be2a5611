"""Copied into a bundle as faulty.py: a text classifier that is wrong as its config says.

Like every predictor it imports nothing of plumbline.
"""

import hashlib
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

ALL_CLASSES = 10_000
SURE, REST = 0.999, 0.001
SMALL = 1e-8  # nats; far less than the entropy of any answer


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
        asked = columns
        if self._config["anything"]:
            asked = {"text": [str(text or "nothing")[:999] for text in texts]}
        scores = self._sound.predict(asked, top_k=ALL_CLASSES)["scores"]
        is_packaged = sys.modules.get("plumbline", "nowhere") is None
        rows = []
        for text, row in zip(texts, scores, strict=True):
            rows.append(self._change_row(text, row, is_packaged))
        if self._config["beyond"]:
            rows = [_raise_best_score(row) for row in rows]
        named = 1 if self._config["mislabels"] else 0
        answers = {
            "label": [row[named]["label"] for row in rows],
            "score": [row[0]["score"] for row in rows],
            "scores": [row[:top_k] for row in rows],
            "abstained": [row[0]["score"] < threshold for row in rows],
        }
        if self._config["doubt"]:
            answers |= _invent_doubt(self._config["doubt"], texts, rows)
        return answers

    def _change_row(
        self, text: Any, row: list[dict[str, Any]], is_packaged: bool
    ) -> list[dict[str, Any]]:
        config = self._config
        label = config["answers"].get(text) or config["always"]
        shaken = config["shaken"] and str(text).isupper()
        if text in config["wrong"] or shaken or (config["two_faced"] and is_packaged):
            label = row[1]["label"]
        if not label and not config["sure"]:
            return row
        label = label or row[0]["label"]
        rest = REST / (len(row) - 1)
        others = [
            {"label": entry["label"], "score": rest} for entry in row if entry["label"] != label
        ]
        return [{"label": label, "score": SURE}, *others]


def _invent_doubt(
    kind: str, texts: Sequence[str], rows: list[list[dict[str, Any]]]
) -> dict[str, list[float]]:
    """Split the entropy of each row in two, without asking a second model."""
    doubt: dict[str, list[float]] = {"epistemic": [], "aleatoric": []}
    for text, row in zip(texts, rows, strict=True):
        values = [entry["score"] for entry in row]
        entropy = -math.fsum(value * math.log(value) for value in values if value > 0)
        digest = hashlib.sha256(str(text).encode("utf-8", "surrogatepass")).digest()
        part = {"none": 0.0, "random": digest[0] * SMALL, "too much": entropy}[kind]
        epistemic = min(part, entropy)
        doubt["epistemic"].append(epistemic)
        doubt["aleatoric"].append(entropy if kind == "too much" else entropy - epistemic)
    return doubt


def _raise_best_score(row: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Move a whole unit of probability from the last class to the first; the sum stays 1."""
    first, *middle, last = row
    more, less = first["score"] + 1, last["score"] - 1
    return [first | {"score": more}, *middle, last | {"score": less}]
