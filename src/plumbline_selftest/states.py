"""The checkouts that faults are planted in copies of: each has run one command more."""

from collections.abc import Iterable
from pathlib import Path

from plumbline_selftest import commands, fixture
from plumbline_selftest.protocol import Command, Fault

# The command that a checkout is ready for, the longest way last. Those before `evaluate` start
# from the data and the candidate that are there.
STATES: tuple[Command, ...] = ("start", "evaluate", "register", "promote", "rollback")
SAME: dict[Command, Command] = {
    "ingest": "evaluate",
    "validate": "evaluate",
    "train": "evaluate",
    "load": "rollback",
}


def find_state(fault: Fault) -> Command:
    """Return the state that `fault` is planted in."""
    return SAME.get(fault.before, fault.before)


def prepare_states(folder: Path, task: str, needed: Iterable[Command]) -> None:
    """Write the states in `needed`, and those on the way to them, to folders of their names."""
    last = max(map(STATES.index, needed))
    fixture.prepare_empty(folder / "start", task)
    if last:
        fixture.prepare_fixture(folder / "evaluate", task)
    for number in range(2, last + 1):
        before, state = STATES[number - 1], STATES[number]
        checkout = fixture.copy_fixture(folder / before, folder / state)
        with fixture.enter_checkout(checkout):
            commands.run_command(before)
