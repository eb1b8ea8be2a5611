"""Try the pipeline itself: planted faults, and a whole life."""

import time

import typer
from rich.markup import escape
from rich.table import Table

from plumbline.cli.console import out, plain
from plumbline.contract.errors import PlumblineError

app = typer.Typer()


@app.command("selftest")
def run_selftest() -> None:
    """Plant faults in models and data and see that each is refused by the gate that names it. Takes minutes."""
    from plumbline.diagnostics import selftest

    missed, told = (
        0,
        Table("planted", "verdict", "failed", "", title="selftest", title_justify="left"),
    )
    with out.status("preparing sound data, a champion and a challenger") as status:
        for number, found in enumerate(selftest.run(), 1):
            status.update(f"{number} of {len(selftest.PLANTS) + 1} done")
            if isinstance(found, selftest.Outcome):
                missed += not found.caught
                mark = (
                    "[green]caught[/]" if found.caught else f"[red]MISSED[/] (wanted: {found.gate})"
                )
                told.add_row(
                    escape(found.name), found.verdict, escape(", ".join(found.failed)), mark
                )
            else:
                rates = found
    out.print(told)
    low, high = rates.alike_interval
    out.print(
        f"A/A: one recipe against itself, {rates.num_rounds} pairs that differ on {rates.differ:.1%} of the rows: "
        f"promoted {rates.alike:.1%} of the times ({low:.1%} to {high:.1%}); chance allows {selftest.ALPHA / 2:.1%}.\n"
        f"A/B: against a recipe that saw an eighth of the rows: promoted {rates.better:.0%} of the times."
    )
    if missed:
        raise PlumblineError(f"{missed} of {len(selftest.PLANTS)} plants got through")
    if low > selftest.ALPHA / 2:
        raise PlumblineError(
            "the champion gate promotes what is no better more often than it states"
        )


@app.command("drill")
def run_drill() -> None:
    """Live through a model's whole life, from training to rollback, in a clone below .plumbline/. Takes minutes."""
    from plumbline.diagnostics import drill

    start = time.monotonic()
    drill.run(plain)
    took = time.monotonic() - start
    plain(
        f"\nthe drill is over: {len(drill.STEPS)} steps in {took:.0f} s; look around in {drill.FOLDER}"
    )
