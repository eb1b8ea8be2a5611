"""Which trial of a search an entry in Optuna's storage is, however often its worker was killed.

A trial that was cut off is entered again, under a new number of Optuna's. Its position in the
search stays: the rank of its first entry. Positions come in generations, and what is tried in one
follows from the results of those before. So the trials of a search do not depend on how many
workers there are, or which of them dies.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from optuna import Study
    from optuna.trial import FrozenTrial

GENERATION = 5  # trials that can run side by side
MAX_RETRIES = 5  # Ctrl-C counts as one too: a trial goes on from its checkpoint
ERROR = "error"  # an attribute of a trial that failed by itself
FIRST = "failed_trial"  # Optuna's own attributes of a trial that was entered again
RETRIES = "retry_history"


def map_attempts(trials: Sequence["FrozenTrial"]) -> dict[int, "FrozenTrial"]:
    """Map each position to its last entry."""
    ordered = sorted(trials, key=lambda trial: trial.number)
    firsts = [trial.number for trial in ordered if FIRST not in trial.system_attrs]
    ranks = {number: position for position, number in enumerate(firsts)}
    return {ranks[_find_first(trial)]: trial for trial in ordered}


def find_position(trials: Sequence["FrozenTrial"], trial: "FrozenTrial") -> int:
    """Return the position of a trial among `trials`."""
    first = _find_first(trial)
    return sum(other.number < first and FIRST not in other.system_attrs for other in trials)


def is_final(trial: "FrozenTrial") -> bool:
    """Whether nothing more comes of this trial."""
    return trial.state.is_finished() and not is_lost(trial)


def is_lost(trial: "FrozenTrial") -> bool:
    """Whether the trial ended with its worker, and is to be tried again."""
    from optuna.trial import TrialState

    return (
        trial.state == TrialState.FAIL
        and ERROR not in trial.user_attrs
        and len(trial.system_attrs.get(RETRIES, [])) < MAX_RETRIES
    )


def is_startable(attempts: dict[int, "FrozenTrial"], position: int) -> bool:
    """Whether all that the values of `position` follow from is known."""
    earlier = range(_find_generation(position))
    return all(other in attempts and is_final(attempts[other]) for other in earlier)


def is_hopeless(attempts: dict[int, "FrozenTrial"]) -> bool:
    """Whether a whole generation failed by itself: so would the next one."""
    failed = [trial for trial in attempts.values() if ERROR in trial.user_attrs]
    return len(attempts) == len(failed) >= GENERATION


def build_view(study: "Study", trial: "FrozenTrial") -> "Study":
    """Return a study in memory with the results of all generations before that of `trial`."""
    import optuna

    trials = study.get_trials(deepcopy=False)
    attempts = map_attempts(trials)
    start = _find_generation(find_position(trials, trial))
    view = optuna.create_study(direction=study.direction)
    for position in range(start):
        earlier = attempts[position]
        if earlier.state != optuna.trial.TrialState.FAIL:
            view.add_trial(earlier)
    return view


def _find_generation(position: int) -> int:
    """Return the first position of a generation."""
    return position // GENERATION * GENERATION


def _find_first(trial: "FrozenTrial") -> int:
    return int(trial.system_attrs.get(FIRST, trial.number))
