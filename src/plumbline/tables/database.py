"""DuckDB for joins of tables that need not fit into memory: what does not, it keeps in files."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

MEMORY = "256MB"  # for tables; the process needs some 140 MB more
CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "memory_limit": MEMORY,
    "threads": 4,  # each takes a share of the memory
    "preserve_insertion_order": "false",  # a query that needs an order asks for it
    "autoinstall_known_extensions": "false",  # nothing is downloaded
    "autoload_known_extensions": "false",
}


@contextmanager
def open_database() -> Iterator["duckdb.DuckDBPyConnection"]:
    """Open an empty database, which is gone with the block."""
    import duckdb

    with tempfile.TemporaryDirectory(prefix="plumbline-") as folder:
        connection = duckdb.connect(config=CONFIG | {"temp_directory": folder})
        try:
            yield connection
        finally:
            connection.close()


def quote_name(name: str) -> str:
    """Return a column's name as SQL writes it, whatever it contains."""
    escaped = name.replace('"', '""')
    return f'"{escaped}"'
