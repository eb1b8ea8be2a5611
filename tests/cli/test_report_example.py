"""The command that `plumbline report` prints for the new version can be typed."""

import shlex
from pathlib import Path

import pytest
from typer.main import get_command

from plumbline.cli import app, report
from plumbline.contract import layout
from plumbline.contract.errors import PlumblineError
from plumbline.evidence import document
from plumbline.process.files import write_json


@pytest.mark.parametrize("example", ["-0.5", "'where is it'", "'-- and more'", "'{\"x\": -1}'"])
def test_an_example_is_no_option(example: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "_quote_example", lambda: example)
    typed = ["--model", "models:/m/2", *shlex.split(report._name_example())]
    command = get_command(app).commands["predict"]  # type: ignore[attr-defined]
    parsed = command.make_context("predict", typed).params
    assert parsed["model"] == "models:/m/2"
    assert shlex.split(example) == [*parsed["values"]]


@pytest.mark.parametrize("text", ["[]", "<<<<<<< HEAD"], ids=["a list", "no JSON"])
def test_a_damaged_registration_is_named(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    evidence = {"format": document.FORMAT, "verdict": "error", "summary": "", "gates": []}
    write_json(layout.EVIDENCE, document.seal_evidence(evidence))
    layout.REGISTRATION.write_text(text)
    with pytest.raises(PlumblineError, match=r"^reports/registration.json: .*register`"):
        report.show_report()
