"""Prints what came of faults and flips, as tables in Markdown."""

from collections import Counter
from collections.abc import Mapping, Sequence

from tests.support.faults.points import Outcome

COLUMNS = ("tried", "healed", "clean", "named")
ENDS = ("caught", "harmless", "shown", "traceback", "silent")


def print_table(outcomes: Sequence[Outcome]) -> None:
    """Print a row for each stage and action; a point that its stage did not come to is none."""
    if not outcomes:
        return
    met = [outcome for outcome in outcomes if outcome.is_met]
    rows: dict[tuple[str, str, str], Counter[str]] = {}
    for outcome in met:
        point = outcome.point
        counts = rows.setdefault((point.task, point.stage, point.action), Counter())
        counts["tried"] += 1
        for name in COLUMNS[1:]:
            counts[name] += getattr(outcome, f"is_{name}")
    commits = Counter(outcome.commit for outcome in met)
    places = ", ".join(f"{count} at {commit}" for commit, count in commits.items())
    say(f"\n{len(met)} points ({places}); {len(outcomes) - len(met)} more were not met\n")
    say(f"| task | stage | fault | {' | '.join(COLUMNS)} |\n|{'---|' * (len(COLUMNS) + 3)}")
    for names, counts in [*sorted(rows.items()), (("all", "", ""), sum(rows.values(), Counter()))]:
        print_row(*names, *(counts[name] for name in COLUMNS))


def print_flips(flips: Mapping[str, Counter[str]]) -> None:
    """Print a row for each kind of file in which bits were flipped."""
    if flips:
        say(f"\n| bits flipped in | tried | {' | '.join(ENDS)} |\n|{'---|' * (len(ENDS) + 2)}")
    for kind, counts in flips.items():
        print_row(kind, counts.total(), *(counts[name] for name in ENDS))


def print_row(*cells: object) -> None:
    say(f"| {' | '.join(map(str, cells))} |")


def say(line: str) -> None:
    """Print a line at once: a run takes long."""
    print(line, flush=True)  # noqa: T201  what a person asked for
