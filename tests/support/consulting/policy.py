"""A policy as small as can be: ask in a fixed order until two agree, then answer with the most."""

import json
from collections import Counter
from pathlib import Path
from typing import Any


class Predictor:
    """In the form of the task answer_consensus."""

    forms = ("rule",)

    def __init__(self, config: dict[str, Any]) -> None:
        self._agents = config["agents"]
        self._needed = config["needed"]
        self._cost = config["costs"][0]

    def predict(
        self, columns: dict[str, list[Any]], stop_at: float | None = None
    ) -> dict[str, list[Any]]:
        rows = zip(columns["agents"], columns["answers"], columns["budget"], strict=True)
        answers = [self._decide(*row, stop_at) for row in rows]
        names = ("ask", "answer", "confidence", "votes")
        return {name: [answer[name] for answer in answers] for name in names}

    def _decide(
        self, agents: list[str], texts: list[str], budget: float, stop_at: float | None
    ) -> dict[str, Any]:
        votes = Counter(filter(None, texts))
        best, count = votes.most_common(1)[0] if votes else ("", 0)
        rest = [name for name in self._agents if name not in agents]
        is_done = count >= self._needed or not rest or budget < self._cost
        total = votes.total() or 1
        return {
            "ask": "" if is_done else rest[0],
            "answer": best,
            "confidence": count / total,
            "votes": [{"answer": text, "share": votes[text] / total} for text in votes],
        }


def load(folder: Path, form: str | None = None) -> Predictor:
    return Predictor(json.loads((folder / "config.json").read_text(encoding="utf-8")))
