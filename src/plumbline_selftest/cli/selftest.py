"""`plumbline selftest`: fault injection against the gates, and a rehearsal of a model's life."""

import contextlib
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from plumbline.contract.errors import PlumblineError
from plumbline.terminal.console import explain_stop, out, print_lines, print_plain
from plumbline.terminal.options import DEFAULT_TASK, TaskName

if TYPE_CHECKING:
    from plumbline_selftest.protocol import Fault
    from plumbline_selftest.selftest import Outcome, Rates

EXAMPLE = "plumbline selftest"


def run_selftest(
    task: TaskName = DEFAULT_TASK,
    only: Annotated[
        str | None,
        typer.Option(
            help="Plant only what has this text in its name or its gate, and skip the A/A test.",
            show_default="everything",
        ),
    ] = None,
    list_only: Annotated[
        bool,
        typer.Option("--list", help="Print what would be planted and what is expected; run none."),
    ] = False,
    drill: Annotated[
        bool,
        typer.Option(
            "--drill",
            help="Rehearse a model's life instead, from training to rollback, in a clone below "
            ".plumbline/.",
        ),
    ] = False,
) -> None:
    """Plant faults and sound models: a gate must refuse each fault, and no sound model.

    Takes minutes. Exit code 0 if every result is the expected one, else 1. Your checkout, registry
    and journal are not touched.
    """
    from plumbline_selftest import selftest

    if drill:
        _run_drill(task)
        return
    faults = selftest.select_faults(task, only)
    untried = [] if only else selftest.list_untried_gates(faults)
    if list_only:
        print_lines("\n".join([*describe_faults(faults), *_describe_untried(untried)]))
        return
    start = time.monotonic()
    with explain_stop("selftest: interrupted; it leaves nothing behind"):
        outcomes, rates = _collect_results(task, faults, with_rates=only is None)
    _print_outcomes(outcomes)
    if rates:
        _print_rates(rates, selftest.ALPHA / 2)
    if untried:
        print_lines("\n".join(_describe_untried(untried)))
    print_plain(f"{_count(outcomes)}; {time.monotonic() - start:.0f} s")
    unexpected = [outcome.name for outcome in outcomes if not outcome.caught]
    if unexpected:
        raise PlumblineError(
            f"{len(unexpected)} of {len(outcomes)} planted faults and sound models had another "
            f"result than expected: {'; '.join(unexpected)}"
        )
    if rates and rates.interval.low > selftest.ALPHA / 2:
        raise PlumblineError(
            "the champion gate promotes a model that is not better more often than it states"
        )


def _run_drill(task: str) -> None:
    from plumbline_selftest import drill

    start = time.monotonic()
    drill.run(task, print_lines)
    seconds = time.monotonic() - start
    print_lines(
        f"\nthe drill is over: {len(drill.STEPS)} steps in {seconds:.0f} s; "
        f"look around in {drill.FOLDER}"
    )


def _collect_results(
    task: str, faults: "Sequence[Fault]", *, with_rates: bool
) -> "tuple[list[Outcome], Rates | None]":
    """Run all, show how far it is; return the outcomes in the order of the faults."""
    from plumbline_selftest import selftest

    known: dict[str, Outcome] = {}
    rates = None
    results = selftest.run(task, faults, with_rates=with_rates)
    with (
        out.status("preparing sound data, a champion and a challenger") as status,
        contextlib.closing(results),
    ):
        for result in results:
            if isinstance(result, selftest.Outcome):
                known[result.name] = result
                status.update(f"{len(known)} of {len(faults)} done")
            else:
                rates = result
    return [known[fault.name] for fault in faults], rates


def describe_faults(faults: "Sequence[Fault]") -> list[str]:
    """Return two tables in Markdown: faults, and sound models and data."""
    lines: list[str] = []
    for title, is_sound in (("planted fault", False), ("planted sound model or data", True)):
        rows = [(title, "before", "expected")]
        for fault in faults:
            if fault.is_sound == is_sound:
                rows.append((fault.name, fault.before, _describe_expected(fault)))
        lines += ["", *_align(rows)] if lines else _align(rows)
    return lines


def _describe_untried(gates: Sequence[str]) -> list[str]:
    """Say which gates have no fault in this task."""
    if not gates:
        return []
    names = ", ".join(gates)
    return ["", f"Not tried with this task: the gates {names}; see `plumbline docs selftest`."]


def _describe_expected(fault: "Fault") -> str:
    if fault.verdict == "refuse":
        return f"refused by the gate {fault.gate}"
    if fault.verdict == "error":
        return f"an error: … {fault.gate} …"
    words = {"promote": "promoted", "keep": "kept", "pass": "no error"}
    return words[fault.verdict]


def _align(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        lines.append(f"| {' | '.join(cells)} |")
    lines.insert(1, f"|{'|'.join('-' * (width + 2) for width in widths)}|")
    return lines


def _print_outcomes(outcomes: "Sequence[Outcome]") -> None:
    for title, is_sound in (("planted faults", False), ("planted sound models and data", True)):
        table = Table(title, "verdict", "failed", "")
        for outcome in outcomes:
            if outcome.is_sound == is_sound:
                failed = escape(", ".join(outcome.failed))
                table.add_row(escape(outcome.name), outcome.verdict, failed, _mark(outcome))
        if table.row_count:
            out.print(table)
    for outcome in outcomes:
        if not outcome.caught:
            print_lines(f"\n{outcome.name}: the last lines that were printed\n{outcome.output}")


def _mark(outcome: "Outcome") -> str:
    if outcome.caught:
        return "[green]as it should be[/]" if outcome.is_sound else "[green]caught[/]"
    word = "MISSED" if outcome.is_promoted else "NOT CAUGHT"
    if outcome.is_sound and not outcome.is_promoted:
        word = "REFUSED"
    return f"[red]{word}[/] (expected: {outcome.expected}, {escape(outcome.gate)})"


def _count(outcomes: "Sequence[Outcome]") -> str:
    faults = [outcome for outcome in outcomes if not outcome.is_sound]
    sound = [outcome for outcome in outcomes if outcome.is_sound]
    num_caught = sum(outcome.caught for outcome in faults)
    num_refused = sum(outcome.verdict in ("refuse", "error", "crash") for outcome in sound)
    return f"{len(faults)} faults, {num_caught} caught; {len(sound)} sound, {num_refused} refused"


def _print_rates(rates: "Rates", allowed: float) -> None:
    low, high = rates.interval
    out.print(
        f"A/A: one recipe against itself, {rates.num_pairs} pairs that differ on "
        f"{rates.share_different:.1%} of the rows: promoted {rates.promoted:.1%} of the times "
        f"({low:.1%} to {high:.1%}); chance alone promotes {allowed:.1%}."
    )
