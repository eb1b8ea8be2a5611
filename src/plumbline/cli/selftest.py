"""`plumbline selftest`: fault injection against the gates."""

from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from plumbline.cli.console import out
from plumbline.cli.options import DEFAULT_TASK, TaskName
from plumbline.contract.errors import PlumblineError

if TYPE_CHECKING:
    from plumbline.diagnostics.selftest import Outcome, Rates

EXAMPLE = "plumbline selftest"


def run_selftest(task: TaskName = DEFAULT_TASK) -> None:
    """Inject faults into models and data, and check that the right gate refuses each.

    Takes minutes. Exit code 0 if every fault is caught, else 1.
    """
    from plumbline.diagnostics import selftest

    num_faults = selftest.count_faults(task)
    missed = 0
    table = Table("planted", "verdict", "failed", "", title="selftest", title_justify="left")
    with out.status("preparing sound data, a champion and a challenger") as status:
        for number, result in enumerate(selftest.run(task), 1):
            status.update(f"{number} of {num_faults + 1} done")
            if isinstance(result, selftest.Outcome):
                missed += not result.caught
                _add_row(table, result)
            else:
                rates = result
    out.print(table)
    low, _ = rates.aa_interval
    _print_rates(rates, selftest.ALPHA / 2)
    if missed:
        raise PlumblineError(f"{missed} of {num_faults} injected faults were not caught")
    if low > selftest.ALPHA / 2:
        raise PlumblineError(
            "the champion gate promotes a model that is not better more often than it states"
        )


def _add_row(table: Table, result: "Outcome") -> None:
    caught = "[green]caught[/]" if result.caught else f"[red]MISSED[/] (expected: {result.gate})"
    table.add_row(escape(result.name), result.verdict, escape(", ".join(result.failed)), caught)


def _print_rates(rates: "Rates", allowed: float) -> None:
    low, high = rates.aa_interval
    out.print(
        f"A/A: one recipe against itself, {rates.num_pairs} pairs that differ on "
        f"{rates.share_different:.1%} of the rows: promoted {rates.aa_promoted:.1%} of the times "
        f"({low:.1%} to {high:.1%}); chance allows {allowed:.1%}.\n"
        "A/B: against a recipe that saw an eighth of the rows: "
        f"promoted {rates.ab_promoted:.0%} of the times."
    )
