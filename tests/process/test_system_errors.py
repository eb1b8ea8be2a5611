"""What the system refuses is one line: the path, the error, the remedy."""

import errno
import os
import sqlite3
from pathlib import Path

import pytest
from safetensors import SafetensorError

from plumbline.process.files import write_aside
from plumbline.process.system_errors import explain_system_error


def test_a_write_without_a_path_gets_that_of_the_file_it_replaces(tmp_path: Path) -> None:
    with (
        pytest.raises(OSError, match="No space left") as raised,
        write_aside(tmp_path / "metrics.json"),
    ):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    message = explain_system_error(raised.value)
    assert message == (
        f"{tmp_path}/metrics.json: no space left on device (ENOSPC); "
        "free space on that disk (`df -h`), then run the same command again"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (SafetensorError("I/O error: No space left on device (os error 28)"), "(ENOSPC)"),
        (sqlite3.OperationalError("database or disk is full"), "(ENOSPC)"),
        (MemoryError(), "(ENOMEM)"),
        (RuntimeError("can't allocate memory. Error code 12 (Cannot allocate memory)"), "(ENOMEM)"),
        (ConnectionError("the peer has gone\nand more"), "ConnectionError: the peer has gone"),
    ],
)
def test_errors_of_libraries_are_understood(error: Exception, said: str) -> None:
    message = explain_system_error(error)
    assert explain_system_error(ValueError("a bug")) is None  # it keeps its traceback
    assert message is not None
    assert said in message
    assert "\n" not in message
