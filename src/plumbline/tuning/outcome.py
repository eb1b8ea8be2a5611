"""What a search found: its trials, how optimistic the best of them is, and what to write."""

from statistics import mean
from typing import Any

from optuna.trial import TrialState

from plumbline.contract.params import Params
from plumbline.tuning import space
from plumbline.tuning.search import BEFORE, SearchResult
from plumbline.tuning.studies import list_trials


def average_other_seeds(result: SearchResult) -> float | None:
    """Return the mean score of the winner when it is trained again with other seeds.

    The score of the best of n trials is a high one: it had luck.
    """
    scores = [
        trial.value
        for trial in (list_trials(result.repeats) if result.repeats else [])
        if trial.state == TrialState.COMPLETE and trial.params["repeat"] and trial.value is not None
    ]
    return mean(scores) if scores else None


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
