"""Third step of an evaluation: from measurements to findings, gates and one verdict."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from plumbline.contract.params import Evaluation, Params
from plumbline.contract.records import Bound, Scores
from plumbline.contract.task import Metric
from plumbline.contract.verdict import Verdict
from plumbline.evidence import changes, compare, gates
from plumbline.evidence.compare import Slice
from plumbline.evidence.gates import Findings, GateResult
from plumbline.evidence.gates.limits import find_loosened
from plumbline.evidence.measurements import Measurements
from plumbline.evidence.samples import align_rows
from plumbline.evidence.seeds import measure_spread
from plumbline.evidence.uncertainty import measure_orderings, measure_selective
from plumbline.evidence.variants import compare_variants
from plumbline.evidence.verdict import decide_by_gates, summarise_verdict
from plumbline.statistics import power
from plumbline.statistics.calibration import CalibrationFinding, measure_calibration
from plumbline.statistics.error_ordering import ErrorOrdering
from plumbline.statistics.intervals import Interval, compute_mean_interval
from plumbline.statistics.parity import VariantParity


@dataclass(frozen=True)
class ChampionDiff:
    """The champion, and what is different since it was made."""

    champion: Mapping[str, Any]  # model, version, bundle, metrics, disagreement, num_rows
    flips: Mapping[str, Any]  # the validation examples that only one of the two answers well
    changes: Mapping[str, Any] | None  # in params, data and code; None without a record of the old


@dataclass(frozen=True)
class Judgement:
    """What follows from the measurements; each number is computed once, here or in `findings`."""

    findings: Findings
    gates: Sequence[GateResult]
    verdict: Verdict
    summary: str
    loosened: Mapping[str, str]  # keys of params that are looser than the reference
    candidate_intervals: Mapping[str, Interval]  # of the mean test score
    baseline_intervals: Mapping[str, Interval]
    variant_intervals: Sequence[Interval]
    variant_parities: Sequence[VariantParity | None]
    orderings: Mapping[str, Mapping[str, ErrorOrdering]]  # of each candidate's errors
    pairs: Sequence[Mapping[str, Any]]  # every candidate compared with every other
    champion_diff: ChampionDiff | None


def judge(measurements: Measurements, params: Params) -> Judgement:
    """Compare, ask every gate and decide the verdict."""
    metric = measurements.metric
    confidence = params.evaluation.confidence
    parities = compare_variants(measurements.variants, metric)
    orderings = {
        candidate.name: measure_orderings(candidate.test, metric, confidence)
        for candidate in measurements.candidates
    }
    winner, *others = measurements.candidates
    findings = _collect_findings(measurements, params, parities[0], orderings[winner.name])
    results = gates.run_gates(findings)
    loosened: dict[str, str] = {}
    if findings.baselines:  # without any, the gate baselines fails
        _, baseline = findings.best_baseline
        loosened = find_loosened(params, metric, float(baseline.mean()))
    other_variants = [variant.test for variant in measurements.variants[1:]]
    other_candidates = {candidate.name: candidate.test for candidate in others}
    return Judgement(
        findings=findings,
        gates=results,
        verdict=decide_by_gates(results),
        summary=summarise_verdict(winner.name, results, loosened),
        loosened=loosened,
        candidate_intervals={winner.name: findings.score_interval}
        | _estimate_scores(other_candidates, metric, confidence),
        baseline_intervals=_estimate_scores(measurements.baselines, metric, confidence),
        variant_intervals=[
            findings.score_interval,
            *(_estimate_score(scores, metric, confidence) for scores in other_variants),
        ],
        variant_parities=parities,
        orderings=orderings,
        pairs=compare.compare_pairs(measurements.candidates, metric, confidence),
        champion_diff=_describe_champion(measurements),
    )


def _collect_findings(
    measurements: Measurements,
    params: Params,
    parity: VariantParity | None,
    orderings: Mapping[str, ErrorOrdering],
) -> Findings:
    subjects = measurements.subjects
    metric = measurements.metric
    limits = params.evaluation
    winner = measurements.winner
    scores = {
        candidate.name: candidate.test.per_example[metric.name]
        for candidate in measurements.candidates
    }
    baselines = _pick_metric(measurements.baselines, metric)
    champion = None
    if measurements.champion:
        champion = measurements.champion.per_example[metric.name]
    level = power.spend_level(subjects.look.number, limits.planned_looks, 1 - limits.confidence)
    return Findings(
        metric=metric,
        limits=limits,
        validation=subjects.validation,
        manifest_digest=subjects.digests["manifest"],
        examples_digest=subjects.digests["examples"],
        suite=subjects.suite,
        checks=subjects.checks,
        manifest=subjects.manifest,
        leaks=measurements.leaks,
        winner=scores[winner.name],
        winner_validation=winner.validation.per_example[metric.name],
        baselines=baselines,
        simple=_find_simple_candidate(scores, winner.name, limits.simple_candidate),
        choice=measurements.choice,
        seeds=measure_spread(winner, metric),
        controls=_pick_metric(measurements.controls, metric),
        bound=_align_bound(measurements),
        champion=champion,
        champion_lag=subjects.origin.lag if subjects.origin else None,
        data_changes=subjects.changes and subjects.changes["data"],
        level=power.divide_level(level, len(measurements.candidates)),
        look=subjects.look,
        slices=_compare_slices(measurements, params, baselines),
        calibration=_measure_calibration(winner.test, metric.name, limits),
        orderings=orderings,
        selective=measure_selective(winner.validation, winner.test, metric, limits),
        behaviour=measurements.behaviour,
        cost=_collect_costs(measurements),
        form=measurements.variants[0].name,
        parity=parity,
        answers=measurements.answers,
        export=measurements.export,
        replay=measurements.package.problems,
    )


def _collect_costs(measurements: Measurements) -> dict[str, float]:
    """Return what the winner costs to run, and what an answer costs where the task counts that."""
    winner = measurements.winner
    cost = {
        **winner.latency_ms,
        "num_bytes": winner.num_bytes,
        "rss_mb": measurements.package.rss_mb,
        "longest": measurements.package.longest_ms or math.nan,
    }
    if measurements.metric.cost_unit:
        cost["answer"] = float(winner.test.per_example["cost"].mean())
    return cost


def _align_bound(measurements: Measurements) -> Bound:
    """Return the bound with the limits of single rows in the order of the scores."""
    bound = measurements.bound
    if bound.ids is None or not isinstance(bound.limit, np.ndarray):
        return bound
    limits = dict(zip(bound.ids, bound.limit, strict=True))
    ids = measurements.test_rows["id"].to_numpy()
    return replace(bound, ids=ids, limit=np.array([limits[name] for name in ids], float))


def _find_simple_candidate(
    scores: Mapping[str, np.ndarray], winner: str, simple: str | None
) -> np.ndarray | None:
    """Return the simple candidate's scores; None where it won or there is none."""
    if simple is None or simple == winner:
        return None
    return scores.get(simple)


def _compare_slices(
    measurements: Measurements,
    params: Params,
    baselines: Mapping[str, np.ndarray],
) -> list[Slice]:
    """Compare each group with the champion; without one, with the best baseline."""
    metric = measurements.metric.row_metric
    winner = measurements.winner.test.per_example[metric.name]
    if measurements.champion is None:
        name, _ = compare.find_best(baselines, measurements.metric)
        reference = measurements.baselines[name].per_example[metric.name]
    else:
        name, reference = "the champion", measurements.champion.per_example[metric.name]
    return compare.compare_slices(
        measurements.test_rows, winner, name, reference, metric, params.evaluation
    )


def _measure_calibration(
    test: Scores, metric: str, limits: Evaluation
) -> CalibrationFinding | None:
    """Compare confidence with accuracy; None where the scores have no confidence, or no limit."""
    stated = test.per_example.get("confidence")
    if stated is None or limits.max_calibration_error is None:
        return None
    hits = test.per_example.get("correct", test.per_example[metric])
    return measure_calibration(stated, hits, limits.max_calibration_error)


def _describe_champion(measurements: Measurements) -> ChampionDiff | None:
    """Describe the champion, and the rows of validation that it and the winner answer differently.

    Rows of the test split are not listed: who knows them can learn them by heart.
    """
    champion = measurements.subjects.champion
    scores = measurements.champion
    on_validation = measurements.champion_validation
    if champion is None or scores is None or on_validation is None:
        return None
    winner = measurements.winner.validation
    rows = align_rows(measurements.subjects.manifest, "validation", winner)
    record = {
        "model": champion.model,
        "version": champion.version,
        "bundle": champion.bundle,
        "metrics": dict(scores.metrics),
    }
    if measurements.disagreement:
        record |= measurements.disagreement.describe()
    flips = changes.find_flips(
        rows["id"].tolist(),
        measurements.validation_inputs,
        winner,
        on_validation,
        measurements.metric.row_metric,
    )
    return ChampionDiff(record, flips, measurements.subjects.changes)


def _pick_metric(everyone: Mapping[str, Scores], metric: Metric) -> dict[str, np.ndarray]:
    return {name: scores.per_example[metric.name] for name, scores in everyone.items()}


def _estimate_scores(
    everyone: Mapping[str, Scores], metric: Metric, confidence: float
) -> dict[str, Interval]:
    return {name: _estimate_score(scores, metric, confidence) for name, scores in everyone.items()}


def _estimate_score(scores: Scores, metric: Metric, confidence: float) -> Interval:
    return compute_mean_interval(scores.per_example[metric.name], metric.kind, confidence)
