"""What a killed process leaves is removed; what a living one writes is not."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.checkouts import ROOT

from plumbline.contract import layout
from plumbline.process import leftovers

# Writes a file and a folder, and stops in the middle.
CODE = """
import sys
from pathlib import Path
from plumbline.contract import layout
from plumbline.process import leftovers
from plumbline.process.files import write_aside
with (
    write_aside(Path("reports/metrics.json")) as file,
    leftovers.make_aside_folder(Path("models"), "linear") as folder,
):
    file.write_text("half")
    (folder / "weights").write_text("half")
    print("ready", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def writer(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that has written half of everything, in the current folder."""
    (folder / "models").mkdir()
    environment = os.environ | {"PYTHONPATH": f"{ROOT}/src"}
    with subprocess.Popen(
        [sys.executable, "-c", CODE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env=environment,
    ) as process:  # fmt: skip
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


def list_names(*folders: str) -> list[str]:
    return sorted(path.name.split(".")[1] for each in folders for path in Path(each).iterdir())


def test_a_kill_leaves_nothing_once_the_next_stage_begins(writer: subprocess.Popen[str]) -> None:
    writer.kill()
    assert writer.wait() == -signal.SIGKILL
    assert list_names("models", "reports") == ["linear", "metrics"]
    leftovers.remove_checkout_leftovers()
    assert list_names("models", "reports") == []


def test_what_a_living_process_writes_is_left_alone(writer: subprocess.Popen[str]) -> None:
    leftovers.remove_checkout_leftovers()
    writer.communicate("")
    assert writer.returncode == 0
    assert layout.METRICS.read_text() == "half"
    assert list_names("models") == []
