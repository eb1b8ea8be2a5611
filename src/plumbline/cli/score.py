"""`plumbline score`: answer every row of a file of any size."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from plumbline.cli.console import print_plain
from plumbline.cli.options import InferenceParams, parse_inference_params
from plumbline.contract.stop_signals import INTERRUPTED

EXAMPLE = "plumbline score models:/ticket-router@champion in.csv out.parquet"


def score(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="models:/NAME@ALIAS or models:/NAME/VERSION.")
    ],
    input_: Annotated[
        Path,
        typer.Argument(
            metavar="INPUT", help="A .csv, .tsv, .jsonl (each also .gz) or .parquet file."
        ),
    ],
    output: Annotated[
        Path,
        typer.Argument(
            metavar="OUTPUT",
            help="The file to write, of one of the same formats; it may differ from INPUT's.",
        ),
    ],
    columns: Annotated[
        str,
        typer.Option(help="The answers to write, such as label,score.", show_default="all answers"),
    ] = "",
    set_: InferenceParams = [],  # noqa: B006 (typer copies it)
    prefix: Annotated[
        str,
        typer.Option(
            help="Text before the name of each added column.",
            show_default="none, or predicted_ where INPUT has a column of such a name",
        ),
    ] = "",
    bad_rows: Annotated[
        Literal["stop", "keep"],
        typer.Option(
            help="What to do with a row that cannot be answered. stop: end with an error; "
            "keep: write the row, with the reason in the column `error`."
        ),
    ] = "stop",
    overwrite: Annotated[bool, typer.Option(help="Replace OUTPUT if it exists.")] = False,
) -> None:
    """Answer every row of INPUT and write rows and answers, in order, to OUTPUT.

    All columns of INPUT are kept; the answers follow, then `model`: the version that answered.

    OUTPUT appears when it is complete. After an interruption the same command continues.

    Memory does not grow with the file. See `plumbline docs score`.
    """
    from plumbline import bundle, scoring
    from plumbline.registry.reader.verified_cache import VerifiedModelCache

    copy = VerifiedModelCache(model).fetch_latest()
    signature = bundle.read_signature(copy.folder)
    defaults = {param.name: param.default for param in signature.params}
    params = defaults | parse_inference_params(set_, signature.params)
    chosen = [name.strip() for name in columns.split(",") if name.strip()]
    request = scoring.ScoringRequest(
        input_, output, params, chosen, prefix, bad_rows == "keep", overwrite
    )
    try:
        with _show_progress() as watch:
            done = scoring.score(copy, request, watch, _print_to_stderr)
    except KeyboardInterrupt:
        _print_to_stderr("plumbline: interrupted; run the same command again to continue")
        raise typer.Exit(INTERRUPTED) from None
    rate = (done.num_rows - done.num_before) / done.seconds
    who = f"{copy.name} version {copy.version}"
    summary = f"{output}: {done.num_rows:,} rows by {who}, {rate:,.0f} rows/s"
    if done.num_bad:
        summary += f"; {done.num_bad:,} could not be answered, see the column {done.error_column}"
    print_plain(summary)


def _print_to_stderr(text: str) -> None:
    print(text, file=sys.stderr)


@contextmanager
def _show_progress() -> Iterator[Callable[[int, float], None]]:
    """Show a progress bar on stderr, where that is a terminal.

    Gives a function to call with the number of rows done and the share of the input that they are.
    """
    columns = (
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.description}"),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not sys.stderr.isatty()) as progress:
        bar = progress.add_task("reading", total=1.0)

        def update_bar(rows: int, share: float) -> None:
            progress.update(bar, completed=share, description=f"{rows:,} rows")

        yield update_bar
