"""Every answer as one JSON line in the long form; several processes may append to one file."""

import fcntl
import json
import os
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from plumbline.contract.errors import PlumblineError
from plumbline_consult.course import Asking, Observer, Question
from plumbline_consult.outcomes import AgentOutcome

FIRST_BYTES = b'{"question_id"'
MAX_LINE = 4 << 20  # bytes of the file's end in which its last line begins


@dataclass
class AnswerRecords(Observer):
    """Appends answers to `path`; `policy` is who asked, `form` how answers are compared."""

    path: Path
    policy: str
    form: str

    def __post_init__(self) -> None:
        self._lock = threading.Lock()  # flock does not keep out threads of the same process

    def check_writable(self) -> None:
        """PlumblineError where records could not be written: better before money is spent."""
        self._append(b"")
        with self.path.open("rb") as file:
            start = file.read(len(FIRST_BYTES))
        if start not in (b"", FIRST_BYTES):
            raise PlumblineError(f"{self.path}: not a file of records; choose another --records")

    def end_agent(self, question: Question, outcome: AgentOutcome, asking: Asking) -> None:
        """Append one line, before anything else is done with the answer."""
        record = {
            "question_id": question.id,
            "question": question.text,
            "gold": "",
            "agent": outcome.agent,
            "answer": outcome.answer,
            "tokens": outcome.num_tokens,
            "confidence": outcome.confidence,
            "cost": outcome.cost,
            "estimated": outcome.is_estimate,
            "status": outcome.status,
            "seconds": round(outcome.seconds, 3),
            "asked_at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "chosen": asking.chosen,
            "num_others": asking.num_others,
            "asks_all": asking.asks_all,
            "normalise": self.form,
            "policy": self.policy,
        }
        self._append(json.dumps(record, allow_nan=False).encode() + b"\n")

    def _append(self, line: bytes) -> None:
        """Append a whole line, or nothing."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
            file = os.open(self.path, flags, 0o600)
            try:
                with self._lock:
                    fcntl.flock(file, fcntl.LOCK_EX)
                    if line:
                        _write_whole(file, line, _end_last_line(file))
            finally:
                os.close(file)  # and unlock
        except OSError as error:
            raise PlumblineError(
                f"{self.path}: records cannot be written ({error.strerror}); free the disk or "
                "choose another --records"
            ) from None


def _end_last_line(file: int) -> int:
    """End the last line, or remove it where a crash cut it off; return the length of the file."""
    size = os.fstat(file).st_size
    start = max(0, size - MAX_LINE)
    tail = os.pread(file, size - start, start).rpartition(b"\n")[2]
    if not tail:
        return size
    if tail.startswith(FIRST_BYTES) and not _is_json(tail):
        os.ftruncate(file, size - len(tail))
        return size - len(tail)
    os.write(file, b"\n")
    return size + 1


def _is_json(raw: bytes) -> bool:
    try:
        json.loads(raw)
    except ValueError:
        return False
    return True


def _write_whole(file: int, line: bytes, end: int) -> None:
    """Write all of `line` or nothing: a full disk leaves no half of it."""
    try:
        while line:
            line = line[os.write(file, line) :]
    except OSError:
        os.ftruncate(file, end)
        raise
