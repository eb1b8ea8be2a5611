"""Tests of the gates: faults are planted in models and data; the right gate must refuse each.

Sound models and data are planted too: none of them may be refused.
"""

import os
import sys
import tempfile
from collections.abc import Generator, Sequence
from concurrent.futures import Future, as_completed
from dataclasses import replace
from pathlib import Path

from plumbline.contract.loading import load_task
from plumbline.entrypoint import THREADS
from plumbline_selftest import aa_test, fixture, states
from plumbline_selftest.aa_test import ALPHA, Rates
from plumbline_selftest.catalogue import list_faults, list_untried_gates, select_faults
from plumbline_selftest.injection import Outcome, inject_fault
from plumbline_selftest.parts import get_faults_part
from plumbline_selftest.protocol import Command, Fault
from plumbline_selftest.workers import open_workers, redirect_output

__all__ = ["ALPHA", "Outcome", "Rates", "list_untried_gates", "run", "select_faults"]

NUM_LINES = 30  # of what the commands printed


def run(
    task: str, faults: Sequence[Fault], *, with_rates: bool
) -> Generator[Outcome | Rates, None, None]:
    """Yield the outcome of each of `faults` when it is known, and the rates of the A/A test.

    A task that says nothing about how its examples are sampled has no A/A test.
    """
    for name, value in THREADS.items():
        os.environ.setdefault(name, value)
    with_rates = with_rates and hasattr(get_faults_part(load_task(task)), "sample_examples")
    needed = set(map(states.find_state, faults))
    if with_rates:
        needed.add("evaluate")
    with tempfile.TemporaryDirectory(prefix="plumbline-selftest-") as private:
        folder = Path(private)
        with open_workers(folder) as pool:
            pool.submit(_prepare, folder, task, needed).result()
            jobs: list[Future[Outcome | Rates]] = []
            if with_rates:  # first, since it takes longest
                jobs.append(pool.submit(_run_aa_test, folder, task))
            jobs += [pool.submit(_run_fault, folder, task, fault.name) for fault in faults]
            for done in as_completed(jobs):
                yield done.result()


def _prepare(folder: Path, task: str, needed: set[Command]) -> None:
    redirect_output(folder / "prepare.log")
    states.prepare_states(folder, task, needed)


def _run_fault(folder: Path, task: str, name: str) -> Outcome:
    """Plant the fault of this name in a copy of its state; a fault itself cannot be sent here."""
    (fault,) = [fault for fault in list_faults(load_task(task)) if fault.name == name]
    private = Path(tempfile.mkdtemp(dir=folder))
    log = private / "log.txt"
    redirect_output(log)
    state = folder / states.find_state(fault)
    with fixture.enter_checkout(fixture.copy_fixture(state, private / "checkout")):
        outcome = inject_fault(fault)
    sys.stdout.flush()
    sys.stderr.flush()
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return replace(outcome, output="\n".join(lines[-NUM_LINES:]))


def _run_aa_test(folder: Path, task: str) -> Rates:
    redirect_output(folder / "rates.log")
    part = get_faults_part(load_task(task))
    checkout = fixture.copy_fixture(folder / "evaluate", folder / "rates")
    with fixture.enter_checkout(checkout):
        return aa_test.compute_rates(checkout, part.sample_examples)  # type: ignore[attr-defined]  # run has asked
