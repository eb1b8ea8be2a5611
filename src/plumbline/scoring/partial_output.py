"""What a run keeps beside its output until that is complete, so that the next run can resume."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from plumbline.contract.errors import PlumblineError
from plumbline.process.files import publish, read_json, write_json
from plumbline.process.locks import hold

FORMAT = 1  # raised when a new version of this code would resume in another way than before


class PartialOutput:
    """The folder `.OUTPUT.parts`: all rows so far, and a state file that says how many.

    Only complete chunks count: what a crash left after them is cut off. The state file also tells
    which run the rows are of. One process at a time may use the folder.
    """

    def __init__(self, output: Path, run: Mapping[str, Any]) -> None:
        self._output = output
        self.folder = output.with_name(f".{output.name}.parts")
        self.rows = self.folder / "rows"
        self._state = self.folder / "state.json"
        self._run = {"format": FORMAT, **run}
        self.num_rows = 0
        self.num_bad = 0
        self._num_bytes = 0
        self.restart_reason = ""  # why the rows of an earlier run are not used

    def __enter__(self) -> "PartialOutput":
        self.folder.mkdir(exist_ok=True)
        self._lock = os.open(self.folder, os.O_RDONLY)
        if not hold(self._lock, wait=False):
            os.close(self._lock)
            raise PlumblineError(
                f"{self._output}: another process is writing it; wait for it or stop it"
            )
        self._resume()
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
        """Append rows durably. Raises OSError if they cannot be written; then they do not count."""
        self._file.write(data)
        self._file.flush()
        os.fsync(self._file.fileno())
        state = {
            "run": self._run,
            "rows": self.num_rows + num_rows,
            "bad": self.num_bad + num_bad,
            "bytes": self._num_bytes + len(data),
        }
        write_json(self._state, state)
        self._set_counts(state)

    def publish(self, finished: Path) -> None:
        """Move the finished file to the output's place and remove the folder."""
        publish(finished, self._output)
        self.drop()

    def drop(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _resume(self) -> None:
        """Take the counts from the state file if it is of the same run; else remove the file."""
        try:
            state = read_json(self._state)
            changed = [name for name, value in self._run.items() if state["run"].get(name) != value]
            counts = {key: int(state[key]) for key in ("rows", "bad", "bytes")}
            if counts["rows"] and changed:
                self.restart_reason = (
                    f"starting over: {', '.join(changed)} changed since the interrupted run"
                )
            elif counts["rows"] and self.rows.stat().st_size >= counts["bytes"]:
                self._set_counts(counts)
        except FileNotFoundError:
            pass
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            self.restart_reason = f"starting over: {self._state} is damaged"
        if not self.num_rows:
            self._state.unlink(missing_ok=True)

    def _set_counts(self, state: Mapping[str, Any]) -> None:
        self.num_rows = state["rows"]
        self.num_bad = state["bad"]
        self._num_bytes = state["bytes"]
