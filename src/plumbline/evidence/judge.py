"""Fourth step of an evaluation: from measurements to gates and one verdict."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from plumbline.contract.params import Params
from plumbline.contract.records import Candidate, Scores, SeedScores
from plumbline.contract.task import Task
from plumbline.contract.trainings import list_trainings
from plumbline.contract.verdict import Verdict, decide_verdict
from plumbline.evidence.choice import build_candidate, build_seed_record, choose, put_first
from plumbline.evidence.gates import GateQuestion, GateResult, run_gates
from plumbline.evidence.gates.limits import find_loosened
from plumbline.evidence.records import Measurements
from plumbline.evidence.scores import Kind, name_answers
from plumbline.statistics.intervals import Interval

# What gates found; so it is where a gate cannot be computed.
UNKNOWN: Mapping[str, Any] = {
    "comparison": None, "lag": None, "looks": {}, "selective": None, "slices": [],
    "uncertainty": {},
}  # fmt: skip


@dataclass(frozen=True)
class Judgement:
    """What follows from the measurements."""

    question: GateQuestion
    gates: Sequence[GateResult]
    verdict: Verdict
    summary: str
    loosened: Mapping[str, str]  # keys of params that are looser than the reference


def judge(measured: Measurements, params: Params) -> Judgement:
    """Ask every gate and decide the verdict; it depends on nothing else."""
    metric = measured.scores.metric
    candidates = [read_candidate(measured, params, name) for name in params.candidates]
    choice = choose(candidates, metric, params.evaluation)
    ordered = put_first(choice, candidates)
    facts = (measured.data, measured.scores, measured.champion, measured.runtime)
    controls = params.control.candidates
    question = GateQuestion(*facts, params.evaluation, ordered, choice, controls)
    results = run_gates(question)
    loosened: dict[str, str] = {}
    if question.baselines:  # without any, the gate baselines fails
        _, baseline = question.best_baseline
        is_confident = "confidence" in question.best.test.per_example
        loosened = find_loosened(params, metric, float(baseline.mean()), is_confident)
    return Judgement(
        question=question,
        gates=results,
        verdict=decide_verdict({result.name: result.status for result in results}),
        summary=summarise_verdict(choice.winner, results, loosened, measured.data.look.change),
        loosened=loosened,
    )


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
        **found,
    }


def list_searched(params: Params) -> dict[str, int]:
    """Map each candidate whose values were chosen by a search to how many trials it had.

    Its score on validation, which chose them, is optimistic; that on test is not.
    """
    searched = {}
    for name, config in params.candidates.items():
        trials = getattr(config, "trials", None)
        if trials:
            searched[name] = trials
    return searched


def summarise_verdict(
    winner: str,
    gates: Sequence[GateResult],
    loosened: Mapping[str, str] | None = None,
    change: str = "",
) -> str:
    """Say the verdict, which limits are loosened, and what an earlier look asked otherwise."""
    failed = [gate.name for gate in gates if gate.status == "fail"]
    num_passed = sum(gate.status == "pass" for gate in gates)
    num_other = len(gates) - num_passed - len(failed)
    passed = f"{num_passed} gates passed"
    if num_other:
        passed += f", {num_other} did not apply"
    match decide_verdict({gate.name: gate.status for gate in gates}):
        case "promote":
            said = f"{winner} may be promoted: {passed}."
        case "keep":
            said = f"{winner} is sound, but the champion stays: {passed}, champion failed."
        case "refuse":
            reason = ", ".join(failed) or "no gate was asked"
            said = f"{winner} must not be promoted: {reason} failed."
    if loosened:
        shown = "; ".join(f"{key} is {text}" for key, text in loosened.items())
        said += f" Looser than the reference: {shown}."
    return f"{said} {change}".rstrip()


def read_candidate(measured: Measurements, params: Params, name: str) -> Candidate:
    """Read what was measured of a candidate; of several seeds the median is found again."""
    table = measured.scores.scores
    latency = dict(measured.runtime.cost[name])
    num_bytes = int(latency.pop("num_bytes"))
    trainings = list_trainings(params, name)
    kind: Kind = "seed" if len(trainings) > 1 else "candidate"
    seeds = []
    for seed, bundle in trainings.items():
        answers = name_answers(name, f"seed{seed}") if kind == "seed" else name
        validation, test = table[kind, answers, "validation"], table[kind, answers, "test"]
        seeds.append(SeedScores(seed, bundle, validation, test))
    return build_candidate(name, seeds, measured.scores.metric, latency, num_bytes)


def _describe_candidates(question: GateQuestion) -> dict[str, Any]:
    described = {}
    for number, candidate in enumerate(question.candidates):
        interval = question.score_interval
        if number:
            interval = question.estimate_score(candidate.test)
        described[candidate.name] = _describe_scores(candidate.test, interval) | {
            "validation": dict(candidate.validation.metrics),
            **build_seed_record(candidate, question.metric),
        }
    return described


def _describe_scores(test: Scores, interval: Interval) -> dict[str, Any]:
    low, high = interval
    return {"test": dict(test.metrics), "test_interval": {"low": low, "high": high}}
