"""What every task has to do; checked without DVC or a registry, in the current folder."""

import math
from typing import Any

import numpy as np
import pandas as pd
from mlflow.models import ModelSignature, validate_schema

from plumbline import bundle
from plumbline.bundle.verification import list_code
from plumbline.contract import layout
from plumbline.contract.params import Params
from plumbline.contract.records import Leak
from plumbline.contract.task import MANIFEST_COLUMNS, SPLITS, Predictor, Task
from plumbline.evidence import predictors, scores
from plumbline.evidence.kept import LIMITS
from plumbline.registry.package.packaging import describe_signature
from plumbline.stages.ingest import ingest
from plumbline.stages.validate import validate


def check(params: Params, task: Task, candidate: str) -> None:
    """Ingest, validate, solve `candidate`, and ask all that evaluation asks.

    AssertionError names what is missing.
    """
    ingest(params, task)
    validate(params, task)
    manifest = pd.read_parquet(layout.MANIFEST)
    assert set(MANIFEST_COLUMNS) <= set(manifest), "the manifest lacks a column"
    assert set(manifest["split"]) == set(SPLITS), "a split has no row"
    assert manifest["id"].is_unique
    assert set(params.evaluation.slices) <= set(manifest), (
        "evaluation.slices names no column of the manifest"
    )

    learner = task.models.build_learner(params, candidate, layout.EXAMPLES)
    assert learner.solve, "held against the contract with a candidate in closed form"
    learner.solve()
    folder = layout.locate_bundle(candidate)
    folder.mkdir(parents=True)
    learner.save(folder)
    bundle.seal(folder, task, candidate)
    _check_predictor(task, bundle.load(folder))
    _check_scores(params, task, bundle.load(folder), manifest)
    _check_control(params, task)


def _check_predictor(task: Task, predictor: Predictor) -> None:
    for path in list_code(task.predictor).values():
        code = path.read_text(encoding="utf-8")
        assert "import plumbline" not in code, f"{path} imports plumbline"
        assert "from plumbline" not in code, f"{path} imports plumbline"
    answers = predictor.predict(task.example)
    assert list(answers) == [field.name for field in task.signature.outputs], (
        "other outputs than in the signature"
    )
    for field in task.signature.inputs:
        # A column in which rows leave it out holds floats, which MLflow refuses for integers.
        assert field.required or field.type not in ("long", "integer"), f"{field.name}: say double"
    for name, columns in task.faulty.items():
        try:
            predictor.predict(columns)
        except (ValueError, LookupError, TypeError):
            continue
        raise AssertionError(f"{name}: is answered, and should be refused")
    longest = task.scoring.build_longest_input(predictor)
    assert len(next(iter(predictor.predict(longest).values()))) == 1, "the longest input is one row"
    columns = task.data.read_inputs(layout.EXAMPLES, "test")
    broken = task.scoring.check_answers(columns, {}, predictor.predict(columns))
    assert not broken, f"an answer breaks the rules of the task: {broken[:1]}"
    some = {name: values[:8] for name, values in columns.items()}
    together = predictor.predict(some)
    schema = ModelSignature.from_dict(describe_signature(task.signature)).inputs
    for row in range(len(next(iter(some.values())))):
        single = {name: values[row : row + 1] for name, values in some.items()}
        # A column of one row has the type of its value: MLflow refuses an integer for a double.
        validate_schema(pd.DataFrame(single), schema)
        alone = predictor.predict(single)
        for name, values in alone.items():
            assert _near(values[0], together[name][row]), (
                f"row {row}: another {name} alone than in company"
            )


def _check_scores(params: Params, task: Task, predictor: Predictor, manifest: pd.DataFrame) -> None:
    ours = predictors.score_split(
        task, "test", predictor
    )  # ValueError where a metric is missing, or not the mean
    scores.check_rows(manifest, "test", [ours])
    params = _hide_limits(params)  # they may change, and what was measured is kept
    baselines = task.scoring.build_baselines(params, layout.EXAMPLES)
    assert baselines, "there is no baseline"
    sign = 1 if task.metric.higher_is_better else -1
    bound = task.scoring.compute_bound(params, layout.EXAMPLES, "test")
    assert bound.reason
    for name, found in baselines.items():
        theirs = predictors.score_split(task, "test", found).per_example[task.metric.name].mean()
        limit = None if bound.limit is None else float(np.mean(bound.limit))
        assert limit is None or sign * (limit - theirs) > 0, f"{name} is better than possible"
    leaks = task.expectations.find_leaks(params, layout.EXAMPLES)
    assert leaks, "the task looks for no leak"
    assert all(isinstance(leak, Leak) and leak.num_leaked == 0 for leak in leaks)
    cases = task.scoring.check_behaviour(params, layout.EXAMPLES, predictor)
    assert sum(case.num_cases for case in cases), "there is no behavioural case"


def _hide_limits(params: Params) -> Params:
    limits = {name: value for name, value in params.evaluation if name not in LIMITS}
    return params.model_copy(update={"evaluation": params.evaluation.model_construct(**limits)})


def _check_control(params: Params, task: Task) -> None:
    layout.CHECKPOINTS.mkdir(parents=True)
    task.data.shuffle_labels(
        layout.EXAMPLES, layout.CHECKPOINTS, params.seed, params.control.max_rows
    )
    for name in params.control.candidates:
        shuffled = task.models.build_learner(params, name, layout.CHECKPOINTS)
        assert shuffled.solve or shuffled.module


def _near(one: Any, other: Any) -> bool:
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_near, one, other))
    return math.isclose(one, other, abs_tol=1e-5) if isinstance(one, float) else bool(one == other)
