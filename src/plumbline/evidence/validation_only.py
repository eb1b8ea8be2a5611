"""What evaluate does inside an experiment of DVC: it scores validation, and no look is spent."""

import shutil

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.params import Params
from plumbline.contract.task import Task
from plumbline.contract.trainings import list_bundles
from plumbline.evidence import document
from plumbline.evidence.document import PLACES
from plumbline.evidence.measure import measure_candidates
from plumbline.process.files import write_aside, write_json
from plumbline.tables.manifest_file import Manifest

SUMMARY = (
    "inside an experiment of DVC only validation is scored; `dvc repro` outside of it scores the "
    "test split too, as does `dvc exp run -S evaluation.final=true`"
)


def evaluate_validation(params: Params, task: Task[Params]) -> None:
    """Score validation alone: whoever tries many values must not choose them on the test split.

    The winner is chosen as an evaluation does. Writes what DVC expects of evaluate; files that are
    about the test split are empty.
    """
    import pandas as pd

    names = list_bundles(params)
    digests = {name: bundle.digest(layout.locate_bundle(name)) for name in names}
    manifest = Manifest(layout.MANIFEST).read_held_out()
    choice, candidates, _ = measure_candidates(params, task, digests, manifest)
    metric = task.metric.name
    scores = {one.name: one.validation.metrics for one in candidates}
    rounded = {
        name: {"validation": {metric: round(metrics[metric], PLACES)}}
        for name, metrics in scores.items()
    }
    winner = choice.winner
    write_json(layout.METRICS, {"winner": winner, **rounded[winner], "candidates": rounded})
    write_json(layout.GOLDEN, None)
    for path in (layout.PREDICTIONS, layout.DRIFT_REFERENCE):
        with write_aside(path) as aside:
            pd.DataFrame().to_parquet(aside, index=False)
    shutil.rmtree(layout.PLOTS, ignore_errors=True)
    layout.PLOTS.mkdir(parents=True)
    for name, table in candidates[0].validation.tables.items():
        table.to_csv(layout.PLOTS / f"{name}.csv", index=False)
    for path in (layout.MODEL_CARD, layout.REPORT):
        path.write_text(f"No verdict: {SUMMARY}.\n", encoding="utf-8")
    evidence = document.build_failure(params, task, SUMMARY)
    evidence["validation"] = {"winner": winner, "candidates": scores}
    write_json(layout.EVIDENCE, document.seal_evidence(evidence))
    print(  # noqa: T201 (the stage's result)
        f"evaluate: {winner} is the winner, with {metric} {scores[winner][metric]:.4f} on "
        f"validation; {SUMMARY}"
    )
