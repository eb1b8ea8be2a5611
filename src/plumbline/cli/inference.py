"""Ask a registered model: a few rows, or a file of any size."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from plumbline.cli.console import out, plain
from plumbline.contract import layout
from plumbline.contract.errors import ParamsError, PlumblineError
from plumbline.contract.params import nearest
from plumbline.entrypoint import INTERRUPTED, load_params, load_task

if TYPE_CHECKING:
    from plumbline.contract.task import Task

app = typer.Typer()


@app.command()
def predict(
    values: Annotated[
        list[str], typer.Argument(help="What to ask: one value for each row, or '-' to read lines.")
    ],
    model: Annotated[
        str,
        typer.Option(help="models:/NAME@ALIAS or models:/NAME/VERSION; the champion if left out."),
    ] = "",
    set_: Annotated[
        list[str], typer.Option("--param", "-p", help="An inference parameter, such as top_k=5.")
    ] = [],  # noqa: B006
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Ask a registered model. Its files are checked against the registry before any of its code runs."""
    from plumbline.registry import promotion

    params = load_params(layout.PARAMS)
    task = load_task(params.task)
    rows = [line.rstrip("\n") for line in sys.stdin] if values == ["-"] else values
    asked = _columns(task, rows)
    chosen = _inference_params(set_, {param.name: param.default for param in task.signature.params})
    predictor, version = promotion.load(model or f"models:/{params.registry.model}@champion")
    try:
        answers = predictor.predict(asked, **chosen)
    except ValueError as error:
        raise PlumblineError(str(error)) from None
    records = [dict(zip(answers, row, strict=True)) for row in zip(*answers.values(), strict=True)]
    if as_json:
        for record in records:
            print(json.dumps(record, ensure_ascii=False))
        return
    table = Table(
        next(iter(asked)),
        *answers,
        title=f"{version.name} version {version.version}",
        title_justify="left",
    )
    for row, record in zip(rows, records, strict=True):
        table.add_row(row, *(_cell(value) for value in record.values()))
    out.print(table, markup=False)


@app.command()
def score(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="models:/NAME@ALIAS or models:/NAME/VERSION.")
    ],
    input_: Annotated[
        Path,
        typer.Argument(metavar="INPUT", help=".csv, .tsv, .jsonl (each also .gz) or .parquet."),
    ],
    output: Annotated[
        Path,
        typer.Argument(
            metavar="OUTPUT", help="One of the same kinds; it may be another than INPUT's."
        ),
    ],
    columns: Annotated[
        str, typer.Option(help="Which answers are written, such as label,score; all if left out.")
    ] = "",
    set_: Annotated[
        list[str], typer.Option("--param", "-p", help="An inference parameter, such as top_k=5.")
    ] = [],  # noqa: B006
    prefix: Annotated[
        str, typer.Option(help="Put before the names of all columns that are added.")
    ] = "",
    bad_rows: Annotated[
        Literal["stop", "keep"],
        typer.Option(help="keep: write rows that cannot be answered, with a column `error`."),
    ] = "stop",
    overwrite: Annotated[bool, typer.Option(help="Replace OUTPUT if it exists.")] = False,
) -> None:
    """Answer every row of INPUT; write rows and answers, in order, to OUTPUT.

    All columns of INPUT stay; the answers follow, then `model`: who gave them.

    OUTPUT appears when it is whole. Cut short, the same command goes on.

    Memory does not grow with the file. See docs/score.md.
    """
    from plumbline import bundle, scoring
    from plumbline.registry.reader.mirror import Mirror

    copy = Mirror(model).latest()
    defaults = {param.name: param.default for param in bundle.signature(copy.folder).params}
    params = defaults | _inference_params(set_, defaults)
    chosen = [name.strip() for name in columns.split(",") if name.strip()]
    request = scoring.Request(input_, output, params, chosen, prefix, bad_rows == "keep", overwrite)
    try:
        with _bar() as watch:
            done = scoring.score(copy, request, watch, lambda text: print(text, file=sys.stderr))
    except KeyboardInterrupt:
        print("plumbline: interrupted; run the same command again to go on", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    rate = (done.num_rows - done.num_before) / done.seconds
    bad = (
        f"; {done.num_bad:,} could not be answered, see the column {prefix}error"
        if done.num_bad
        else ""
    )
    plain(
        f"{output}: {done.num_rows:,} rows by {copy.name} version {copy.version}, {rate:,.0f} rows/s{bad}"
    )


def _columns(task: "Task", rows: list[str]) -> dict[str, list[Any]]:
    """What was asked on the command line: values of the only column there has to be, or JSON objects of several."""
    needed = [field for field in task.signature.inputs if field.required]
    if len(needed) == 1 and needed[0].type == "string":
        return {needed[0].name: list(rows)}
    try:
        values = [json.loads(row) for row in rows]
    except ValueError as error:
        raise ParamsError(f"a value is no JSON ({error})") from None
    if len(needed) == 1:
        return {needed[0].name: values}
    names = list(values[0]) if values and isinstance(values[0], dict) else []
    if not names or not all(isinstance(value, dict) and list(value) == names for value in values):
        raise ParamsError(
            f"expected JSON objects with {', '.join(field.name for field in needed)}, all with the same keys"
        )
    return {name: [value[name] for value in values] for name in names}


def _inference_params(given: list[str], known: dict[str, Any]) -> dict[str, Any]:
    """name=value pairs, each value read as the type of that parameter's default."""
    chosen: dict[str, Any] = {}
    for pair in given:
        name, _, value = pair.partition("=")
        if name not in known:
            raise ParamsError(
                f"--param {name}: unknown{nearest(name, list(known)) or '; known: ' + ', '.join(known)}"
            )
        try:
            chosen[name] = type(known[name])(value)
        except ValueError:
            raise ParamsError(
                f"--param {name}: expected a {type(known[name]).__name__}, found {value!r}"
            ) from None
    return chosen


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4f}"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return ", ".join(" ".join(_cell(part) for part in item.values()) for item in value)
    return str(value)


@contextmanager
def _bar() -> Iterator[Callable[[int, float], None]]:
    """A progress bar on stderr, where that is a terminal; it is told of rows done and the share that they are."""
    columns = (
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.description}"),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns, console=Console(stderr=True), disable=not sys.stderr.isatty()
    ) as progress:
        bar = progress.add_task("reading", total=1.0)
        yield lambda rows, share: progress.update(
            bar, completed=share, description=f"{rows:,} rows"
        )
