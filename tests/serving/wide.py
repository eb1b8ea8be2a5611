"""A model with a column of every kind, whose right answers are known: it gives back what it was given."""

import json
from pathlib import Path

FAILS = "fail: "  # the start of a text on which it does, and says why


class Wide:
    forms = ("exact",)

    def predict(self, columns, top_k=3):
        if failing := [text for text in columns["text"] if text.startswith(FAILS)]:
            raise RuntimeError(failing[0])
        length = [len(text.encode("utf-8")) for text in columns["text"]]  # as a tokenizer would read it
        return {**columns, "length": length, "top_k": [top_k] * len(length)}


def load(folder: Path, form: str | None = None) -> Wide:
    json.loads((folder / "weights.json").read_text(encoding="utf-8"))
    return Wide()
