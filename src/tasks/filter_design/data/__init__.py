"""From drawn specifications or a file of them to examples on disk, and back; and the theorem."""

from tasks.filter_design.data.ingestion import ingest, list_rows
from tasks.filter_design.data.specifications import (
    Specification,
    list_columns,
    parse_columns,
)
from tasks.filter_design.data.storage import (
    name_rows,
    read_designs,
    read_inputs,
    read_specifications,
    shuffle_labels,
    write_designs,
    write_specifications,
)

__all__ = [
    "Specification",
    "ingest",
    "list_columns",
    "list_rows",
    "name_rows",
    "parse_columns",
    "read_designs",
    "read_inputs",
    "read_specifications",
    "shuffle_labels",
    "write_designs",
    "write_specifications",
]
