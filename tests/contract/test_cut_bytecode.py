"""A compiled module that a full disk cut off is removed, and the next command goes on."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.checkouts import ROOT, get_clean_environment


def run_python(cache: Path, code: str) -> subprocess.CompletedProcess[str]:
    environment = get_clean_environment() | {
        "PYTHONPYCACHEPREFIX": str(cache),
        "PYTHONPATH": str(ROOT / "src"),
    }
    return subprocess.run(
        [sys.executable, "-P", "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("module", ["plumbline.contract.ranks", "email.mime.text"])
def test_the_next_command_goes_on_where_a_compiled_module_was_cut_off(
    module: str, tmp_path: Path
) -> None:
    code = f"import plumbline, {module}"
    assert run_python(tmp_path, code).returncode == 0
    (compiled,) = tmp_path.rglob(f"{module.rpartition('.')[2]}.*.pyc")
    whole = compiled.stat().st_size
    os.truncate(compiled, whole // 2)
    stopped = run_python(tmp_path, code)
    assert stopped.returncode == 1
    assert stopped.stderr == (
        f"-c: {compiled}: cut off, as a full disk leaves it; "
        "it was removed, run the same command again\n"
    )
    assert run_python(tmp_path, code).returncode == 0
    assert compiled.stat().st_size == whole


def test_any_other_error_keeps_its_traceback(tmp_path: Path) -> None:
    stopped = run_python(tmp_path, "import plumbline; raise EOFError('no input')")
    assert stopped.returncode == 1
    assert stopped.stderr.startswith("Traceback")
