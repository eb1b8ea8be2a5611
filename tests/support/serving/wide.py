"""A model with a column of every type whose right answers are known: it returns its inputs."""

import json
import math
from pathlib import Path

# Too long for hypothesis to pick it up from here as an odd text.
FAILS = "on this text the model fails, and says: "
NAN = "answer with no number"


class Wide:
    forms = ("exact",)

    def predict(self, columns, top_k=3):
        if failing := [text for text in columns["text"] if text.startswith(FAILS)]:
            raise RuntimeError(failing[0])
        length = [
            len(text.encode("utf-8")) for text in columns["text"]
        ]  # as a tokenizer would read it
        ratio = [
            math.nan if text == NAN else x
            for text, x in zip(columns["text"], columns["ratio"], strict=True)
        ]
        return {**columns, "ratio": ratio, "length": length, "top_k": [top_k] * len(length)}


def load(folder: Path, form: str | None = None) -> Wide:
    json.loads((folder / "weights.json").read_text(encoding="utf-8"))
    return Wide()
