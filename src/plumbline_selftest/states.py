"""The checkouts that faults are planted in copies of: each has run one command more."""

import itertools
import subprocess
from collections.abc import Iterable
from pathlib import Path

from plumbline.contract import layout
from plumbline.contract.loading import load_task
from plumbline_selftest.commands import PIPELINE, run_command
from plumbline_selftest.fixture import copy_fixture, enter_checkout, read_settings
from plumbline_selftest.parts import get_faults_part, read_params
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
    prepare_empty(folder / "start", task)
    if last:
        prepare_fixture(folder / "evaluate", task)
    for before, state in itertools.pairwise(STATES[1 : last + 1]):
        with enter_checkout(copy_fixture(folder / before, folder / state)):
            run_command(before)


def prepare_fixture(folder: Path, task: str) -> None:
    """Make `folder` a checkout with a weak champion, and a better candidate to evaluate."""
    part = get_faults_part(load_task(task))
    prepare_empty(folder, task)
    with enter_checkout(folder):
        layout.PARAMS.write_text(read_params(part, weaker=True), encoding="utf-8")
        for command in PIPELINE:
            run_command(command)
        layout.PARAMS.write_text(read_params(part), encoding="utf-8")
        run_command("train")


def prepare_empty(folder: Path, task: str) -> None:
    """Make `folder` a checkout that has the params.yaml of the sound pipeline, and no data."""
    part = get_faults_part(load_task(task))
    folder.mkdir(exist_ok=True)
    with enter_checkout(folder):
        subprocess.run(["git", "init", "--quiet"], check=True)
        layout.PARAMS.write_text(read_params(part), encoding="utf-8")
        Path(read_settings()[0].data.watch).mkdir(parents=True)  # type: ignore[attr-defined]  # dvc.yaml: every task has it
