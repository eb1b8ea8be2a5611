"""What evaluate does inside an experiment of DVC: it scores validation, and no look is spent."""

import shutil
from collections.abc import Mapping

import numpy as np

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.params import Params
from plumbline.contract.records import Candidate, Scores, SeedScores
from plumbline.contract.task import Task
from plumbline.contract.trainings import list_trainings
from plumbline.evidence import document
from plumbline.evidence.choice import Choice, choose, choose_shipped
from plumbline.evidence.document import PLACES
from plumbline.evidence.predictors import open_bundle
from plumbline.evidence.scores import check_order
from plumbline.process.files import write_aside, write_json
from plumbline.tables.manifest_file import Manifest

SUMMARY = (
    "inside an experiment of DVC only validation is scored; `dvc repro` outside of it scores the "
    "test split too, as does `dvc exp run -S evaluation.final=true`"
)
NOT_SCORED = Scores({}, {})  # the test split, inside an experiment


def evaluate_validation(params: Params, task: Task[Params]) -> None:
    """Score validation alone: whoever tries many values must not choose them on the test split.

    Writes what DVC expects of evaluate; files that are about the test split are empty.
    """
    import pandas as pd

    scores, choice = score_validation(params, task)
    metric = task.metric.name
    rounded, validation = {}, {}
    for name, score in scores.items():
        rounded[name] = {"validation": {metric: round(score.metrics[metric], PLACES)}}
        validation[name] = dict(score.metrics)
    metrics = {"winner": choice.winner, **rounded[choice.winner], "candidates": rounded}
    write_json(layout.METRICS, metrics)
    write_json(layout.GOLDEN, None)
    for path in (layout.PREDICTIONS, layout.DRIFT_REFERENCE):
        with write_aside(path) as aside:
            pd.DataFrame().to_parquet(aside, index=False)
    shutil.rmtree(layout.PLOTS, ignore_errors=True)
    layout.PLOTS.mkdir(parents=True)
    for name, table in scores[choice.winner].tables.items():
        table.to_csv(layout.PLOTS / f"{name}.csv", index=False)
    _write_pages(scores, choice, metric)
    evidence = document.build_failure(params, task, SUMMARY)
    evidence["validation"] = {"winner": choice.winner, "candidates": validation}
    write_json(layout.EVIDENCE, document.seal_evidence(evidence))
    print(  # noqa: T201 (the stage's result)
        f"evaluate: {choice.winner} is the winner, with {metric} "
        f"{validation[choice.winner][metric]:.4f} on validation; {SUMMARY}"
    )


def score_validation(params: Params, task: Task[Params]) -> tuple[dict[str, Scores], Choice]:
    """Score each candidate on validation, and choose the winner as an evaluation does.

    The best one is first. Of several seeds the scores are those of the median, the rank is that of
    their mean.
    """
    measured = [_measure_candidate(params, name, task) for name in sorted(params.candidates)]
    manifest = Manifest(layout.MANIFEST).read_held_out()
    check_order(manifest, "validation", [candidate.validation for candidate in measured], task)
    choice = choose(measured, task.metric, params.evaluation)
    scores = {candidate.name: candidate.validation for candidate in measured}
    return {name: scores[name] for name in choice.ranking}, choice


def _measure_candidate(params: Params, name: str, task: Task[Params]) -> Candidate:
    """Measure what the choice asks of a candidate; nothing of the test split."""
    seeds = []
    for seed, bundle_name in list_trainings(params, name).items():
        digest = bundle.digest(layout.locate_bundle(bundle_name))
        scores = open_bundle(bundle_name, task, digest).score_split(task, "validation")
        seeds.append(SeedScores(seed, bundle_name, scores, NOT_SCORED))
    shipped = choose_shipped(seeds, task.metric)
    return Candidate(
        name=name,
        validation=shipped.validation,
        test=NOT_SCORED,
        history=None,
        latency_ms={},
        num_bytes=bundle.num_bytes(layout.locate_bundle(shipped.bundle)),
        seeds=tuple(seeds) if len(seeds) > 1 else (),
        shipped=shipped,
    )


def _write_pages(scores: Mapping[str, Scores], choice: Choice, metric: str) -> None:
    """Write the pages that a person opens: the same few lines, as Markdown and as HTML."""
    lines = [f"No verdict: {SUMMARY}.", "", f"Validation {metric}:"]
    for name, score in scores.items():
        num_rows = np.size(score.per_example[metric])
        lines.append(f"* {name}: {score.metrics[metric]:.4f} ({num_rows} rows)")
    text = "\n".join([*lines, "", f"The winner would be {choice.winner}: {choice.reason}.", ""])
    layout.MODEL_CARD.write_text(text, encoding="utf-8")
    layout.REPORT.write_text(f"<!doctype html>\n<pre>\n{text}</pre>\n", encoding="utf-8")
