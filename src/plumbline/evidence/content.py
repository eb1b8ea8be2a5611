"""What evidence.json says: measurements, comparisons, gates and the verdict as plain values."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from plumbline.contract import layout
from plumbline.contract.machine import describe_machine
from plumbline.contract.params import Params
from plumbline.contract.records import Scores
from plumbline.contract.task import Task
from plumbline.contract.trainings import locate_hardware
from plumbline.evidence.document import (
    DIGESTED_FILES,
    FORMAT,
    describe_params,
)
from plumbline.evidence.gates import Findings
from plumbline.evidence.gates.behaviour import describe_tests
from plumbline.evidence.judge import Judgement
from plumbline.evidence.measurements import Measurements
from plumbline.evidence.seeds import describe_seeds
from plumbline.evidence.variants import build_variants_table
from plumbline.process.files import digest_path, read_json
from plumbline.statistics import intervals
from plumbline.statistics.intervals import Interval

WRITTEN_BY_EVALUATE = ("golden", "predictions", "reference")


def build_evidence(
    measurements: Measurements, judgement: Judgement, task: Task[Params]
) -> dict[str, Any]:
    """Build evidence.json but for its seal; `WRITTEN_BY_EVALUATE` are on disk already."""
    subjects = measurements.subjects
    diff = judgement.champion_diff
    metrics = measurements.winner.test.metrics
    return {
        "format": FORMAT,
        "task": task.name,
        "model": subjects.params.registry.model,
        **describe_judgement(measurements, judgement, task),
        # in the order in which the task ranks them
        "other_metrics": [name for name in metrics if name != task.metric.name],
        "params": describe_params(subjects.params),
        "cost": _describe_costs(measurements),
        "rehearsal": _describe_rehearsal(measurements),
        "champion": diff and diff.champion,
        "flips": diff and diff.flips,
        "changes": diff and diff.changes,
        "notes": _collect_notes(measurements),
        "answers": list(measurements.answers),
        "export": [asdict(difference) for difference in measurements.export],
        "bundles": list_bundles(subjects.candidates, subjects.controls),
        "digests": _collect_digests(measurements),
        "lineage": subjects.lineage,
        "hardware": _describe_hardware(measurements),
    }


def describe_judgement(
    measurements: Measurements, judgement: Judgement, task: Task[Params]
) -> dict[str, Any]:
    """Describe what follows from the measurements, and can be derived again from their record."""
    winner = measurements.winner
    return {
        "metric": asdict(task.metric),
        "verdict": judgement.verdict,
        "summary": judgement.summary,
        "winner": winner.name,
        # on validation, best first
        "ranking": list(measurements.choice.ranking),
        "choice": asdict(measurements.choice),
        "trials": list_searched(measurements.subjects.params),
        "gates": [asdict(gate) for gate in judgement.gates],
        "loosened": dict(judgement.loosened),
        "thresholds": measurements.subjects.params.evaluation.model_dump(mode="json"),
        "candidates": _describe_candidates(measurements, judgement),
        "baselines": _describe_baselines(measurements, judgement),
        "forms": build_variants_table(
            measurements.variants,
            judgement.variant_intervals,
            judgement.variant_parities,
            task.metric,
        ),
        "uncertainty": _describe_orderings(judgement),
        "selective": judgement.findings.selective and asdict(judgement.findings.selective),
        "comparisons": judgement.pairs,
        "comparison": _describe_comparison(judgement.findings),
        "lag": judgement.findings.lag,
        "looks": _describe_looks(judgement.findings),
        "slices": [asdict(slice_) for slice_ in judgement.findings.slices],
        "behaviour": list(
            describe_tests(measurements.behaviour, judgement.findings.limits.min_behaviour)
        ),
    }


def list_searched(params: Params) -> dict[str, int]:
    """Map each candidate whose values were chosen by a search to how many trials it had.

    Its score on validation, which chose them, is optimistic; that on test is not.
    """
    trials = {name: getattr(config, "trials", None) for name, config in params.candidates.items()}
    return {name: count for name, count in trials.items() if count}


def list_bundles(candidates: Mapping[str, str], controls: Mapping[str, str]) -> dict[str, str]:
    """Return the digest of every bundle that was scored, by the name of its folder."""
    return {**candidates, **{layout.name_control(name): value for name, value in controls.items()}}


def _describe_candidates(measurements: Measurements, judgement: Judgement) -> dict[str, Any]:
    described = {}
    for candidate in measurements.candidates:
        interval = judgement.candidate_intervals[candidate.name]
        described[candidate.name] = _describe_scores(candidate.test, interval) | {
            "validation": dict(candidate.validation.metrics),
            **describe_seeds(candidate, measurements.metric),
        }
    return described


def _describe_orderings(judgement: Judgement) -> dict[str, Any]:
    """Return how the uncertainty of each candidate that has one orders its errors."""
    return {
        name: {kind: asdict(ordering) for kind, ordering in orderings.items()}
        for name, orderings in judgement.orderings.items()
        if orderings
    }


def _collect_notes(measurements: Measurements) -> dict[str, list[str]]:
    """Collect what training left in the bundles to be read by people, such as texts that are cut.

    A task writes it under `notes` in the bundle's config.json; most have nothing to say.
    """
    notes = {}
    for candidate in measurements.candidates:
        path = layout.locate_bundle(candidate.bundle) / "config.json"
        sentences = read_json(path).get("notes") if path.exists() else None
        if sentences:
            notes[candidate.name] = [str(sentence) for sentence in sentences]
    return notes


def _describe_hardware(measurements: Measurements) -> dict[str, Any]:
    """Describe the machine of the evaluation, and with what each candidate was trained.

    A bundle that no stage trained, as in the selftest, does not say.
    """
    paths = {
        candidate.name: locate_hardware(candidate.bundle) for candidate in measurements.candidates
    }
    trainings = {name: read_json(path) for name, path in paths.items() if path.exists()}
    return {"evaluation": describe_machine(), "trainings": trainings}


def _describe_baselines(measurements: Measurements, judgement: Judgement) -> dict[str, Any]:
    return {
        name: _describe_scores(scores, judgement.baseline_intervals[name])
        for name, scores in measurements.baselines.items()
    }


def _describe_scores(test: Scores, interval: Interval) -> dict[str, Any]:
    low, high = interval
    return {"test": dict(test.metrics), "test_interval": {"low": low, "high": high}}


def _describe_costs(measurements: Measurements) -> dict[str, Any]:
    """Return what each candidate costs to run; it differs from run to run."""
    return {
        candidate.name: {**candidate.latency_ms, "num_bytes": candidate.num_bytes}
        for candidate in measurements.candidates
    }


def _describe_rehearsal(measurements: Measurements) -> dict[str, Any]:
    """Describe how the packaged winner was asked again: which rows, and how far from all else."""
    package = measurements.package
    return {
        "num_rows": package.num_rows,
        "num_singles": package.num_singles,
        "seed": package.seed,
        "longest_ms": package.longest_ms,
        "rss_mb": package.rss_mb,
        "problems": list(package.problems),
    }


def _describe_looks(findings: Findings) -> dict[str, Any]:
    return {
        "number": findings.look.number,
        "planned": findings.limits.planned_looks,
        "level": findings.level,
    }


def _describe_comparison(findings: Findings) -> dict[str, Any] | None:
    """Describe the comparison with the champion; None without one or without significance left."""
    comparison = findings.champion_comparison
    if comparison is None or findings.champion is None:
        return None
    only_challenger, only_champion = None, None
    if findings.metric.kind == "binary":
        only_challenger, only_champion = intervals.count_discordant(
            findings.winner, findings.champion
        )
    return {
        "difference": comparison.difference,
        "low": comparison.interval.low,
        "high": comparison.interval.high,
        "p_value": comparison.p_value,
        "level": findings.level,
        "confidence": 1 - findings.level,
        "only_challenger": only_challenger,
        "only_champion": only_champion,
        **_describe_seed_reach(findings),
    }


def _describe_seed_reach(findings: Findings) -> dict[str, Any]:
    """Describe the part of that interval that seeds make; nothing where there is one seed."""
    comparison, spread = findings.champion_comparison, findings.seeds
    if comparison is None or spread is None:
        return {}
    return {"seeds": asdict(spread) | {"reach": comparison.seed_reach}}


def _collect_digests(measurements: Measurements) -> dict[str, str]:
    subjects = measurements.subjects
    written = {name: digest_path(DIGESTED_FILES[name]) for name in WRITTEN_BY_EVALUATE}
    winner = {"bundle": subjects.candidates[measurements.winner.bundle]}
    return {**subjects.digests, **written, **winner}
