"""Commands and stages end without a last look for garbage."""

import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import atexit, gc, sys
atexit.register(lambda: print("left:", gc.get_freeze_count()))
sys.argv = ["plumbline", "no-such-command"]
{}
"""
ENDS = {
    "command": "from plumbline.cli import main; main()",
    "stage": "sys.argv.pop(); from plumbline import entrypoint; entrypoint.main('validate')",
}


@pytest.mark.parametrize("ends", ENDS)
def test_what_is_loaded_is_left_to_the_system(ends: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE.format(ENDS[ends])],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert int(done.stdout.rpartition("left: ")[2]) > 10_000
