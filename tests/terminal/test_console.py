"""What commands print of names, labels and gates is text, whatever is in it."""

import json
import subprocess
import sys

import pytest

from plumbline.cli.doctor import print_results
from plumbline.diagnostics.result import DiagnosticResult

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
