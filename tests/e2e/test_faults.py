"""Faults at single calls of a stage: injected where they should be, healed by the next run."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support import checkouts
from tests.support.faults.__main__ import describe_point, try_points
from tests.support.faults.machine import Machine
from tests.support.faults.site import compile_library

NUM_POINTS = 3
CODE = """
import os, sys
for number in range(4):
    with open(f"new{number}", "w") as file:
        file.write("x")
    os.replace(f"new{number}", f"old{number}")
"""
pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="a library is preloaded"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="it is compiled by cc"),
]


@pytest.mark.parametrize(
    ("fault", "code", "names"),
    [
        ("rename|2|kill", -signal.SIGKILL, ["new1", "old0"]),
        ("rename|2|EIO", 1, ["new1", "old0"]),
        ("write|3|ENOSPC", 1, ["new2", "old0", "old1"]),
        ("rename|9|kill", 0, ["old0", "old1", "old2", "old3"]),
    ],
)
def test_a_fault_comes_at_the_call_that_it_names(
    fault: str, code: int, names: list[str], tmp_path: Path
) -> None:
    library, work = tmp_path / "preload.so", tmp_path / "work"
    compile_library(library)
    work.mkdir()
    environment = os.environ | {
        "LD_PRELOAD": str(library),
        "PLUMBLINE_FAULT": f"{work}|{tmp_path}/token|{fault}",
    }
    done = subprocess.run(
        [sys.executable, "-c", CODE], cwd=work, env=environment, capture_output=True, check=False
    )
    assert done.returncode == code
    assert sorted(path.name for path in work.iterdir()) == names


@pytest.mark.slow
def test_the_next_run_heals_what_a_fault_left(tmp_path: Path) -> None:
    warm = list(checkouts.warm_commands)
    machine = Machine(tmp_path / "faults", has_decisions=False)
    try:
        outcomes = try_points(machine, NUM_POINTS, seed=1)
    finally:
        machine.site.end_processes()
        checkouts.warm_commands[:] = warm
    wrong = {describe_point(each.point): list(each.describe()) for each in outcomes}
    assert {point: lines for point, lines in wrong.items() if lines} == {}
