"""What evaluate does inside an experiment of DVC: it scores validation, and no look is spent."""

import shutil
from typing import Any

import numpy as np

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.params import Params
from plumbline.contract.records import Scores
from plumbline.contract.task import Task
from plumbline.contract.trainings import list_trainings
from plumbline.evidence import document
from plumbline.evidence.predictors import open_candidate
from plumbline.evidence.seeds import compute_mean_score
from plumbline.statistics.seeds import find_median_seed

SUMMARY = (
    "inside an experiment of DVC only validation is scored; `dvc repro` outside of it scores the "
    "test split too, as does `dvc exp run -S evaluation.final=true`"
)


def score_validation(params: Params, task: Task[Params]) -> dict[str, Scores]:
    """Score each candidate on validation, the best one first.

    Of several seeds the scores are those of the median, the rank is that of their mean.
    """
    scores, means = {}, {}
    metric = task.metric
    for name in sorted(params.candidates):
        seeds = _score_seeds(params, name, task)
        values = {seed: compute_mean_score(scored, metric) for seed, scored in seeds.items()}
        median = find_median_seed(values, higher_is_better=metric.higher_is_better)
        scores[name] = seeds[median]
        means[name] = sum(values.values()) / len(values)
    sign = -1 if metric.higher_is_better else 1
    return {name: scores[name] for name in sorted(scores, key=lambda name: sign * means[name])}


def _score_seeds(params: Params, candidate: str, task: Task[Params]) -> dict[int, Scores]:
    scores = {}
    for seed, name in list_trainings(params, candidate).items():
        digest = bundle.digest(layout.locate_bundle(name))
        scores[seed] = open_candidate(name, task, digest).score_split(task, "validation")
    return scores


def write_scores(scores: dict[str, Scores], params: Params, task: Task[Params]) -> dict[str, Any]:
    """Write what DVC expects of evaluate: metrics.json of validation, evidence without a verdict.

    Files that are about the test split are empty.
    """
    import pandas as pd

    leader = next(iter(scores))
    named = {name: {"validation": dict(score.metrics)} for name, score in scores.items()}
    metrics = {"winner": leader, **named[leader], "candidates": named}
    layout.write_json(layout.METRICS, document.round_numbers(metrics))
    layout.write_json(layout.GOLDEN, None)
    for path in (layout.PREDICTIONS, layout.REFERENCE):
        with layout.write_aside(path) as aside:
            pd.DataFrame().to_parquet(aside, index=False)
    shutil.rmtree(layout.PLOTS, ignore_errors=True)
    layout.PLOTS.mkdir(parents=True)
    for name, table in scores[leader].tables.items():
        table.to_csv(layout.PLOTS / f"{name}.csv", index=False)
    _write_page(scores, task)
    evidence = document.build_failure(params, task, SUMMARY)
    layout.write_json(layout.EVIDENCE, evidence)
    return metrics


def _write_page(scores: dict[str, Scores], task: Task[Params]) -> None:
    """Write the pages that a person opens: the same few lines, as Markdown and as HTML."""
    metric = task.metric.name
    lines = [f"No verdict: {SUMMARY}.", "", f"Validation {metric}:"]
    for name, score in scores.items():
        lines.append(f"* {name}: {score.metrics[metric]:.4f} ({_count_rows(score, metric)} rows)")
    text = "\n".join(lines) + "\n"
    with layout.write_aside(layout.MODEL_CARD) as aside:
        aside.write_text(text, encoding="utf-8")
    with layout.write_aside(layout.REPORT) as aside:
        aside.write_text(f"<!doctype html>\n<pre>\n{text}</pre>\n", encoding="utf-8")


def _count_rows(score: Scores, metric: str) -> int:
    return int(np.size(score.per_example[metric]))
