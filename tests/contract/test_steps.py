"""What a stage says that it does, and that it lasts."""

import io
import re
import sys
import time
from collections.abc import Callable

import pytest

from plumbline.contract import steps

STYLE = re.compile(r"\x1b\[[\d;?]*[A-Za-z]")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def wait_for(condition: Callable[[], bool]) -> None:
    while not condition():  # the suite's own limit ends a test that hangs
        time.sleep(0.05)


def test_a_stage_says_what_it_does_and_a_command_does_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    steps.announce("scores linear")
    steps.show_share("epoch 1/2", 0.5)
    assert capsys.readouterr().out == ""
    with steps.show_steps("evaluate"):
        steps.announce("scores linear")
    steps.announce("scores linear")
    said = capsys.readouterr()
    assert (said.out, said.err) == ("evaluate: scores linear\n", "")


def test_in_a_log_a_step_that_lasts_is_said_again_now_and_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(steps, "QUIET_S", 0)
    monkeypatch.setattr("sys.stdout", log := io.StringIO())
    with steps.show_steps("train"):
        steps.announce("writes the graph")
        wait_for(lambda: "so far" in log.getvalue())
        steps.announce("fits linear")
        steps.show_share("epoch 3/4", 0.56)
        wait_for(lambda: "epoch" in log.getvalue())
    lines = re.sub(r"\d+ s so", "1 s so", log.getvalue()).splitlines()
    assert lines == [
        "train: writes the graph",
        "train: writes the graph, 1 s so far",
        "train: fits linear",
        "train: fits linear, 1 s so far: epoch 3/4, 56%",
    ]


def test_at_a_terminal_a_bar_moves_below_what_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", terminal := Terminal())
    monkeypatch.setenv("TERM", "xterm")
    with steps.show_steps("train"):
        steps.announce("writes the graph")
        wait_for(lambda: terminal.getvalue().count(":0") > 1)
        sys.stdout.write("a warning\n")
        steps.announce("fits linear")
        steps.show_share("epoch 4/4", 0.88)
        wait_for(lambda: "88%" in terminal.getvalue())
    lines = STYLE.sub("", terminal.getvalue()).replace("\r", "\n").splitlines()
    said = [line.rstrip() for line in lines if line.strip(" ━╸╺")]
    assert [line for line in said if not re.search(r"\d:\d\d:\d\d", line)] == [
        "train: writes the graph",
        "a warning",
        "train: fits linear",
    ]
    assert any(re.search(r"━ +88% \d:\d\d:\d\d epoch 4/4", line) for line in said)
