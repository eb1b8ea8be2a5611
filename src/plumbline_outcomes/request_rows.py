"""The rows of a log of requests, in a database that can join them: memory does not grow with it."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from plumbline.contract.errors import DataError
from plumbline.contract.task import Field
from plumbline.drift.window import INPUT, OUTPUT
from plumbline.sources.request_folder import PREFIX, RequestFolder
from plumbline.tables.parquet_batches import read_row_groups
from plumbline.tables.rows import StoredRows

if TYPE_CHECKING:
    import pyarrow as pa

WRITER = b"plumbline"  # the key in a file's metadata
OLD = ("request_id", "at", "model", "version", "side")  # what every log has
JOINED = ("row", "bundle", "shown", "draw")  # and what it takes to join one


@dataclass
class LogFacts:
    """What a log says of itself, filled while its rows are read."""

    num_files: int = 0
    num_rows: int = 0
    num_old: int = 0  # files of a version of plumbline that wrote no row numbers
    num_ahead: int = 0  # rows from after now, by the clock of a server
    first: datetime | None = None
    lost: Counter[str] = field(default_factory=Counter)
    # Of each writer, by sequence number: the first and the last time in the file.
    written: dict[str, dict[int, tuple[datetime, datetime]]] = field(default_factory=dict)

    def list_gaps(self) -> list[tuple[int, date, date]]:
        """List the files that are missing between two of one writer: how many, between which days.

        Files before a writer's first may have been deleted as they were old, so none is missed.
        """
        gaps = []
        for files in self.written.values():
            numbers = sorted(files)
            for one, other in pairwise(numbers):
                if other > one + 1:
                    gaps.append((other - one - 1, files[one][1].date(), files[other][0].date()))
        return gaps

    def describe(self) -> dict[str, Any]:
        """What the report says of the log."""
        return {
            "files": self.num_files,
            "rows": self.num_rows,
            "old": self.num_old,
            "ahead": self.num_ahead,
            "lost": dict(self.lost),
            "missing": sum(count for count, _, _ in self.list_gaps()),
        }


def read_requests(
    folder: RequestFolder,
    model: str,
    since: date | None,
    facts: LogFacts,
    now: datetime,
    *,
    with_inputs: bool = False,
) -> StoredRows:
    """Read the rows of `model` into the table `rows`: one for each answer of each version.

    `since`: only days from this one on. `with_inputs`: the column `inputs` has them, as JSON, or
    null where --redact dropped them; else it is null in all rows. DataError names a file that is
    not of such a log.
    """
    names = folder.list_log()
    if since is not None:  # a name says when its file was written, which is after its requests
        before = since - timedelta(days=1)  # shows what is missing between it and `since`
        names = [name for name in names if name >= f"{PREFIX}{before:%Y%m%d}"]
    stored = StoredRows(_read_files(folder, names, model, facts, now, with_inputs))
    if since is not None:
        stored.query('DELETE FROM rows WHERE "at" < ?', datetime.combine(since, time(), UTC))
    if facts.num_old == len(names) > 0:
        raise DataError(
            f"{folder.shown}: an earlier version of plumbline wrote it, without numbers of rows; "
            "only what is answered from now on can be joined"
        )
    return stored


def build_schema() -> "pa.Schema":
    """The columns of the table `rows`."""
    import pyarrow as pa

    text, number = pa.string(), pa.float64()
    return pa.schema(
        {
            "request_id": text, "row": pa.int32(), "at": pa.timestamp("us", "UTC"),
            "bundle": text, "version": text, "side": text, "shown": pa.bool_(),
            "draw": number, "assigned": text, "share": number, "key": text,
            "content": pa.int64(), "outputs": text, "inputs": text,
        }
    )  # fmt: skip


def digest_text(text: str) -> int:
    """The first 63 bits of a SHA-256, as closed days hold them in place of a text."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) >> 1


def read_outputs(written: str | None, fields: Sequence[Field]) -> dict[str, Any]:
    """Read the outputs of a row of `rows`; nested ones stay text where they are no JSON."""
    outputs: dict[str, Any] = json.loads(written or "{}")
    for each in fields:
        if each.name in outputs and not isinstance(each.type, str):
            with suppress(ValueError, TypeError):
                outputs[each.name] = json.loads(outputs[each.name])
    return outputs


def _read_files(
    folder: RequestFolder,
    names: list[str],
    model: str,
    facts: LogFacts,
    now: datetime,
    with_inputs: bool,
) -> Iterator["pa.RecordBatch"]:
    import pyarrow as pa

    schema = build_schema()
    yield pa.RecordBatch.from_pylist([], schema)
    for name in names:
        try:
            for rows in _read_file(folder, name, model, facts):
                facts.num_rows += len(rows)
                facts.num_ahead += sum(row["at"] > now for row in rows)
                if not with_inputs:
                    rows = [row | {"inputs": None} for row in rows]
                yield pa.RecordBatch.from_pylist(rows, schema)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"{folder.shown}/{name}: not a log of requests ({error}); move it out of the folder"
            ) from None
        facts.num_files += 1


def _read_file(
    folder: RequestFolder, name: str, model: str, facts: LogFacts
) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows of a file, none of one that was written without their numbers."""
    import pyarrow.parquet as pq

    times = []
    with folder.open(name) as file:
        about = pq.read_schema(file)
        file.seek(0)
        missing = [column for column in OLD if column not in about.names]
        if missing:
            raise KeyError(f"no column {missing[0]}")
        if not set(JOINED) <= set(about.names):
            facts.num_old += 1
            return
        for batch in read_row_groups(file):
            rows = batch.to_pylist()
            times += [row["at"] for row in rows]
            yield [_build_row(row) for row in rows if row["model"] == model]
    _note_writer((about.metadata or {}).get(WRITER), times, facts)
    if times:
        facts.first = min([*times, facts.first or times[0]])


def _build_row(record: Mapping[str, Any]) -> dict[str, Any]:
    """Digest a row's inputs and join its outputs; where --redact dropped inputs, the time counts.

    Then no two answers have equal inputs: nothing shows that they do.
    """
    inputs = {name: record[name] for name in sorted(record) if name.startswith(INPUT)}
    is_known = any(value is not None for value in inputs.values())
    content = json.dumps(list(inputs.values()), default=str) if is_known else str(record["at"])
    outputs = {
        name.removeprefix(OUTPUT): value
        for name, value in record.items()
        if name.startswith(OUTPUT) and value is not None
    }
    written = json.dumps(outputs, default=str) if outputs else None
    given = json.dumps(inputs, default=str) if is_known else None
    return dict(record) | {
        "content": digest_text(content), "outputs": written, "inputs": given,
    }  # fmt: skip


def _note_writer(raw: bytes | None, times: list[datetime], facts: LogFacts) -> None:
    """Note what a file says of its writer; its last one may have losses alone, and no row."""
    if raw is None:
        return
    about = json.loads(raw)
    for reason, sides in about["lost"].items():
        for side, count in sides.items():
            facts.lost[f"{reason}, {side}"] += count
    if times:
        written = facts.written.setdefault(about["writer"], {})
        written[int(about["sequence"])] = (min(times), max(times))
