"""The command that `plumbline report` prints for the new version can be typed."""

import shlex

import pytest
from typer.main import get_command

from plumbline.cli import app, report


@pytest.mark.parametrize("example", ["-0.5", "'where is it'", "'-- and more'", "'{\"x\": -1}'"])
def test_an_example_is_no_option(example: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "_quote_example", lambda: example)
    typed = ["--model", "models:/m/2", *shlex.split(report._name_example())]
    command = get_command(app).commands["predict"]  # type: ignore[attr-defined]
    parsed = command.make_context("predict", typed).params
    assert parsed["model"] == "models:/m/2"
    assert shlex.split(example) == [*parsed["values"]]
