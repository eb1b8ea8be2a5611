"""`plumbline init`: a repository of one's own around a file of data."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from plumbline.cli.console import print_plain

if TYPE_CHECKING:
    from plumbline.init.survey import FileSurvey

EXAMPLE = "plumbline init my-router --data tickets.csv"
NUM_SHOWN = 5  # classes


def init_repository(
    folder: Annotated[Path, typer.Argument(help="The folder to make; it must not exist yet.")],
    data: Annotated[
        Path,
        typer.Option(
            help="Texts and their labels: .csv, .tsv, .jsonl, .parquet or .arrow, also as .gz."
        ),
    ],
    test: Annotated[
        Path | None,
        typer.Option(help="A file with the test rows.", show_default="rows of --data are held out"),
    ] = None,
    text: Annotated[
        str | None, typer.Option(help="The column of the texts.", show_default="guessed")
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="The column of the labels.", show_default="guessed")
    ] = None,
) -> None:
    """Make a git repository for a text classifier of your own, with params that fit the data.

    It holds the pipeline, workflows, images and tests; plumbline is a locked package in it.
    """
    from plumbline.init.creation import InitRequest, create_repository

    made = create_repository(InitRequest(folder, data, test, text, label))
    _print_survey(made.survey)
    for reason in made.proposal.reasons:
        print_plain(f"  {reason}")
    print_plain(f"{folder} is a git repository; next:")
    print_plain(f"  cd {folder}\n  make run     # installs the locked packages first\n  make test")


def _print_survey(survey: "FileSurvey") -> None:
    more = "" if survey.is_whole else " or more"
    print_plain(f"{survey.path}: {survey.num_rows:,}{more} rows")
    print_plain(f"  text: {survey.text!r}, {_describe_lengths(survey.lengths)}")
    common = ", ".join(
        f"{name} ({count:,})" for name, count in survey.classes.most_common(NUM_SHOWN)
    )
    rarest, count = survey.classes.most_common()[-1]
    print_plain(f"  label: {survey.label!r}, {len(survey.classes)} classes: {common}")
    print_plain(f"  the smallest class is {rarest!r}, with {count:,} rows")
    if survey.others:
        print_plain(
            f"  not used: {', '.join(survey.others)} (data.columns.metadata names what slices and "
            "drift use)"
        )


def _describe_lengths(lengths: list[int]) -> str:
    middle = lengths[len(lengths) // 2]
    return f"{middle} words and marks in the middle, {lengths[-1]:,} at most"
