"""The rows of a log of requests, in a database that can join them: memory does not grow with it."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import IO, TYPE_CHECKING, Any

from plumbline.contract.errors import DataError
from plumbline.contract.task import Field
from plumbline.drift.window import INPUT, OUTPUT, open_log_file
from plumbline.sources.request_folder import PREFIX, RequestFolder
from plumbline.tables.parquet_batches import read_row_groups
from plumbline.tables.rows import StoredRows, number_rows

if TYPE_CHECKING:
    import pyarrow as pa

WRITER = b"plumbline"  # the key in a file's metadata
OLD = ("request_id", "at", "model", "version", "side")  # what every log has
JOINED = ("row", "bundle", "shown", "draw")  # and what it takes to join one
# The first 63 bits of a SHA-256, as closed days have it in place of a text.
DIGEST = """
CREATE MACRO digest(written) AS (CAST('0x' || left(sha256(written), 16) AS UBIGINT) >> 1)::BIGINT
"""
# A row is known by its `content`: its inputs, whether a file has them as 1 or 1.0. Where --redact
# dropped them it is the time: nothing shows that two answers have equal inputs.
ROWS = r"""
SELECT * EXCLUDE given REPLACE (CASE WHEN ? THEN given END AS inputs,
    nullif(json_merge_patch('{}', to_json(outputs))::VARCHAR, '{}') AS outputs),
  digest(? || ' ' || request_id) AS id,
  digest(coalesce(regexp_replace(given, '":(-?\d+)\.0([,}])', '":\1\2', 'g'), "at"::VARCHAR))
    AS content
FROM (SELECT *, nullif(json_merge_patch('{}', to_json(inputs))::VARCHAR, '{}') AS given FROM batch)
"""
# Rows of an id with several inputs are in doubt, not late.
PAST = """
CREATE TABLE past AS SELECT id, count(*) AS size FROM (
  SELECT id, "row", count(DISTINCT content) AS contents FROM rows WHERE "at" < ? GROUP BY id, "row")
GROUP BY id HAVING max(contents) = 1
"""


@dataclass
class LogFacts:
    """What a log says of itself, filled while its rows are read."""

    num_files: int = 0
    num_old: int = 0  # files of a version of plumbline that wrote no row numbers
    num_ahead: int = 0  # rows from after now, by the clock of a server
    first: datetime | None = None
    lost: Counter[str] = field(default_factory=Counter)
    # Of each writer, by sequence number: the first and the last time in the file.
    written: dict[str, dict[int, tuple[datetime, datetime]]] = field(default_factory=dict)

    def note(self, about: Any, times: list[datetime]) -> None:
        """Note what a file says of its writer, and the times of its rows: of losses alone, none."""
        for reason, sides in (about or {"lost": {}})["lost"].items():
            for side, count in sides.items():
                self.lost[f"{reason}, {side}"] += count
        if times:
            self.first = min([*times, self.first or times[0]])
        if times and about:
            written = self.written.setdefault(about["writer"], {})
            written[int(about["sequence"])] = (min(times), max(times))

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
            "old": self.num_old,
            "ahead": self.num_ahead,
            "lost": dict(self.lost),
            "missing": sum(count for count, _, _ in self.list_gaps()),
        }


def read_requests(
    folder: RequestFolder,
    model: str,
    since: datetime | None,
    now: datetime,
    *,
    with_inputs: bool = False,
) -> tuple[StoredRows, LogFacts]:
    """Read the rows of `model` into the table `rows`: one for each answer of each version.

    `since`: only from this midnight of UTC on; `past` counts older rows by id that came later.
    `inputs` and `outputs` are JSON without nulls, or null; `with_inputs`: else all inputs are null.
    DataError names a file that is not of such a log.
    """
    names, facts, stored = folder.list_log(), LogFacts(), StoredRows(())
    if since:  # a name says when its file was written, which is after its requests
        before = since - timedelta(days=1)  # shows what is missing between it and `since`
        names = [name for name in names if name >= f"{PREFIX}{before:%Y%m%d}"]
    stored.query("SET GLOBAL TimeZone = 'UTC'")  # of its cursors too
    stored.query(DIGEST)
    batches = number_rows(_read_files(folder, names, model, facts))
    stored.add_table("rows", batches, ROWS, with_inputs, model)
    ahead = stored.query('SELECT count(*) AS size FROM rows WHERE "at" > ?', now)
    facts.num_ahead = int(ahead["size"][0])
    stored.query(PAST, since or datetime.min.replace(tzinfo=UTC))
    if since:
        stored.query('DELETE FROM rows WHERE "at" < ?', since)
    if 0 < facts.num_old == facts.num_files:
        raise DataError(
            f"{folder.shown}: an earlier version of plumbline wrote it, without numbers of rows; "
            "only what is answered from now on can be joined"
        )
    return stored, facts


def read_outputs(written: str | None, fields: Sequence[Field]) -> dict[str, Any]:
    """Read the outputs of a row of `rows`; nested ones stay text where they are no JSON."""
    outputs: dict[str, Any] = json.loads(written or "{}")
    for each in fields:
        if each.name in outputs and not isinstance(each.type, str):
            with suppress(ValueError, TypeError):
                outputs[each.name] = json.loads(outputs[each.name])
    return outputs


def _read_files(
    folder: RequestFolder, names: list[str], model: str, facts: LogFacts
) -> Iterator["pa.RecordBatch"]:
    import pyarrow as pa

    yield _select_columns(pa.RecordBatch.from_pydict({}))
    for name in names:
        with open_log_file(folder, name) as file:
            yield from _read_file(file, model, facts)
        facts.num_files += 1


def _read_file(file: IO[bytes], model: str, facts: LogFacts) -> Iterator["pa.RecordBatch"]:
    """Yield the rows of a file, none of one that was written without their numbers."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    about = pq.read_schema(file)
    file.seek(0)
    for column in OLD:
        if column not in about.names:
            raise KeyError(f"no column {column}")
    if not set(JOINED) <= set(about.names):
        facts.num_old += 1
        return
    times: list[datetime] = []
    for batch in read_row_groups(file):
        rows = _select_columns(batch)
        if len(rows):
            times += pc.min_max(rows["at"]).as_py().values()
        yield rows.filter(pc.equal(batch["model"], model))
    facts.note(json.loads((about.metadata or {}).get(WRITER, "null")), times)


def _select_columns(batch: "pa.RecordBatch") -> "pa.RecordBatch":
    """The columns of the table `rows`, with inputs and outputs as one value each."""
    import pyarrow as pa

    text, number = pa.string(), pa.float64()
    types = {
        "request_id": text, "row": pa.int32(), "at": pa.timestamp("us", "UTC"),
        "bundle": text, "version": text, "side": text, "shown": pa.bool_(),
        "draw": number, "assigned": text, "share": number, "key": text,
    }  # fmt: skip
    columns = {name: pa.nulls(len(batch), kind) for name, kind in types.items()}
    for name in types.keys() & set(batch.schema.names):
        columns[name] = batch[name].cast(types[name])
    for title, start in (("inputs", INPUT), ("outputs", OUTPUT)):
        names = [name for name in batch.schema.names if name.startswith(start)]
        if start == INPUT:  # the first output is what users act on
            names.sort()
        columns[title] = pa.nulls(len(batch), text)
        if names:
            own = [name.removeprefix(start) for name in names]
            columns[title] = pa.StructArray.from_arrays([batch[name] for name in names], own)
    return pa.RecordBatch.from_pydict(columns)
