"""The page of a search: Optuna's own figures, all trials, and the luck of the best of them."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import optuna
from optuna.trial import TrialState

from plumbline.contract.records import Figure
from plumbline.process.files import write_aside
from plumbline.reporting import html, plots
from plumbline.tuning.outcome import (
    describe_state,
    find_shipped_score,
    list_trials,
    measure_optimism,
)
from plumbline.tuning.params_edit import format_scalar
from plumbline.tuning.search import SearchResult

FOLDER = Path("reports/tuning")
SIZE_INCHES = (8.0, 3.6)


def write_page(result: SearchResult, proposed: Mapping[str, Any]) -> Path:
    """Write reports/tuning/<candidate>.html, and return its path."""
    path = FOLDER / f"{result.request.candidate}.html"
    values = {
        "candidate": result.request.candidate,
        "metric": result.request.metric,
        "sampler": result.request.sampler,
        "keys": sorted(result.shipped),
        "trials": [
            (position, trial, describe_state(trial)) for position, trial in list_trials(result)
        ],
        "winner": result.winner,
        "best": result.study.best_value,
        "shipped": find_shipped_score(result),
        "optimism": measure_optimism(result),
        "lines": [f"{key}: {format_scalar(value)}" for key, value in proposed.items()],
        "figures": draw_figures(result),
    }
    with write_aside(path) as aside:
        aside.write_text(html.render_template("tuning.html", values), encoding="utf-8")
    return path


def draw_figures(result: SearchResult) -> list[Figure]:
    """Draw what Optuna can draw of these trials: importances need two that differ in score."""
    from optuna.visualization import matplotlib as charts

    study = _collect_ended(result)
    importances = optuna.importance.FanovaImportanceEvaluator(seed=0)
    title = f"validation {html.format_name(result.request.metric)}"
    drawings: list[tuple[str, str, Callable[[], Any]]] = [
        (
            "history",
            "The trials in their order, and the best so far",
            lambda: charts.plot_optimization_history(study, target_name=title),
        ),
        (
            "importances",
            "How much of the difference between trials each value explains (fANOVA)",
            lambda: charts.plot_param_importances(study, evaluator=importances, target_name=title),
        ),
        (
            "parallel",
            "Each line is one trial",
            lambda: charts.plot_parallel_coordinate(study, target_name=title),
        ),
    ]
    figures = []
    for name, caption, draw in drawings:
        with _draw_quietly():
            try:
                canvas = draw().figure
            except (ValueError, RuntimeError):
                continue
            canvas.set_size_inches(*SIZE_INCHES)
            figures.append(plots.embed_figure(canvas, name, caption, ""))
    return figures


def _collect_ended(result: SearchResult) -> optuna.Study:
    """Return a study in memory with every trial once, in the order of their positions."""
    study = optuna.create_study(direction=result.study.direction)
    for _, trial in list_trials(result):
        if trial.state in (TrialState.COMPLETE, TrialState.PRUNED):
            study.add_trial(trial)
    return study


@contextmanager
def _draw_quietly() -> Iterator[None]:
    """Draw without a display, and forget the figures after that."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot

    try:
        with warnings.catch_warnings(), mpl.rc_context(plots.STYLE):
            warnings.simplefilter("ignore")  # Optuna calls these figures experimental
            yield
    finally:
        pyplot.close("all")
