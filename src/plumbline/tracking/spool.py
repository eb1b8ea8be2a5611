"""What stages log, on disk until MLflow has it: a folder for each pass, in it one for each run.

A stage writes lines of JSON here, which takes microseconds and no MLflow, and cannot fail because
of a server. `delivery` brings them to MLflow, and removes a pass that is there as a whole.
"""

import fcntl
import json
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from plumbline.tracking import store_location

FOLDER = Path(".plumbline/tracking")
PASS, RUN, EVENTS, FILES = "pass.json", "run.json", "events.jsonl", "files"
CLOSED, DELIVERED, WARNED = "closed.json", "delivered.json", "warned"
REMOVED = "removed"  # where a pass is that is being removed: no pass is below it
DESCRIBED = "described.json"  # the runs of a pass that its own run in MLflow describes


@dataclass(frozen=True)
class SpooledRun:
    """One run of a stage, as its folder describes it."""

    folder: Path

    def describe(self) -> dict[str, Any]:
        """Read the stage, its name and its tags."""
        return read_record(self.folder / RUN)

    def read_events(self) -> list[dict[str, Any]]:
        """Read the events that are whole; a line that a kill cut off, or is damaged, is none."""
        text = _read_text(self.folder / EVENTS)
        events = [_parse(line) for line in text.split("\n")[:-1]]
        return [event for event in events if event]

    def find_status(self) -> str | None:
        """Return how the run ended; None where it did not."""
        for event in reversed(self.read_events()):
            if event["kind"] == "end":
                return str(event["status"])
        return None

    def is_alive(self) -> bool:
        """Whether a process still writes to it: the lock on its events ends with that process."""
        try:
            with (self.folder / EVENTS).open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except FileNotFoundError:
            pass
        return False


def locate_spool() -> Path:
    """Return the folder of all passes; experiments of DVC share that of their checkout."""
    return store_location.find_home() / FOLDER


def create_folder() -> Path:
    """Make the folder of a new pass; its name sorts by the moment."""
    moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%f")
    folder = locate_spool() / f"{moment}-{secrets.token_hex(3)}"
    folder.mkdir(parents=True)
    return folder


def list_passes() -> list[Path]:
    """List the passes that MLflow does not have as a whole, oldest first."""
    return sorted(path.parent for path in locate_spool().glob(f"*/{PASS}"))


def list_open_passes(root: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the passes of stages in the folder `root` that are not closed, the latest first.

    Each comes with its record. A pass is closed before another process removes it: whether it is
    closed is asked first, so that nothing joins one that is gone when its record is read.
    """
    for folder in reversed(list_passes()):
        if not (folder / CLOSED).exists():
            record = read_record(folder / PASS)
            if record.get("folder") == str(root):
                yield folder, record


def write_closed(folder: Path, *, is_complete: bool) -> None:
    """Record that nothing more comes to a pass, and whether its last stage ended well."""
    write_record(folder / CLOSED, {"complete": is_complete, "time": read_clock_ms()})


def remove_pass(folder: Path) -> None:
    """Remove a pass; to others it is there as a whole, or not at all."""
    removed = locate_spool() / REMOVED
    removed.mkdir(exist_ok=True)
    folder.rename(removed / folder.name)
    shutil.rmtree(removed)


def forget_delivery(folder: Path) -> None:
    """Let all of a pass wait to be written again."""
    for run in list_runs(folder):
        (run.folder / DELIVERED).unlink(missing_ok=True)


def list_runs(folder: Path) -> list[SpooledRun]:
    """List the runs of a pass in the order in which they began."""
    return [SpooledRun(path.parent) for path in sorted(folder.glob(f"*/{RUN}"))]


def add_run(folder: Path, name: str, facts: Mapping[str, Any]) -> SpooledRun:
    """Add a run to a pass."""
    run = SpooledRun(folder / f"{len(list_runs(folder)) + 1:03} {name}")
    (run.folder / FILES).mkdir(parents=True)
    write_record(run.folder / RUN, {"name": name, **facts})
    return run


@contextmanager
def open_events(run: SpooledRun) -> Iterator[IO[bytes]]:
    """Open the events of a run to write, under the lock that shows that the run is alive.

    Nothing is buffered: on a full disk, closing would try to write it again, and fail.
    """
    path = run.folder / EVENTS
    with path.open("ab", buffering=0) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        _cut_partial_line(path)
        yield file


def write_event(file: IO[bytes], event: Mapping[str, Any]) -> None:
    """Write one event; a process that is killed after this loses nothing of it."""
    line = (json.dumps(event) + "\n").encode()
    while line:
        line = line[file.write(line) :]


def copy_file(run: SpooledRun, path: Path, folder: str) -> str:
    """Copy a file or folder into the run; return where it is, relative to the run's folder."""
    target = run.folder / FILES / folder / path.name
    target.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        shutil.copytree(path, target, dirs_exist_ok=True)
    else:
        shutil.copyfile(path, target)
    return target.relative_to(run.folder).as_posix()


def read_record(path: Path) -> dict[str, Any]:
    """Read a small JSON file; empty where there is none, or it is damaged."""
    return _parse(_read_text(path))


def write_record(path: Path, record: Mapping[str, Any]) -> None:
    """Write a small JSON file; a reader sees the whole of it or what was there before."""
    aside = path.with_name(f".{path.name}")
    aside.write_text(json.dumps(record), encoding="utf-8")
    aside.replace(path)


def read_clock_ms() -> int:
    """Return the time as MLflow counts it, in milliseconds."""
    return int(time.time() * 1000)


def _read_text(path: Path) -> str:
    """Read a file; empty where there is none: another process may remove a pass at any time."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""


def _parse(text: str) -> dict[str, Any]:
    try:
        record = json.loads(text)
    except ValueError:
        return {}
    return record if isinstance(record, dict) else {}


def _cut_partial_line(path: Path) -> None:
    """Cut off the line that a kill left half-written."""
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        with path.open("r+b") as file:
            file.truncate(whole)
