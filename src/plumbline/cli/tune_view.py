"""The trials of a search as they go on: a live table at a terminal, else a line for each."""

from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from plumbline.tuning.params_edit import format_scalar

if TYPE_CHECKING:
    from optuna import Study
    from optuna.trial import FrozenTrial

    from plumbline.tuning.request import SearchRequest

MAX_ROWS = 15  # of ended trials: the best ones


class TrialTable:
    """Shows a study at each update."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Live | None = None
        self._shown: set[tuple[str, int]] = set()

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live = Live(console=self._console, refresh_per_second=4)
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live:
            self._live.stop()

    def update(self, study: "Study", request: "SearchRequest") -> None:
        """Show how far the trials of a study are."""
        from plumbline.tuning.positions import is_final, map_attempts

        attempts = map_attempts(study.get_trials())
        if self._live:
            self._live.update(_build_table(attempts, request))
            return
        for position, trial in sorted(attempts.items()):
            if is_final(trial) and (request.study, position) not in self._shown:
                self._shown.add((request.study, position))
                self._console.print(_describe_trial(position, trial, request), markup=False)


def _describe_trial(position: int, trial: "FrozenTrial", request: "SearchRequest") -> str:
    from plumbline.tuning.outcome import describe_state

    state = describe_state(trial)
    result = f"{request.metric} {trial.value:.4f}" if state == "complete" else state
    kind = "trial" if request.winner is None else "repeat"
    return f"{kind} {position}: {_describe_values(trial, request)}: {result}"


def _build_table(attempts: dict[int, "FrozenTrial"], request: "SearchRequest") -> Table:
    """Build a table of what runs, and of the best that ended."""
    from optuna.trial import TrialState

    from plumbline.tuning.outcome import describe_state

    kind = "trials" if request.winner is None else "repeats of the best"
    num_ended = sum(trial.state.is_finished() for trial in attempts.values())
    table = Table(title=f"{request.candidate}: {num_ended} of {request.num_trials} {kind}")
    for name in ("", "values", request.metric, "epochs", "state"):
        table.add_column(name)
    sign = -1 if request.direction == "maximize" else 1

    def rank(item: tuple[int, "FrozenTrial"]) -> tuple[int, float]:
        trial = item[1]
        if trial.state == TrialState.COMPLETE and trial.value is not None:
            return 1, sign * trial.value
        return (2, item[0]) if trial.state.is_finished() else (0, item[0])

    for position, trial in sorted(attempts.items(), key=rank)[:MAX_ROWS]:
        score = f"{trial.value:.4f}" if trial.state == TrialState.COMPLETE else ""
        epochs = str(len(trial.intermediate_values))
        values = _describe_values(trial, request)
        table.add_row(str(position), escape(values), score, epochs, escape(describe_state(trial)))
    return table


def _describe_values(trial: "FrozenTrial", request: "SearchRequest") -> str:
    """Describe what a trial has tried: a repeat has the winner's values, and another seed."""
    if request.winner is not None:
        distance = trial.params["repeat"]
        return f"the seed of params.yaml + {distance}" if distance else "the seed of params.yaml"
    return ", ".join(f"{key} {format_scalar(value)}" for key, value in trial.params.items())
