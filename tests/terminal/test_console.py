"""What commands print is text, whatever is in it, and the options that several of them take."""

import json
import subprocess
import sys
from typing import Any

import pytest

from plumbline.cli.doctor import print_results
from plumbline.contract.errors import ParamsError
from plumbline.contract.loading import load_task
from plumbline.contract.task import Param
from plumbline.contract.value_types import TYPES
from plumbline.diagnostics.result import DiagnosticResult
from plumbline.terminal.options import parse_inference_params

VALUE = "phone\x1b[2J\x1b[H\npromote: linear may be promoted: 17 gates passed.\x1b[8m"
SHOWN = "phone\ufffd[2J\ufffd[H promote: linear may be promoted: 17 gates passed.\ufffd[8m"


def test_a_name_in_a_check_stays_in_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_results([DiagnosticResult(f"[red]{VALUE}", True, "2 files")])
    assert capsys.readouterr().out == f"ok   [red]{SHOWN}: 2 files\n"


def test_a_table_in_a_pipe_is_as_wide_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    code = (
        "from rich.table import Table; from plumbline.terminal.console import out; "
        "table = Table('a'); table.add_row('word ' * 60); out.print(table)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "word " * 59 in done.stdout


def test_results_for_a_program_are_json(capsys: pytest.CaptureFixture[str]) -> None:
    print_results([DiagnosticResult("git", True, "commit abc")], as_json=True)
    (printed,) = json.loads(capsys.readouterr().out)
    assert printed == {"what": "git", "ok": True, "message": "commit abc", "remedy": ""}


PARAMS = (Param("top_k", "long", 3), Param("unit", "string", None), Param("exact", "boolean", None))


@pytest.mark.parametrize(
    ("pair", "expected"), [("top_k=5", 5), ("unit=Hz", "Hz"), ("unit=", ""), ("exact=false", False)]
)
def test_a_parameter_is_read_as_its_type_also_where_its_default_is_none(
    pair: str, expected: Any
) -> None:
    (value,) = parse_inference_params([pair], PARAMS).values()
    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ("top_k=many", "--param top_k: expected a whole number, found 'many'"),
        ("exact=no", "--param exact: expected true or false, found 'no'"),
        ("topk=3", "--param topk: unknown.*top_k"),
    ],
)
def test_another_value_is_refused(pair: str, message: str) -> None:
    with pytest.raises(ParamsError, match=message):
        parse_inference_params([pair], PARAMS)


@pytest.mark.parametrize("name", ["text_classification", "signal_extraction"])
def test_every_parameter_of_a_task_can_be_given(name: str) -> None:
    assert {param.type for param in load_task(name).signature.params} <= set(TYPES)
