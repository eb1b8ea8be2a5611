"""What a search found: its trials, how optimistic the best of them is, and what to write."""

from dataclasses import dataclass
from statistics import mean
from typing import Any

from optuna.trial import FrozenTrial, TrialState

from plumbline.contract.params import StrictModel
from plumbline.tuning.positions import ERROR, map_attempts
from plumbline.tuning.search import BEFORE, SearchResult


@dataclass(frozen=True)
class Optimism:
    """What the winner scores when it is trained again: the score of the best of n is a high one."""

    best: float  # in the search
    again: float | None  # the same seed again
    others: tuple[float, ...]  # other seeds

    @property
    def mean(self) -> float | None:
        """The mean over the other seeds."""
        return mean(self.others) if self.others else None

    @property
    def gap(self) -> float | None:
        """The best of n less that mean; how much of the best is the luck of its seed."""
        return None if self.mean is None else self.best - self.mean


def list_trials(result: SearchResult) -> list[tuple[int, FrozenTrial]]:
    """List the last entry of each trial by its position."""
    return sorted(map_attempts(result.study.get_trials()).items())


def describe_state(trial: FrozenTrial) -> str:
    """Describe how a trial ended, or that it did not."""
    if trial.state == TrialState.FAIL:
        return f"failed: {trial.user_attrs.get(ERROR, 'its worker ended before it did')}"
    return str(trial.state.name).lower()


def measure_optimism(result: SearchResult) -> Optimism:
    """Compare the best score with those of the winner's repeats."""
    scores = {}
    if result.repeats is not None:
        for position, trial in map_attempts(result.repeats.get_trials()).items():
            if trial.state == TrialState.COMPLETE and trial.value is not None:
                scores[position] = trial.value
    others = tuple(value for position, value in sorted(scores.items()) if position > 0)
    return Optimism(result.study.best_value, scores.get(0), others)


def find_shipped_score(result: SearchResult) -> float | None:
    """Return the score of what params.yaml says, which a search begins with."""
    for _, trial in list_trials(result):
        if trial.state == TrialState.COMPLETE and trial.params == result.shipped:
            return trial.value
    return None


def propose_values(result: SearchResult, config: StrictModel) -> dict[str, Any]:
    """Return what to write into the candidate: the values that differ, and how many trials.

    The trials of searches before this one, from whose values it began, count too.
    """
    winner = result.winner.items()
    changed = {key: value for key, value in winner if getattr(config, key) != value}
    before = int(result.study.user_attrs.get(BEFORE, 0))
    return changed | {"trials": before + len(list_trials(result))}
