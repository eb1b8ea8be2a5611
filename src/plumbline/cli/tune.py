"""`plumbline tune`: search for better values of a candidate on the validation split."""

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from plumbline.contract import layout
from plumbline.contract.steps import announce, show_steps
from plumbline.terminal.console import explain_stop, print_plain

if TYPE_CHECKING:
    from plumbline.tuning.search import SearchResult

EXAMPLE = "plumbline tune linear --trials 20 --apply"
STORAGE_VARIABLE = "PLUMBLINE_TUNING_STORAGE"


def tune(
    candidate: Annotated[str, typer.Argument(help="A key of candidates that has a search.")],
    trials: Annotated[int, typer.Option(min=1, help="How many trials the search has.")] = 20,
    timeout: Annotated[
        float | None,
        typer.Option(min=0, help="Start no trial after so many seconds.", show_default="none"),
    ] = None,
    storage: Annotated[
        str,
        typer.Option(
            help="The database of the team: postgresql://USER@HOST/DATABASE.",
            envvar=STORAGE_VARIABLE,
            show_default="SQLite in .plumbline/tuning",
        ),
    ] = "",
    seeds: Annotated[
        int, typer.Option(min=0, help="Other seeds to train the best values with; 0: none.")
    ] = 3,
    apply: Annotated[
        bool, typer.Option("--apply", help="Write the best values into params.yaml.")
    ] = False,
) -> None:
    """Search for better values of a candidate, on the validation split alone.

    The space is candidates.NAME.search in params.yaml. After Ctrl-C or a kill, the same command
    continues. The test split is not used.

    See `plumbline docs tune`.
    """
    from plumbline.contract.loading import load_params, load_task
    from plumbline.entrypoint import THREADS

    for name, value in THREADS.items():
        os.environ.setdefault(name, value)
    params = load_params(layout.PARAMS)
    params.require_candidate(candidate)
    hint = "tune: interrupted; run the same command again to continue"
    with explain_stop(hint), show_steps("tune"):
        announce("loads libraries and examples")
        from plumbline.tuning import search

        options = search.SearchOptions(trials, timeout, storage, num_repeats=seeds)
        task = load_task(params.task).configure(params)
        result = search.search(params, task, candidate, options, print_plain)
    _print_result(
        result,
        f"validation {task.metric.name}",
        candidate,
        "" if apply else ", which --apply writes",
    )
    if apply:
        apply_values(candidate, result.proposed)
        print_plain(f"{layout.PARAMS}: written; `dvc repro` trains {candidate} with them")
    else:
        print_plain(f"the same command with --apply writes this into {layout.PARAMS} at once")


def _print_result(result: "SearchResult", name: str, candidate: str, remark: str) -> None:
    from plumbline.tuning.params_edit import format_scalar

    print_plain(f"best of {result.num_trials} trials: {name} {result.best:.4f}")
    if result.shipped is not None:
        print_plain(f"  params.yaml as it is: {result.shipped:.4f}")
    if result.mean is not None:
        print_plain(f"  the best values with other seeds: mean {result.mean:.4f}")
    print_plain(f"candidates.{candidate} in {layout.PARAMS}{remark}:")
    for key, value in result.proposed.items():
        print_plain(f"  {key}: {format_scalar(value)}")


def apply_values(candidate: str, values: dict[str, Any]) -> None:
    """Write the values into params.yaml as it is by now; ParamsError where it is not valid."""
    from plumbline.contract.loading import load_params
    from plumbline.tuning.params_edit import edit_candidate

    load_params(layout.PARAMS).require_candidate(candidate)
    edit_candidate(layout.PARAMS, candidate, values, anchor="search")
    load_params(layout.PARAMS)
