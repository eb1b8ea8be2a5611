"""A compiled module that a full disk cut off is removed, and the next command goes on."""

import importlib
import os
import py_compile
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.checkouts import ROOT, get_clean_environment

from plumbline.contract.cut_bytecode import remove_cut_bytecode

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


def import_module(folder: Path, compiled: Path, data: bytes) -> BaseException:
    """Import `damaged` from `folder`, of whose compiled file this is left; return the error."""
    compiled.write_bytes(data)
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        with pytest.raises((EOFError, TypeError, ValueError)) as caught:
            importlib.import_module("damaged")
    finally:
        sys.path.remove(str(folder))
    return caught.value


@pytest.mark.parametrize("rest", [b"", bytes(100)], ids=["cut off", "zeros"])
def test_a_copy_is_removed_but_no_module_without_a_source(rest: bytes, tmp_path: Path) -> None:
    """Zeros are what a loss of power leaves of a file that has its length already."""
    source = tmp_path / "damaged.py"
    source.write_text("VALUES = [1, 2, 3]\n")
    copy = Path(py_compile.compile(str(source)))
    data = copy.read_bytes()[:40] + rest
    message = remove_cut_bytecode(import_module(tmp_path, copy, data))
    assert message == (
        f"{copy}: cut off, as on a full disk; it was removed, run the same command again"
    )
    assert not copy.exists()
    source.unlink()
    alone = tmp_path / "damaged.pyc"
    assert remove_cut_bytecode(import_module(tmp_path, alone, data)) is None
    assert alone.exists()


def test_a_copy_that_cannot_be_removed_is_named(tmp_path: Path) -> None:
    from importlib import _bootstrap_external as reader  # type: ignore[attr-defined]

    with pytest.raises(EOFError) as caught:
        reader._compile_bytecode(b"", bytecode_path=str(tmp_path), source_path="damaged.py")
    message = remove_cut_bytecode(caught.value)
    assert message is not None
    assert message.startswith(f"{tmp_path}: cut off, as on a full disk; it cannot be removed (")
    assert message.endswith("set PYTHONPYCACHEPREFIX to a folder that you may write to")
