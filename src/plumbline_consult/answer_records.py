"""Every answer as one JSON line in the long form; several processes may append to one file."""

import json
import os
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from plumbline.contract.errors import PlumblineError
from plumbline.process.locks import hold
from plumbline_consult.calling import AgentOutcome
from plumbline_consult.consultation import Course


@dataclass
class AnswerRecords:
    """Appends answers to `path`; `policy` is who asked, `form` how answers are compared."""

    path: Path
    policy: str
    form: str

    def check_writable(self) -> None:
        """PlumblineError where records could not be written: better before money is spent."""
        self._append(b"")

    def append(self, course: Course, outcome: AgentOutcome) -> None:
        """Append one line, before anything else is done with the answer."""
        record = {
            "question_id": course.question.id,
            "question": course.question.text,
            **asdict(outcome),
            "asked_at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "asks_all": course.asks_all,
            "normalise": self.form,
            "policy": self.policy,
        }
        self._append(json.dumps(record, allow_nan=False).encode() + b"\n")

    def _append(self, line: bytes) -> None:
        """Append a whole line; a lock on the file keeps out other processes."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
            with os.fdopen(descriptor, "rb+") as file:  # its end unlocks it too
                hold(file)
                size = file.seek(0, os.SEEK_END)
                if line and size and os.pread(descriptor, 1, size - 1) != b"\n":
                    line = b"\n" + line  # an editor, or a full disk, left a line without an end
                file.write(line)
        except OSError as error:
            raise PlumblineError(
                f"{self.path}: records cannot be written ({error.strerror}); free the disk or "
                "choose another --records"
            ) from None
