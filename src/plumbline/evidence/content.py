"""What evidence.json says: what was measured, and what follows from it, as plain values."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from plumbline.contract import layout
from plumbline.contract.machine import describe_machine
from plumbline.contract.params import Params
from plumbline.contract.records import Candidate, Scores
from plumbline.contract.task import Task
from plumbline.contract.trainings import locate_hardware
from plumbline.evidence import compare
from plumbline.evidence.choice import describe_seeds
from plumbline.evidence.document import DIGESTED_FILES, FORMAT, describe_params
from plumbline.evidence.gates import GateQuestion
from plumbline.evidence.judge import Judgement
from plumbline.process.files import digest_path, read_json
from plumbline.statistics.intervals import Interval

if TYPE_CHECKING:
    from plumbline.evidence.gather import Subjects
    from plumbline.evidence.measure import Exhibits

WRITTEN_BY_EVALUATE = ("golden", "predictions", "reference")
# What gates found; so it is where a gate cannot be computed.
UNKNOWN: Mapping[str, Any] = {
    "comparison": None, "lag": None, "looks": {}, "selective": None, "slices": [],
    "uncertainty": {},
}  # fmt: skip


def build_evidence(
    facts: Mapping[str, Any],
    judgement: Judgement,
    subjects: "Subjects",
    exhibits: "Exhibits",
    task: Task[Params],
) -> dict[str, Any]:
    """Build evidence.json but for its seal; `WRITTEN_BY_EVALUATE` are on disk already."""
    winner = exhibits.candidates[0]
    return {
        **facts,
        "format": FORMAT,
        "task": task.name,
        "model": subjects.params.registry.model,
        **describe_judgement(judgement, subjects.params, task),
        # in the order in which the task ranks them
        "other_metrics": [name for name in winner.test.metrics if name != task.metric.name],
        "params": describe_params(subjects.params),
        "flips": exhibits.flips,
        "notes": _collect_notes(exhibits.candidates),
        "bundles": list_bundles(subjects.candidates, subjects.controls),
        "digests": _collect_digests(subjects, winner),
        "lineage": subjects.lineage,
        "hardware": _describe_hardware(exhibits.candidates),
    }


def describe_judgement(judgement: Judgement, params: Params, task: Task[Params]) -> dict[str, Any]:
    """Describe what follows from the measurements, and can be derived again from their record."""
    question = judgement.question
    gates, found = [], dict(UNKNOWN)
    for gate in judgement.gates:
        described = asdict(gate)
        found |= described.pop("details")
        gates.append(described)
    return {
        "metric": asdict(task.metric),
        "verdict": judgement.verdict,
        "summary": judgement.summary,
        "winner": question.choice.winner,
        # on validation, best first
        "ranking": list(question.choice.ranking),
        "choice": asdict(question.choice),
        "trials": list_searched(params),
        "gates": gates,
        "loosened": dict(judgement.loosened),
        "thresholds": params.evaluation.model_dump(mode="json"),
        "candidates": _describe_candidates(question),
        "baselines": {
            name: _describe_scores(scores, question.estimate_score(scores))
            for name, scores in question.table.select("baseline").items()
        },
        "comparisons": compare.compare_pairs(
            question.candidates, question.metric, question.limits.confidence
        ),
        **found,
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


def _describe_candidates(question: GateQuestion) -> dict[str, Any]:
    described = {}
    for number, candidate in enumerate(question.candidates):
        interval = question.score_interval
        if number:
            interval = question.estimate_score(candidate.test)
        described[candidate.name] = _describe_scores(candidate.test, interval) | {
            "validation": dict(candidate.validation.metrics),
            **describe_seeds(candidate, question.metric),
        }
    return described


def _collect_notes(candidates: Sequence[Candidate]) -> dict[str, list[str]]:
    """Collect what training left in the bundles to be read by people, such as texts that are cut.

    A task writes it under `notes` in the bundle's config.json; most have nothing to say.
    """
    notes = {}
    for candidate in candidates:
        path = layout.locate_bundle(candidate.bundle) / "config.json"
        sentences = read_json(path).get("notes") if path.exists() else None
        if sentences:
            notes[candidate.name] = [str(sentence) for sentence in sentences]
    return notes


def _describe_hardware(candidates: Sequence[Candidate]) -> dict[str, Any]:
    """Describe the machine of the evaluation, and with what each candidate was trained.

    A bundle that no stage trained, as in the selftest, does not say.
    """
    paths = {candidate.name: locate_hardware(candidate.bundle) for candidate in candidates}
    trainings = {name: read_json(path) for name, path in paths.items() if path.exists()}
    return {"evaluation": describe_machine(), "trainings": trainings}


def _describe_scores(test: Scores, interval: Interval) -> dict[str, Any]:
    low, high = interval
    return {"test": dict(test.metrics), "test_interval": {"low": low, "high": high}}


def _collect_digests(subjects: "Subjects", winner: Candidate) -> dict[str, str]:
    written = {name: digest_path(DIGESTED_FILES[name]) for name in WRITTEN_BY_EVALUATE}
    return {**subjects.data.digests, **written, "bundle": subjects.candidates[winner.bundle]}
