"""What a training says of how far it is."""

import io
import re

import pytest

from plumbline.training import progress

ROW = {"epoch": 3.0, "train/loss": 0.5}
LAST = "minilm: epoch 3/4  train/loss 0.5000  20/s, 0 s"
STYLE = re.compile(r"\x1b\[[\d;?]*[A-Za-z]")


def test_the_time_left_is_of_what_this_process_did(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [1000.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    resumed = progress.Progress("minilm", 4, num_epochs_done=2)
    now[0] += progress.EVERY_S
    resumed.on_step(1, 4)
    said = "minilm: epoch 3/4, 56% after 1 min 0 s, 7 min 0 s left\n"
    assert capsys.readouterr().out == said


def train() -> None:
    with progress.Progress("minilm", 4, num_epochs_done=2) as shown:
        for batch in (1, 2):
            shown.on_step(batch, 2)
        shown.on_epoch(ROW, 20.0)
        shown.on_step(1, 2)


def read(text: str) -> list[str]:
    """Return the lines without colours, and with one duration for all: machines may be busy."""
    return re.sub(r"\b\d+ s\b|\d:\d\d:\d\d", "0 s", STYLE.sub("", text)).splitlines()


def test_without_a_terminal_it_is_a_line_a_minute_and_one_at_the_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "EVERY_S", 3600)
    train()
    assert read(capsys.readouterr().out) == [LAST]
    monkeypatch.setattr(progress, "EVERY_S", 0)
    train()
    assert read(capsys.readouterr().out) == [
        "minilm: epoch 3/4, 62% after 0 s, 0 s left",
        "minilm: epoch 3/4, 75% after 0 s, 0 s left",
        "minilm: epoch 4/4, 88% after 0 s, 0 s left",
        LAST,
    ]


def test_at_a_terminal_it_is_one_bar_over_all_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdout", terminal := Terminal())
    monkeypatch.setenv("TERM", "xterm")
    train()
    *_, bar, last = filter(None, read(terminal.getvalue()))
    assert re.search(r"minilm: epoch 4/4 \S+ +88% 0 s 0 s left", bar)
    assert last == LAST
