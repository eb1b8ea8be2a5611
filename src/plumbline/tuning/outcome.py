"""What a search found: its trials, how optimistic the best of them is, and what to write."""

from collections.abc import Mapping
from pathlib import Path
from statistics import mean
from typing import Any

from optuna.trial import TrialState

from plumbline.contract.params import Params
from plumbline.process.files import write_aside
from plumbline.reporting import html
from plumbline.tuning import space
from plumbline.tuning.search import BEFORE, SearchResult
from plumbline.tuning.studies import describe_state, find_number, list_trials

FOLDER = Path("reports/tuning")


def score_repeats(result: SearchResult) -> list[float | None]:
    """List what the winner scores when it is trained again: with the same seed, then with others.

    The score of the best of n trials is a high one: it had luck.
    """
    scores = {
        trial.params["repeat"]: trial.value
        for trial in (list_trials(result.repeats) if result.repeats else [])
        if trial.state == TrialState.COMPLETE
    }
    return [scores.get(repeat) for repeat in range(max(scores, default=-1) + 1)]


def average_others(repeats: list[float | None]) -> float | None:
    """Return the mean over the other seeds."""
    others = [score for score in repeats[1:] if score is not None]
    return mean(others) if others else None


def find_shipped_score(result: SearchResult, params: Params) -> float | None:
    """Return the score of what params.yaml says, which a search begins with."""
    shipped = space.read_values(params, result.request.candidate)
    for trial in list_trials(result.study):
        values = space.round_values(trial.params, params, result.request.candidate)
        if trial.state == TrialState.COMPLETE and values == shipped:
            return trial.value
    return None


def propose_values(result: SearchResult, params: Params) -> dict[str, Any]:
    """Return what to write into the candidate: the values that differ, and how many trials.

    The trials of searches before this one, from whose values it began, count too.
    """
    shipped = space.read_values(params, result.request.candidate)
    changed = {key: value for key, value in result.winner.items() if shipped[key] != value}
    before = int(result.study.user_attrs.get(BEFORE, 0))
    return changed | {"trials": before + len(list_trials(result.study))}


def write_page(result: SearchResult, params: Params, proposed: Mapping[str, Any]) -> Path:
    """Write reports/tuning/<candidate>.html, and return its path."""
    candidate = result.request.candidate
    path = FOLDER / f"{candidate}.html"
    repeats = score_repeats(result)
    values = {
        "candidate": candidate,
        "metric": result.request.metric,
        "sampler": result.request.sampler,
        "keys": sorted(result.winner),
        "trials": [
            (find_number(trial), trial, describe_state(trial))
            for trial in list_trials(result.study)
        ],
        "best": result.study.best_value,
        "shipped": find_shipped_score(result, params),
        "repeats": repeats,
        "mean": average_others(repeats),
        "proposed": proposed,
    }
    with write_aside(path) as aside:
        aside.write_text(html.render_template("tuning.html", values), encoding="utf-8")
    return path
