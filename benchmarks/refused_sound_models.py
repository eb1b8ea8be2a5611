"""How often each gate refuses a model at its limit, and one inside it, and catches a faulty one.

    python -m benchmarks.refused_sound_models [--repeats 1000] [--only GATE] [--rows 200 1000 10000]
                                              [--runs CHECKOUT ...]

Answers of a model on a test split are drawn, and the gate itself is asked, at the limits of the
shipped params.yaml. The last row is how often one of them refuses, were they independent. With
--runs, the test rows of what the last `plumbline run` of that checkout evaluated are drawn with
replacement, and all gates are asked again, at the limits there. If more than one in a hundred
models inside the limits, or of those resampled, is refused by a gate that must not disprove, the
exit code is 1. A time is no sample of rows, and at its limit `budget` refuses every other model:
the last row leaves it out. Not asked: export, which compares by rounding, and what only reads
facts.
"""

import argparse
import contextlib
import functools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tests.support.questions import Facts

from plumbline.contract import layout
from plumbline.contract.loading import load_params, load_task
from plumbline.contract.machine import read_cpu_name
from plumbline.contract.params import Groups, Params, Selective
from plumbline.contract.records import Bound, Case, Leak, Scores
from plumbline.contract.task import Metric
from plumbline.evidence import compare
from plumbline.evidence.compare import compare_form
from plumbline.evidence.gates import GATES
from plumbline.evidence.judge import judge
from plumbline.evidence.records import Measurements, read_measurements
from plumbline.evidence.uncertainty import measure_selective
from plumbline.process.files import read_json
from plumbline.registry.package.clean_process import time_call
from plumbline.statistics.calibration import measure_calibration
from plumbline.statistics.error_ordering import ErrorOrdering, estimate_auroc
from plumbline.statistics.power import DISPROOF_CONFIDENCE

RECIPE = Path(__file__).resolve().parents[1] / "recipes/text_classification.yaml"
APART = Groups(columns=["group"], rate="error", max_gap=0.05, min_rows=50)
PROMISE = Selective(risk=0.02, min_coverage=0.5)
LIMITS = load_params(RECIPE).evaluation.model_copy(
    update={"slices": ["group"], "groups": APART, "selective": PROMISE}
)
CHECKS = {gate.name: gate.check for gate in GATES}
METRIC = Metric("accuracy", higher_is_better=True, kind="binary")
NUM_ROWS = (200, 1000, 10_000)
DISPROOF = "must not be disproved"
AIM = 0.01  # of models inside the limits, refused by any gate
ACCURACY = 0.93
MAJORITY = 0.1  # the share of the largest class
ROWS_EACH = 75  # of a group of a slice column
VALIDATION_SHARE = 0.75  # as many rows of validation as this times those of test
NUM_TIMES, CALLS_EACH = 100, 50  # p95 that are measured, and of how many calls
WRONG = 0.08  # share of errors whose order is judged
Draw = Callable[[np.random.Generator, int, float], dict[str, Any]]


@dataclass(frozen=True)
class Question:
    """A gate, what it is asked of, and three values of that: at its limit, inside, and a fault."""

    gate: str
    about: str
    values: tuple[float, float, float]
    draw: Draw


def main() -> None:
    """Print the table in Markdown, and the rate of all gates together."""
    parser = argparse.ArgumentParser(description="False refusals and catches of each gate.")
    parser.add_argument("--repeats", type=int, default=1_000)
    parser.add_argument("--only", default="", help="gates whose name holds this")
    parser.add_argument("--rows", type=int, nargs="+", default=NUM_ROWS)
    parser.add_argument("--runs", type=Path, nargs="+", default=[], help="checkouts with evidence")
    options = parser.parse_args()
    print("Share refused: at the limit / inside / a fault.\n")
    print("| gate | of | " + " | ".join(f"{rows:,} rows" for rows in options.rows) + " |")
    print("|---" * (2 + len(options.rows)) + "|", flush=True)
    kept = np.ones((len(options.rows), 2))  # of sound models, at the limit and inside
    for question in QUESTIONS:
        if options.only not in question.gate:
            continue
        rates = [measure_rates(question, rows, options.repeats) for rows in options.rows]
        cells = " | ".join(" / ".join(f"{rate:.1%}" for rate in row) for row in rates)
        at, inside, fault = question.values
        about = f"{question.about}: {at:g} / {inside:g} / {fault:g}"
        print(f"| {question.gate} | {about} | {cells} |", flush=True)
        if question.gate != "budget":
            kept *= 1 - np.array(rates)[:, :2]
    cells = " | ".join(f"{1 - at:.1%} / {1 - inside:.1%}" for at, inside in kept)
    print(f"| all but budget | | {cells} |")
    highest = (1 - kept[:, 1]).max()
    for folder in options.runs:
        resampled = [resample_run(folder, rows, options.repeats) for rows in options.rows]
        highest = max(highest, *(share for share, _ in resampled))
        cells = " | ".join(f"{share:.1%}{blamed}" for share, blamed in resampled)
        print(f"| all but budget | {folder.name}, resampled | {cells} |", flush=True)
    print(f"\n{read_cpu_name()}, {options.repeats} repeats")
    if highest > AIM:
        raise SystemExit(1)


def measure_rates(question: Question, num_rows: int, repeats: int) -> list[float]:
    """Return how often the gate refuses, at each of the question's values."""
    rates = []
    for value in question.values:
        random = np.random.default_rng(0)
        refused = 0
        for _ in range(repeats):
            facts = Facts(METRIC, LIMITS, **question.draw(random, num_rows, value))
            refused += CHECKS[question.gate](facts.build()).status == "fail"
        rates.append(refused / repeats)
    return rates


def resample_run(folder: Path, num_rows: int, repeats: int) -> tuple[float, str]:
    """Return how often a gate that must not disprove refuses the winner of a run, and which."""
    with contextlib.chdir(folder):
        params, measurements = read_run()
        random = np.random.default_rng(0)
        refusals: Counter[str] = Counter()
        refused = 0
        for _ in range(repeats):
            gates = judge(draw_rows(measurements, random, num_rows), params).gates
            names = [g.name for g in gates if g.status == "fail" and g.burden == DISPROOF]
            refusals.update(names)
            refused += bool(names)
    blamed = ", ".join(f"{name} {count / repeats:.1%}" for name, count in refusals.items())
    return refused / repeats, blamed and f" ({blamed})"


def read_run() -> tuple[Params, Measurements]:
    """Read what the last evaluation of this checkout measured."""
    params = load_params(layout.PARAMS)
    task = load_task(params.task).configure(params)
    return params, read_measurements(read_json(layout.EVIDENCE), task.metric)


def draw_rows(measured: Measurements, random: np.random.Generator, num_rows: int) -> Measurements:
    """Draw test rows with replacement, for validation too: a gap by chance is no truth."""
    table = measured.scores
    test_rows = table.get_rows("test")
    sizes = {"test": num_rows, "validation": int(VALIDATION_SHARE * num_rows)}
    drawn = {split: random.integers(len(test_rows), size=size) for split, size in sizes.items()}
    ids = {split: np.array([f"{split} {row}" for row in range(sizes[split])]) for split in sizes}
    scores = {}
    for (kind, name, split), own in table.scores.items():
        rows = table.scores[kind, name, "test"].per_example
        picked = {column: values[drawn[split]] for column, values in rows.items()}
        scores[kind, name, split] = Scores(picked | {"id": ids[split]}, own.metrics)
    parts = [table.rows[table.rows["split"] == "train"]]
    for split, rows in drawn.items():
        parts.append(test_rows.iloc[rows].assign(id=ids[split], split=split))
    bound = table.bound
    if isinstance(bound.limit, np.ndarray):
        bound = replace(bound, limit=bound.limit[drawn["test"]])
    leaks = tuple(
        replace(
            leak,
            num_leaked=int(random.binomial(num_rows, leak.num_leaked / leak.num_rows)),
            num_rows=num_rows,
        )
        for leak in measured.data.leaks
    )
    behaviour = tuple(
        replace(case, num_passed=draw_passed(random, case.num_passed / case.num_cases, case))
        for case in measured.runtime.behaviour
    )
    return replace(
        measured,
        data=replace(measured.data, leaks=leaks),
        scores=replace(table, scores=scores, bound=bound, rows=pd.concat(parts)),
        runtime=replace(measured.runtime, behaviour=behaviour),
    )


def draw_passed(random: np.random.Generator, share: float, case: Case) -> int:
    """Draw how many cases of a test pass."""
    return int(random.binomial(case.num_cases, share))


def draw_hits(random: np.random.Generator, num_rows: int, share: Any) -> np.ndarray:
    """Draw 0/1 scores [rows]."""
    return (random.random(num_rows) < share).astype(float)


def draw_leak(random: np.random.Generator, num_rows: int, share: float) -> dict[str, Any]:
    """Copy each row of train into test with a probability of `share`."""
    return {"leaks": [Leak("exact", "test", random.binomial(num_rows, share), num_rows, ())]}


def draw_gap(random: np.random.Generator, num_rows: int, gap: float) -> dict[str, Any]:
    """Let the test split be easier by `gap`."""
    on_validation = draw_hits(random, int(VALIDATION_SHARE * num_rows), ACCURACY)
    test = draw_hits(random, num_rows, ACCURACY + gap)
    return {"winner": test, "winner_validation": on_validation}


def draw_score(random: np.random.Generator, num_rows: int, score: float) -> dict[str, Any]:
    """Let 4 % of the labels be wrong."""
    return {"winner": draw_hits(random, num_rows, score), "bound": Bound(0.96, "noise")}


def draw_control(random: np.random.Generator, num_rows: int, share: float) -> dict[str, Any]:
    """Let the control have a share of the winner's gain, on other rows than the baseline."""
    control = MAJORITY + share * (ACCURACY - MAJORITY)
    return {
        "winner": draw_hits(random, num_rows, ACCURACY),
        "baselines": {"majority": draw_hits(random, num_rows, MAJORITY)},
        "controls": {"linear": draw_hits(random, num_rows, control)},
    }


def draw_groups(random: np.random.Generator, num_rows: int, loss: float) -> dict[str, Any]:
    """Let one group lose as much against the champion, with which the winner mostly agrees."""
    groups = np.arange(num_rows) // ROWS_EACH % max(2, min(12, num_rows // ROWS_EACH))
    champion = draw_hits(random, num_rows, ACCURACY)
    winner = np.where(random.random(num_rows) < 0.05, draw_hits(random, num_rows, 0.9), champion)
    lost = (groups == 0) & (random.random(num_rows) < loss / ACCURACY)
    winner[lost] = 0.0
    rows = pd.DataFrame({"group": groups.astype(str)})
    slices = compare.compare_slices(rows, winner, "champion", champion, METRIC, LIMITS)
    return {"winner": winner, "slices": slices}


def draw_apart(random: np.random.Generator, num_rows: int, gap: float) -> dict[str, Any]:
    """Let one of four groups be wrong more often by `gap`."""
    groups = np.arange(num_rows) % 4
    rows = pd.DataFrame({"group": groups.astype(str), "label": "", "split": "test"})
    return {"manifest": rows, "winner": draw_hits(random, num_rows, ACCURACY - gap * (groups == 0))}


def draw_boast(random: np.random.Generator, num_rows: int, error: float) -> dict[str, Any]:
    """Let each answer be right less often than it says."""
    confidence = 0.15 + 0.85 * random.beta(4, 1, num_rows)
    return judge_confidence(random, confidence, confidence - error)


def draw_boast_in_one_place(
    random: np.random.Generator, num_rows: int, error: float
) -> dict[str, Any]:
    """Let the most confident fifth make the whole error."""
    confidence = 0.15 + 0.85 * random.beta(4, 1, num_rows)
    is_top = confidence > np.quantile(confidence, 0.8)
    return judge_confidence(random, confidence, confidence - 5 * error * is_top)


def judge_confidence(
    random: np.random.Generator, confidence: np.ndarray, accuracy: np.ndarray
) -> dict[str, Any]:
    """Draw answers that are right with these probabilities [rows]."""
    hits = draw_hits(random, confidence.size, accuracy)
    limit = LIMITS.max_calibration_error or 0.0
    return {"calibration": measure_calibration(confidence, hits, limit)}


def draw_doubt(random: np.random.Generator, num_rows: int, area: float) -> dict[str, Any]:
    """Draw normal uncertainties with an AUROC of `area` for the errors."""
    from scipy.stats import norm

    hits = draw_hits(random, num_rows, 1 - WRONG)
    doubt = random.normal(0, 1, num_rows) + (1 - hits) * np.sqrt(2) * norm.ppf(area)
    area, interval = estimate_auroc(doubt, 1 - hits, LIMITS.confidence)
    highest = estimate_auroc(doubt, 1 - hits, DISPROOF_CONFIDENCE)[1].high
    num_errors = num_rows - int(hits.sum())
    ordering = ErrorOrdering(num_rows, num_errors, num_rows, area, interval, highest)
    return {"winner": hits, "orderings": {"epistemic": ordering, "total": ordering}}


def draw_risk(random: np.random.Generator, num_rows: int, risk: float) -> dict[str, Any]:
    """Let a model answer every row, with a risk that 1,000 validation rows showed to be 0."""
    names = ("confidence", "answered", "accuracy")
    validation = Scores({name: np.ones(1000) for name in names}, {})
    full = {name: np.ones(num_rows) for name in names}
    test = Scores(full | {"accuracy": draw_hits(random, num_rows, 1 - risk)}, {})
    return {"selective": measure_selective(validation, test, METRIC, LIMITS)}


def draw_form(random: np.random.Generator, num_rows: int, agreement: float) -> dict[str, Any]:
    """Let a form answer other rows otherwise, as often rightly as it loses."""
    trained = draw_hits(random, num_rows, ACCURACY)
    is_other = random.random(num_rows) >= agreement
    served = np.where(is_other, draw_hits(random, num_rows, 0.5), trained)
    trained = np.where(is_other, draw_hits(random, num_rows, 0.5), trained)
    return judge_form(served, trained, is_other)


def draw_loss(random: np.random.Generator, num_rows: int, loss: float) -> dict[str, Any]:
    """Let a form answer wrongly where the trained one is right."""
    trained = draw_hits(random, num_rows, ACCURACY)
    is_lost = (trained > 0) & (random.random(num_rows) < loss / ACCURACY)
    return judge_form(np.where(is_lost, 0.0, trained), trained, is_lost)


def judge_form(served: np.ndarray, trained: np.ndarray, is_other: np.ndarray) -> dict[str, Any]:
    """Compare scores [rows] of both forms, and answers that differ where `is_other`."""
    same = np.zeros(trained.size, int)
    int8 = Scores({"accuracy": served, "predicted": is_other.astype(int)}, {})
    fp32 = Scores({"accuracy": trained, "predicted": same}, {})
    return {"form": "int8", "parity": compare_form(int8, fp32, METRIC)}


def draw_cases(kind: Any, random: np.random.Generator, rows: int, share: float) -> dict[str, Any]:
    """Let one test of this kind pass by this share, and four others always: they share a level."""
    others = [Case("other", "invariance", 200, 200, (), is_sample=True)] * 4
    case = Case("drawn", kind, 0, min(rows, 50 if kind == "minimum" else 200), (), is_sample=True)
    drawn = replace(case, num_passed=draw_passed(random, share, case))
    return {"behaviour": [drawn, *others]}


def draw_time(random: np.random.Generator, num_rows: int, share: float) -> dict[str, Any]:
    """Draw a time that was measured here, of a call that usually takes this share of the limit."""
    times, slowdowns = measure_times()
    drawn = int(random.integers(times.size))
    p95 = share * (LIMITS.budget.one_p95_ms or 0.0) * times[drawn] / np.median(times)
    others = dict.fromkeys(("batch_p95", "longest", "rss_mb", "num_bytes"), 0.0)
    return {"cost": others | {"one_p95": p95, "slowdown": slowdowns[drawn]}}


@functools.cache
def measure_times() -> tuple[np.ndarray, np.ndarray]:
    """Time a product of matrices as `evaluate` times a model: p95 [times], and the slowdown."""
    matrix = np.ones((200, 200))
    shape = (NUM_TIMES, CALLS_EACH)
    calls = [time_call(lambda: matrix @ matrix) for _ in range(NUM_TIMES * CALLS_EACH)]
    least, here = (np.reshape(times, shape) for times in zip(*calls, strict=True))
    return np.percentile(least, 95, axis=1), here.sum(axis=1) / least.sum(axis=1)


QUESTIONS = (
    Question("leakage", "share of copies", (0.005, 0.001, 0.1), draw_leak),
    Question("consistency", "test is easier by", (0.01, 0.0, 0.07), draw_gap),
    Question("bounds", "accuracy, of 0.96", (0.96, 0.94, 1.0), draw_score),
    Question("control", "share of the gain", (0.2, 0.0, 0.6), draw_control),
    Question("slices", "loss of a group", (0.02, 0.0, 0.5), draw_groups),
    Question("groups", "gap of two groups", (0.05, 0.0, 0.3), draw_apart),
    Question("calibration", "off everywhere by", (0.05, 0.0, 0.2), draw_boast),
    Question("calibration", "off in one place", (0.05, 0.0, 0.18), draw_boast_in_one_place),
    Question("uncertainty", "AUROC for errors", (0.65, 0.8, 0.5), draw_doubt),
    Question("selective", "risk", (0.02, 0.005, 0.1), draw_risk),
    Question(
        "behaviour",
        "cases of invariance",
        (0.75, 0.85, 0.5),
        functools.partial(draw_cases, "invariance"),
    ),
    Question(
        "behaviour", "typical texts", (0.9, 0.97, 0.6), functools.partial(draw_cases, "minimum")
    ),
    Question("budget", "p95, of its limit", (1.0, 0.5, 2.0), draw_time),
    Question("parity", "agreement", (0.98, 0.998, 0.9), draw_form),
    Question("parity", "loss", (0.01, 0.002, 0.1), draw_loss),
)


if __name__ == "__main__":
    main()
