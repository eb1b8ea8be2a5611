"""The rows of a user's file of outcomes: what was right, by the id of the request."""

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from plumbline.contract.errors import DataError
from plumbline.contract.params import Params
from plumbline.sources.addresses import get_scheme, hide_secrets
from plumbline.sources.parts import locate_parts
from plumbline.sources.source_part import SourcePart
from plumbline.tables.records import ReadRequest, WantedColumn

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 8192
OPTIONAL = ("row", "at", "source", "saw_answer", "withdrawn")
SHEET = ("drawn", "probability", "sheet", "answer")  # of `outcomes draw`: these are no slices
GIVEN = ("place", "request_id", "truth", *OPTIONAL, "slices")  # columns of the table, all text
IDS = WantedColumn(
    "request_id",
    "",
    synonyms=("id", "x-request-id", "inference_id", "event_id", "prediction_id"),
    remedy="each answer of the server has its id in the header x-request-id",
)


@dataclass(frozen=True)
class OutcomesFile:
    """A file, table or query with one row for each outcome; `kind` says what its values are."""

    parts: list[SourcePart]
    columns: tuple[str, ...]  # request_id, that with the values, those of OPTIONAL, slices
    slices: tuple[str, ...]
    kind: str  # label: a truth; value: a reaction to the answer, from 0 to 1

    def describe_absent(self, params: Params) -> str:
        """Say which column of `evaluation.groups` is not there; "" for none."""
        groups = params.evaluation.groups
        for name in groups.columns if groups and groups.rate == "error" else ():
            if name not in self.slices:
                return f"no column {name!r} of evaluation.groups: its groups are not compared"
        return ""

    def read_batches(self) -> "Iterator[pa.RecordBatch]":
        """Yield all rows, for a table with the columns GIVEN; nothing is checked."""
        import pyarrow as pa

        schema = pa.schema(dict.fromkeys(GIVEN, pa.string()))
        remedy = "give a column `label` with what is right, or name it with --label"
        others = [
            WantedColumn(name, "--label", remedy=remedy, may_be_list=True)
            for name in self.columns[1:]
        ]
        rows: list[dict[str, str | None]] = []
        for part in self.parts:
            for read in part.read_rows(ReadRequest((IDS, *others), refuse_encoding=True)):
                values = dict(zip(self.columns, read.values, strict=True))
                slices = {name: values[name] for name in self.slices if values[name]}
                values["truth"] = values[self.columns[1]]
                values["place"] = f"{part.name}, row {read.number}"
                values["slices"] = json.dumps(slices, sort_keys=True)
                rows.append(values)
                if len(rows) == BATCH_ROWS:
                    yield pa.RecordBatch.from_pylist(rows, schema)
                    rows = []
        yield pa.RecordBatch.from_pylist(rows, schema)


def open_outcomes(
    address: str, labels: Sequence[str], ignored: Collection[str] = ()
) -> OutcomesFile:
    """Find the columns of a .csv, .jsonl or .parquet file, an address or a query.

    `labels` are names of the column with the truths, the first of which is taken; `ignored` are
    names of no slices. DataError where the column request_id is missing.
    """
    if get_scheme(address) in ("http", "https"):
        shown = hide_secrets(address)
        raise DataError(f"{shown}: outcomes are not read over http: download the file first")
    parts = locate_parts([(None, address)], {})
    probe = ReadRequest((IDS,), refuse_encoding=True)
    next(parts[0].read_rows(probe), None)
    header = probe.header
    label = next((name for name in labels if name in header), None)
    kind = "label"
    if label is None and "value" in header:
        label = kind = "value"
    known = [name for name in OPTIONAL if name in header]
    columns = ("request_id", label or labels[-1], *known)
    no_slice = {*columns, *ignored, *SHEET}
    slices = tuple(name for name in header if name.strip() and name not in no_slice)
    return OutcomesFile(parts, (*columns, *slices), slices, kind)
