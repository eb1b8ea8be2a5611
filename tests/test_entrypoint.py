"""Signals reach a stage wherever it is."""

import subprocess
import sys

import pytest

CODE = """
import os, signal, sys, time
from plumbline.contract import stop_signals

class Odd:
    def __del__(self):
        os.kill(os.getpid(), getattr(signal, sys.argv[1]))
        time.sleep(0.01)  # raised here, and dropped

stop_signals.raise_on_signals()
try:
    Odd()
    time.sleep(30)
except stop_signals.Terminated:
    sys.exit("terminated")
except KeyboardInterrupt:
    sys.exit("interrupted")
"""


@pytest.mark.parametrize(("signal", "said"), [("SIGTERM", "terminated"), ("SIGINT", "interrupted")])
def test_a_signal_that_comes_in_a_callback_is_not_lost(signal: str, said: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE, signal],
        capture_output=True,
        text=True,
        timeout=25,
        check=False,
    )
    assert done.stderr.strip() == said


def test_other_errors_in_callbacks_are_told_as_ever() -> None:
    code = CODE.replace(
        "os.kill(os.getpid(), getattr(signal, sys.argv[1]))", "raise OSError(7)"
    ).replace("30", "0")
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=25, check=False
    )
    assert "Exception ignored in" in done.stderr
    assert "OSError: 7" in done.stderr
