"""`plumbline init`: a repository of one's own around a file of data."""

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from plumbline.terminal.console import print_lines, print_plain

if TYPE_CHECKING:
    from plumbline.init.survey import FileSurvey

EXAMPLE = "plumbline init my-router --data tickets.csv"
NUM_SHOWN = 5  # classes


def init_repository(
    folder: Annotated[
        Path, typer.Argument(help="The folder to make; it must not exist yet, or be empty.")
    ],
    data: Annotated[
        Path,
        typer.Option(
            help="Texts and labels, or queries and what answers them: .csv, .tsv, .jsonl, "
            ".parquet or .arrow; text also as .gz; or a folder of BEIR."
        ),
    ],
    test: Annotated[
        Path | None,
        typer.Option(help="A file with the test rows.", show_default="rows of --data are held out"),
    ] = None,
    text: Annotated[
        str | None, typer.Option(help="The column of the texts.", show_default="guessed")
    ] = None,
    passage: Annotated[
        str | None,
        typer.Option(help="The column of what answers --text: a search.", show_default="guessed"),
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(
            help="The column of the labels. Several, each with --label: a row has each of these "
            "labels (1) or not (0).",
            show_default="guessed",
        ),
    ] = None,
    label_separator: Annotated[
        str | None,
        typer.Option(
            help="What is between several labels in a cell, such as '|'; '': a cell is one label.",
            show_default="guessed",
        ),
    ] = None,
    with_task: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Also write src/tasks/NAME: an example of an own task, which adds an expectation "
            "of the data and cases of behaviour to text classification.",
            show_default="none",
        ),
    ] = None,
) -> None:
    """Make a git repository for a text classifier or a search of your own, with params that fit.

    It holds the pipeline, workflows and tests; plumbline is a locked package in it. What is not
    named is guessed, and said.
    """
    from plumbline.init.creation import InitRequest, create_repository

    named = (text, label or [], with_task, label_separator, passage)
    request = InitRequest(folder, data, test, *named)
    survey, reasons = create_repository(request)
    _print_survey(survey)
    for reason in reasons:
        print_plain(f"  {reason}")
    if with_task is not None:
        print_plain(f"  task: {with_task}: its expectation and cases are in src/tasks/{with_task}")
    print_lines(f"{folder} is a git repository; next:\n  cd {quote(str(folder))}")
    print_lines("  make run     # installs the locked packages first\n  make test")


def _print_survey(survey: "FileSurvey") -> None:
    more = "" if survey.is_whole else " or more"
    print_plain(f"{survey.path}: {survey.num_rows:,}{more} rows")
    if survey.passage is None:
        print_plain(f"  text: {survey.text!r}, {_describe_lengths(survey.lengths)}")
        _print_labels(survey)
    else:
        lengths = _describe_lengths(survey.lengths)
        print_plain(f"  query: {survey.text!r}; passage: {survey.passage!r}, {lengths}")
        if survey.negative:
            print_plain(f"  does not answer the query: {survey.negative!r}")
        print_plain("  task: retrieval, a search; for a classifier, name its --label")
    if survey.num_decoded:
        print_plain(f"  not UTF-8, read as Windows-1252: {survey.num_decoded:,} rows")
    if survey.num_decoded and survey.passage is None:
        print_plain("  of more than 5 %, `make run` refuses them: see `plumbline docs own-file`")
    if survey.others:
        print_plain(f"  not used: {', '.join(survey.others)}")
    if survey.groups:
        key = "topic" if survey.passage else "metadata"
        where = f"data.columns.{key} and evaluation.slices"
        print_plain(f"  groups, for {where}: {', '.join(survey.groups)}")


def _print_labels(survey: "FileSurvey") -> None:
    classes = survey.classes.most_common()
    common = ", ".join(f"{name} ({count:,})" for name, count in classes[:NUM_SHOWN])
    rarest, count = classes[-1]
    if not survey.has_label_sets:
        print_plain(f"  label: {survey.labels[0]!r}, {len(survey.classes)} classes: {common}")
        print_plain(
            f"  the smallest class is {rarest!r}, with {count:,} row{'' if count == 1 else 's'}"
        )
        return
    where = f"{len(survey.labels)} columns that say 1 or 0"
    if survey.separator is not None:
        where = f"{survey.labels[0]!r}, several in a cell (label_separator: {survey.separator!r})"
        print_plain("  if that is wrong, begin again: `--label-separator ''`: a cell is one label")
    print_plain(f"  labels: {where}, {len(survey.classes)} labels: {common}")
    print_plain(f"  the rarest label is {rarest!r}, with {count:,} rows")


def _describe_lengths(lengths: list[int]) -> str:
    middle = lengths[len(lengths) // 2]
    return f"{middle} words and marks in the middle, {lengths[-1]:,} at most"
