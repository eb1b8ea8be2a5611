"""The example that docs/tasks/filter_design.md opens with, as a user types it."""

import json
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.support.checkouts import ROOT
from typer.testing import CliRunner

from plumbline.cli import app
from tasks.filter_design.predictor import TextbookPredictor
from tasks.filter_design.task import TASK

PAGE = (ROOT / "docs/tasks/filter_design.md").read_text(encoding="utf-8")


@contextmanager
def open_textbook(address: str, **required: bool) -> Iterator[Any]:
    """A registered version whose model is the textbook's search."""
    label = SimpleNamespace(label="filter-designer/1")
    yield SimpleNamespace(task=TASK.name, registered=label, load_predictor=TextbookPredictor)


@pytest.fixture
def command(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The words of the documented command, in a checkout of the recipe."""
    recipe = (ROOT / "recipes/filter_design.yaml").read_text(encoding="utf-8")
    (folder / "params.yaml").write_text(recipe, encoding="utf-8")
    monkeypatch.setattr("plumbline.registry.reader.open_version", open_textbook)
    monkeypatch.setenv("COLUMNS", "160")
    line = re.search(r"^    plumbline (predict .*)$", PAGE, re.MULTILINE)
    assert line
    return shlex.split(line[1])


def run(words: list[str]) -> str:
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    return " ".join(result.output.replace("│", " ").split())


def test_the_command_prints_parts_margin_yield_and_where_the_netlist_is(command: list[str]) -> None:
    printed = run(command)
    message = re.search(r"^    (7 parts .*)$", PAGE, re.MULTILINE)
    assert message
    assert message[1] in printed
    assert (
        "shunt_first 7 [390.0, 430.0, 390.0] [110.0, 200.0, 200.0, 110.0] 0.3543 0.8940" in printed
    )
    assert "filters/netlist-0.txt" in printed
    assert "81 numbers from" in printed
    netlist = Path("filters/netlist-0.txt").read_text()
    assert netlist.count("\nL") == 3
    assert netlist.endswith(".end\n")
    assert "filters/picture-0.svg" in printed
    assert Path("filters/picture-0.svg").read_text(encoding="utf-8").startswith("<svg ")


def test_with_five_parts_it_says_that_none_can(command: list[str]) -> None:
    row = json.loads(command[1])
    printed = run([command[0], json.dumps(row | {"order": 5})])
    sentence = re.search(r"^    (no ladder of 5 parts .*)$", PAGE, re.MULTILINE)
    assert sentence
    assert sentence[1] in printed
    assert "--save FOLDER writes them" in printed
    assert not Path("filters").exists()


def test_a_misspelt_field_is_not_taken_for_one_left_out(command: list[str]) -> None:
    row = json.loads(command[1]) | {"q_inductors": 300}
    result = CliRunner().invoke(app, [command[0], json.dumps(row)])
    assert result.exit_code != 0
    assert "is unknown; the model takes kind, pass_hz" in str(result.exception)
