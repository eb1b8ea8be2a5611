"""How good a model is, as in text classification, and what it has to know: behaviour.csv."""

import csv
from pathlib import Path

from plumbline.contract.records import Case
from plumbline.tasks.text_classification import scoring
from plumbline.tasks.text_classification.scoring import (
    build_baselines,
    build_longest_input,
    check_answers,
    compute_bound,
    draw_figures,
    score,
)

__all__ = [
    "build_baselines",
    "build_longest_input",
    "check_answers",
    "check_behaviour",
    "compute_bound",
    "draw_figures",
    "score",
]

CASES = Path(__file__).with_name("behaviour.csv")
MAX_SHOWN = 8


def check_behaviour(params, examples, predictor):
    """Ask what text classification asks, and the texts of behaviour.csv.

    `evaluation.min_behaviour.minimum` in params.yaml is the share that has to be right.
    """
    return [*scoring.check_behaviour(params, examples, predictor), *check_own_cases(predictor)]


def check_own_cases(predictor):
    """Return the result of behaviour.csv; nothing while it has no rows."""
    with CASES.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    if not rows:
        return []
    answers = predictor.predict({"text": [row["text"] for row in rows]})["label"]
    failures = [
        f"expected {row['label']}, found {answer}: {row['text']}"
        for row, answer in zip(rows, answers, strict=True)
        if answer != row["label"]
    ]
    num_passed = len(rows) - len(failures)
    shown = tuple(failures[:MAX_SHOWN])
    return [Case("the texts of behaviour.csv", "minimum", num_passed, len(rows), shown)]
