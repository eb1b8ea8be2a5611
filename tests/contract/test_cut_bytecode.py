"""A compiled module that a full disk cut off is removed, and the next command goes on."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.checkouts import ROOT, get_clean_environment

DOCS = "import sys; from plumbline.cli import main; sys.argv[1:] = ['docs']; main()"


def run_python(cache: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the real interpreter, which keeps compiled copies of all modules in `cache`."""
    environment = get_clean_environment() | {
        "PYTHONPYCACHEPREFIX": str(cache),
        "PYTHONPATH": str(ROOT / "src"),
    }
    return subprocess.run(
        [sys.executable, "-P", *arguments],
        env=environment,
        cwd=cache,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("module", "program"),
    [
        ("plumbline.contract.system_errors", ["-c", "import plumbline.contract.layout"]),
        ("email.mime.text", ["-c", "import plumbline.contract, email.mime.text"]),
        ("plumbline.init.repository_files", ["-c", DOCS]),
    ],
)
def test_the_next_command_goes_on_where_a_compiled_module_was_cut_off(
    module: str, program: list[str], tmp_path: Path
) -> None:
    first = run_python(tmp_path, *program)
    folders, _, name = f"*/{module.replace('.', '/')}".rpartition("/")
    (compiled,) = tmp_path.glob(f"**/{folders.removeprefix('*/')}/{name}.*.pyc")
    whole = compiled.stat().st_size
    os.truncate(compiled, whole // 2)
    stopped = run_python(tmp_path, *program)
    assert stopped.returncode == 1
    line = f"{compiled}: cut off, as on a full disk; it was removed, run the same command again\n"
    assert stopped.stderr.partition(": ")[2] == line
    again = run_python(tmp_path, *program)
    assert (again.returncode, again.stderr) == (first.returncode, first.stderr)
    assert compiled.stat().st_size == whole


def test_any_other_error_keeps_its_traceback(tmp_path: Path) -> None:
    stopped = run_python(tmp_path, "-c", "import plumbline.contract; raise EOFError('no input')")
    assert stopped.returncode == 1
    assert stopped.stderr.startswith("Traceback")
