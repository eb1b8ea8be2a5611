"""`plumbline outcomes`: labels that came back, joined to what was answered."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from plumbline.terminal.commands import PANEL_OF, add_command
from plumbline.terminal.console import print_json, print_plain
from plumbline.terminal.options import AsJson, ChampionAddress, Reason, Version

if TYPE_CHECKING:
    from plumbline.contract.params import Params
    from plumbline_outcomes.check import Subject

JUDGE = "judge"


class OutcomesGroup(TyperGroup):
    """Takes what begins with no command's name as LOG, the first argument of `judge`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the command's name before arguments without one."""
        if args and args[0] not in (*self.commands, "--help"):
            args = [JUDGE, *args]
        return super().parse_args(ctx, args)


Log = Annotated[
    str,
    typer.Argument(metavar="LOG", help="The folder or address of `plumbline serve --log-folder`."),
]


Outcomes = Annotated[
    str,
    typer.Argument(
        metavar="OUTCOMES",
        help="A .csv, .jsonl or .parquet file, an s3:// address, or a SQL query, with the "
        "columns request_id and label.",
    ),
]
LabelColumn = Annotated[
    str,
    typer.Option(
        help="The column with the right answers.",
        show_default="as the model's training data called it",
    ),
]


def judge(
    log: Log,
    outcomes: Outcomes,
    model: ChampionAddress = "",
    label: LabelColumn = "",
    record: Annotated[
        bool,
        typer.Option(
            "--record",
            help="Close the days that are old enough, decide by them, and write to the journal; "
            "without it this is a look at all days.",
        ),
    ] = False,
    accept_gap: Annotated[
        str,
        typer.Option(
            metavar="WHY",
            help="Close days with missing files of the log too, and why.",
            show_default="such days stay open",
        ),
    ] = "",
    workflow: Annotated[
        bool,
        typer.Option("--ci", help="In CI: set output and summary; exit 0 whatever the verdict."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Say how right the champion's live answers are, by labels that came back.

    Exit codes: 0 holds, 30 worse (train again), 31 watch (worse, but training was
    requested lately), 32 too few rows, 33 cannot tell.

    `plumbline outcomes LOG OUTCOMES` is the same. See `plumbline docs outcomes`.
    """
    from plumbline.ci.forge import announce_verdict
    from plumbline.contract import layout
    from plumbline_outcomes import check, page

    params, subject = _open_champion(model)
    asked: Any = {"label": label, "record": record, "accepted": accept_gap}
    report = check.check_outcomes(subject, log, outcomes, params, datetime.now(UTC), **asked)
    page.write_report(report)
    verdict, reason = report["verdict"], report["reason"]
    if as_json:
        print_json(report)
    else:
        print_plain(f"{verdict}: {reason}")
        for line in page.describe_report(report):
            print_plain(f"  {line}")
        if not record:
            print_plain("  a look: nothing was recorded; --record closes days and decides by them")
        print_plain(f"full report: {layout.OUTCOMES_PAGE}")
    if workflow:
        announce_verdict("outcomes", verdict, reason, **check.name_winner(report))
        return
    raise typer.Exit(check.find_exit_code(report))


def begin_trial(
    log: Log,
    version: Version,
    worth: Annotated[
        float, typer.Option(min=0.001, max=0.5, help="The smallest gain that is worth finding.")
    ] = 0.02,
    days: Annotated[int, typer.Option(min=1, max=365, help="How long the trial lasts.")] = 28,
    kind: Annotated[
        Literal["truth", "reaction"],
        typer.Option(
            help="By labels of what both answered, or reactions of keys that one version answers."
        ),
    ] = "truth",
    share: Annotated[
        float,
        typer.Option(min=0.01, max=0.5, help="The smallest share of keys in --canary."),
    ] = 0.5,
    model: ChampionAddress = "",
    reason: Reason = "",
) -> None:
    """Plan a trial of VERSION against the champion, before its first request.

    Serve with `--canary` or `--shadow`; `plumbline outcomes LOG OUTCOMES --record` ends it.
    """
    from plumbline.sources.request_folder import RequestFolder
    from plumbline_outcomes import trial

    params, subject = _open_champion(model)
    name, folder, now = subject.champion.name, RequestFolder(log), datetime.now(UTC)
    differ, num_rows, ahead = trial.measure_difference(subject, version, folder, now)
    asked: Any = {"worth": worth, "days": days, "reason": reason, "ahead": ahead}
    if kind == "reaction":
        asked |= {"kind": "split", "share": share}
    plan = trial.begin_trial(name, version, differ, params, **asked)
    print_plain(
        f"trial {plan.number}: {name} version {version} has to be {plan.policy} than champion "
        f"{subject.champion.version} on requests until {plan.end:%Y-%m-%d}, at level "
        f"{plan.level:.4f}; on {num_rows:,} rows of the log the two differ in {differ:.1%}"
    )
    if ahead:
        print_plain(
            f"the clock of a server is {ahead:.0f} s ahead: requests count from {plan.begin} on"
        )


def draw(
    log: Log,
    out: Annotated[
        Path, typer.Option(help="The sheet to write, .csv or .parquet; it comes back as OUTCOMES.")
    ],
    model: ChampionAddress = "",
    days: Annotated[
        int,
        typer.Option(min=1, help="Draw from so many whole days of UTC before today."),
    ] = 7,
    differs: Annotated[
        bool,
        typer.Option(
            "--differs", help="Take all rows that a canary or shadow answered differently instead."
        ),
    ] = False,
    show_answers: Annotated[
        bool,
        typer.Option(
            "--show-answers", help="Show the model's answers; then the labels decide nothing."
        ),
    ] = False,
) -> None:
    """Draw rows of the log for people to label, without the answers.

    Half of `outcomes.sample` is drawn by chance alone and decides on the champion; about as many
    more are drawn where it is in doubt, for training.
    """
    from plumbline_outcomes import drawing

    params, subject = _open_champion(model)
    wanted = drawing.Drawing(days, differs, show_answers)
    drawing.refuse_sheet(out)
    sheet, lines = drawing.draw_rows(subject, log, params, datetime.now(UTC), wanted)
    if len(sheet):
        drawing.write_sheet(sheet, out)
        lines.append(f"written to {out}")
    for line in lines:
        print_plain(line)


def export(
    log: Log,
    outcomes: Outcomes,
    out: Annotated[
        str,
        typer.Option(
            metavar="FOLDER", help="The folder or address to write files of training rows to."
        ),
    ],
    model: ChampionAddress = "",
    label: LabelColumn = "",
    trust: Annotated[
        bool,
        typer.Option(
            "--trust", help="Also take labels by a model, or by people who saw its answer."
        ),
    ] = False,
) -> None:
    """Write labelled requests as training rows, for `data.source`.

    Rows that chance drew may be in any split; rows that somebody chose are for train alone.
    """
    from plumbline_outcomes import exporting

    params, subject = _open_champion(model)
    asked: Any = {"label": label, "trust": trust}
    counts = exporting.export_rows(subject, log, outcomes, out, params, datetime.now(UTC), **asked)
    for line in exporting.describe_counts(counts, out):
        print_plain(line)


def _open_champion(model: str) -> "tuple[Params, Subject]":
    """Read params.yaml, and open the version that `model` names, or its champion."""
    from plumbline.contract import layout
    from plumbline.contract.loading import load_params
    from plumbline_outcomes.check import open_subject

    params = load_params(layout.PARAMS)
    return params, open_subject(model or f"models:/{params.registry.model}@champion", params)


group = typer.Typer(
    cls=OutcomesGroup,
    no_args_is_help=True,
    help="Labels that came back: how right live answers are, and what to label next.",
)
add_command(group, JUDGE, judge, "plumbline outcomes requests/ outcomes.csv --record")
add_command(group, "draw", draw, "plumbline outcomes draw requests/ --out sheet.csv")
add_command(
    group, "export", export, "plumbline outcomes export requests/ sheet.csv --out data/labelled"
)
add_command(
    group, "trial", begin_trial, "plumbline outcomes trial requests/ 7 --worth 0.02 --days 28"
)
app = typer.Typer()
app.add_typer(group, name="outcomes", rich_help_panel=PANEL_OF["outcomes"])
