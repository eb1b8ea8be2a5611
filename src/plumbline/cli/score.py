"""`plumbline score`: answer every row of a file of any size, or of all files of a folder."""

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from plumbline.contract.errors import ParamsError
from plumbline.contract.steps import announce, show_share, show_steps
from plumbline.process.stop_signals import INTERRUPTED
from plumbline.process.visible_text import show_line
from plumbline.sources.addresses import get_scheme, hide_secrets
from plumbline.terminal.console import print_plain
from plumbline.terminal.options import InferenceParams, ModelAddress, parse_inference_params

if TYPE_CHECKING:
    from plumbline.registry.reader.verified_cache import CachedVersion
    from plumbline.scoring import ScoringRequest

HERE = "here"
EXAMPLE = "plumbline score models:/ticket-router@champion in.csv out.parquet"


def score(
    model: ModelAddress,
    input_: Annotated[
        str,
        typer.Argument(
            metavar="INPUT",
            help="A .csv, .tsv, .jsonl, .parquet or .arrow file (text also .gz), or a folder of "
            "them: a path, or an address such as s3://bucket/folder.",
        ),
    ],
    output: Annotated[
        str,
        typer.Argument(
            metavar="OUTPUT",
            help="The file to write, of one of the same formats; it may differ from INPUT's. "
            "Of a folder: the folder for a file of answers to each, with the same name.",
        ),
    ],
    columns: Annotated[
        str,
        typer.Option(help="The answers to write, such as label,score.", show_default="all answers"),
    ] = "",
    column: Annotated[
        list[str],
        typer.Option(
            metavar="INPUT=COLUMN",
            help="The column of INPUT that holds an input of the model, such as text=Body; may be "
            "given several times.",
            show_default="as the model's training data called it, else the input's own name",
        ),
    ] = [],  # noqa: B006 (typer copies it)
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
    on: Annotated[
        str,
        typer.Option(
            help="Where the files of a folder are scored. here: in this process, one after "
            "another; spark: on Spark, as it is configured; or the address of a Spark master, such "
            "as spark://host:7077, yarn or local[4]."
        ),
    ] = HERE,
) -> None:
    """Answer every row of INPUT and write rows and answers, in order, to OUTPUT.

    All columns of INPUT are kept; the answers follow, then `model`: the version that answered.

    OUTPUT appears when it is complete; in a folder of answers, `_listing.json` says that it is.
    After an interruption the same command scores the files of a folder that are not complete.

    Memory does not grow with the file. See `plumbline docs score`.
    """
    from plumbline import bundle, scoring
    from plumbline.registry.reader.verified_cache import VerifiedModelCache

    copy = VerifiedModelCache(model).fetch_latest()
    signature = bundle.read_signature(copy.folder)
    defaults = {param.name: param.default for param in signature.params}
    params = defaults | parse_inference_params(set_, signature.params)
    chosen = [name.strip() for name in columns.split(",") if name.strip()]
    inputs = _parse_columns(column)
    request = scoring.ScoringRequest(
        input_, output, params, chosen, prefix, bad_rows == "keep", overwrite, inputs=inputs
    )
    try:
        if scoring.is_folder(input_):
            _score_folder(copy, request, on)
        elif get_scheme(output):
            raise ParamsError(
                f"{hide_secrets(output)}: an address is for a folder of answers, and {input_} is "
                "not a folder; name a path"
            )
        elif on == HERE:
            _score_file(copy, request)
        else:
            raise ParamsError(f"--on {on}: {input_} is not a folder; only files of one are spread")
    except KeyboardInterrupt:
        _print_to_stderr("plumbline: interrupted; run the same command again")
        raise typer.Exit(INTERRUPTED) from None


def _parse_columns(pairs: list[str]) -> dict[str, str]:
    """Parse INPUT=COLUMN; ParamsError for what is no such pair."""
    for pair in pairs:
        if not all(pair.partition("=")):
            raise ParamsError(f"--column {pair}: expected INPUT=COLUMN, such as text=Body")
    return dict(pair.split("=", 1) for pair in pairs)


def _score_file(copy: "CachedVersion", request: "ScoringRequest") -> None:
    from plumbline import scoring

    with _show_progress():
        announce("answers the rows")
        done = scoring.score(copy, request, _show_rows, _print_to_stderr)
    rate = done.num_rows / done.seconds
    who = f"{copy.name} version {copy.version}"
    print_plain(
        f"{request.output}: {done.num_rows:,} rows by {who}, {rate:,.0f} rows/s"
        + _describe_bad(done.num_bad, done.error_column)
    )


def _score_folder(copy: "CachedVersion", request: "ScoringRequest", on: str) -> None:
    from plumbline import scoring

    with _show_progress():
        announce("answers the rows of all files")
        here = on == HERE
        engine = scoring.make_local_engine(_show_rows) if here else scoring.make_spark_engine(on)
        done = scoring.score_folder(copy, request, engine)
    kept = f"; {done.num_kept:,} of the files were scored before" if done.num_kept else ""
    print_plain(
        f"{hide_secrets(str(request.output))}: {done.num_files:,} files, {done.num_rows:,} rows by "
        f"{copy.name} version {copy.version}{kept}" + _describe_bad(done.num_bad, done.error_column)
    )


def _show_progress() -> AbstractContextManager[None]:
    """Show a bar where stderr is a terminal; stdout is for the result."""
    return show_steps("score", on_stderr=True) if sys.stderr.isatty() else nullcontext()


def _show_rows(num_rows: int, share: float) -> None:
    """Show how many rows are done, and the share of the input that they are."""
    show_share(f"{num_rows:,} rows", share)


def _describe_bad(num_bad: int, error_column: str) -> str:
    if not num_bad:
        return ""
    return f"; {num_bad:,} could not be answered, see the column {error_column}"


def _print_to_stderr(text: str) -> None:
    print(show_line(text), file=sys.stderr)
