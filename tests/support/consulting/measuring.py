"""A model with one column of text: it answers with the length of the text."""

from pathlib import Path
from typing import Any


class Predictor:
    forms = ("rule",)

    def predict(self, columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
        for text in columns["text"]:
            if not text.isascii():
                raise ValueError("row 0: not ASCII")
        return {"label": [str(len(text)) for text in columns["text"]]}


def load(folder: Path, form: str | None = None) -> Predictor:
    return Predictor()
