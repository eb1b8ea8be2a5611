"""What a run leaves beside its output until that is whole, so that after a crash the next run goes on from there."""

import fcntl
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from plumbline.contract import layout
from plumbline.contract.errors import PlumblineError

FORMAT = 1  # raised when a new version of this code would go on otherwise than the old one began


class Parts:
    """The folder `.OUTPUT.parts`: all rows so far, and a small file that says how many and of which run.

    Only whole chunks count: what a crash left behind them is cut off. One process at a time may hold the folder.
    """

    def __init__(self, output: Path, run: Mapping[str, Any]) -> None:
        self._output = output
        self.folder = output.with_name(f".{output.name}.parts")
        self.rows = self.folder / "rows"
        self._state = self.folder / "state.json"
        self._run = {"format": FORMAT, **run}
        self.num_rows, self.num_bad, self._num_bytes = 0, 0, 0
        self.outdated = ""  # why the rows of an earlier run do not count

    def __enter__(self) -> "Parts":
        self.folder.mkdir(exist_ok=True)
        self._lock = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            raise PlumblineError(
                f"{self._output}: another process is writing it; wait for it or stop it"
            ) from None
        self._take_up()
        self._file = self.rows.open("r+b" if self.rows.exists() else "w+b")
        self._file.truncate(self._num_bytes)
        self._file.seek(self._num_bytes)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, *_: TracebackType | BaseException | None
    ) -> None:
        self._file.close()
        if not self.num_rows:
            self.drop()
        os.close(self._lock)

    def append(self, data: bytes, num_rows: int, num_bad: int) -> None:
        """Add rows and make them last; OSError where they cannot be written, and then they do not count."""
        self._file.write(data)
        self._file.flush()
        os.fsync(self._file.fileno())
        size, rows, bad = (
            self._num_bytes + len(data),
            self.num_rows + num_rows,
            self.num_bad + num_bad,
        )
        layout.write_json(self._state, {"run": self._run, "rows": rows, "bad": bad, "bytes": size})
        self._num_bytes, self.num_rows, self.num_bad = size, rows, bad

    def publish(self, done: Path) -> None:
        """Put the finished file in the output's place and remove the folder."""
        layout.publish(done, self._output)
        self.drop()

    def drop(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _take_up(self) -> None:
        """Take over what the state file says, where it is of the same run and the rows are there; else remove it."""
        try:
            state = layout.read_json(self._state)
            changed = [name for name, value in self._run.items() if state["run"].get(name) != value]
            rows, bad, size = (int(state[key]) for key in ("rows", "bad", "bytes"))
            if rows and changed:
                self.outdated = (
                    f"starting over: {', '.join(changed)} changed since the run that was cut short"
                )
            elif rows and self.rows.stat().st_size >= size:
                self.num_rows, self.num_bad, self._num_bytes = rows, bad, size
        except FileNotFoundError:
            pass
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            self.outdated = f"starting over: {self._state} is damaged"
        if not self.num_rows:
            self._state.unlink(missing_ok=True)
