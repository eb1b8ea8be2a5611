"""Every answer as one JSON line in the long form; several processes may append to one file."""

import json
import os
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from plumbline.contract.errors import PlumblineError
from plumbline.process.locks import hold
from plumbline_consult.course import Course
from plumbline_consult.outcomes import AgentOutcome

FIRST_BYTES = b'{"question_id"'


@dataclass(frozen=True)
class AnswerRecord:
    """One answer, as it is in the file."""

    question_id: str
    question: str
    agent: str
    answer: str  # empty where the agent gave none
    tokens: int
    confidence: float | None  # that the agent stated
    cost: float  # dollars
    estimated: bool
    status: str
    seconds: float
    asked_at: str
    asks_all: bool  # the question was put to every agent
    normalise: str  # how answers are compared
    policy: str


@dataclass
class AnswerRecords:
    """Appends answers to `path`; `policy` is who asked, `form` how answers are compared."""

    path: Path
    policy: str
    form: str

    def check_writable(self) -> None:
        """PlumblineError where records could not be written: better before money is spent."""
        self._append(b"")
        with self.path.open("rb") as file:
            start = file.read(len(FIRST_BYTES))
        if start not in (b"", FIRST_BYTES):
            raise PlumblineError(f"{self.path}: not a file of records; choose another --records")

    def append(self, course: Course, outcome: AgentOutcome) -> None:
        """Append one line, before anything else is done with the answer."""
        record = AnswerRecord(
            course.question.id,
            course.question.text,
            outcome.agent,
            outcome.answer,
            outcome.num_tokens,
            outcome.confidence,
            outcome.cost,
            outcome.is_estimate,
            outcome.status,
            round(outcome.seconds, 3),
            datetime.now(UTC).isoformat(timespec="milliseconds"),
            course.asks_all,
            self.form,
            self.policy,
        )
        self._append(json.dumps(asdict(record), allow_nan=False).encode() + b"\n")

    def _append(self, line: bytes) -> None:
        """Append a whole line, or nothing; a lock on the file keeps out other processes."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                hold(file)
                if line:
                    _write_whole(file, line)
            finally:
                os.close(file)  # and unlock
        except OSError as error:
            raise PlumblineError(
                f"{self.path}: records cannot be written ({error.strerror}); free the disk or "
                "choose another --records"
            ) from None


def _write_whole(file: int, line: bytes) -> None:
    """Write all of `line` or nothing: a full disk leaves no half of it."""
    size = os.fstat(file).st_size
    if size and os.pread(file, 1, size - 1) != b"\n":
        line = b"\n" + line  # an editor, or a crash, left a line without an end
    try:
        while line:
            line = line[os.write(file, line) :]
    except OSError:
        os.ftruncate(file, size)
        raise
