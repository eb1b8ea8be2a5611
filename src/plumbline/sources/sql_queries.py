"""The rows of a SQL query, streamed.

An example: `sqlite:///data/raw/tickets.db#SELECT text, label FROM tickets ORDER BY id`.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.contract.errors import DataError, ParamsError
from plumbline.process.files import digest_path
from plumbline.sources.addresses import find_local_path, hide_secrets, hide_secrets_in_text
from plumbline.sources.source_part import SourcePart
from plumbline.tables.columns import find_columns
from plumbline.tables.records import ReadRequest, SourceRow, as_text, show_bytes

if TYPE_CHECKING:
    from sqlalchemy import URL, CursorResult

MAX_BUFFERED_ROWS = 2000


def build_query_part(address: str, split: str | None) -> SourcePart:
    """Return the query after `#` on the database before it; its password is shown nowhere.

    Raises ParamsError for an address that is not a database URL with a query, and DataError for
    a database file that is not there.
    """
    url, query = _parse_address(address)
    name = _show_database(address)
    facts: dict[str, Any] = {"name": name, "query": query}
    path = find_local_path(address)
    if path is not None:
        if not Path(path).is_file():
            raise DataError(f"{path}: no such database")
        facts["sha256"] = digest_path(Path(path))
    read_rows = partial(_read_rows, url, query, name)
    return SourcePart(Path(url.database or name).name, split, read_rows, facts)


def read_query_identity(address: str, watermark: str | None) -> dict[str, Any]:
    """Return the answer of `watermark`; without it, the count of all rows and a digest of them.

    The digest does not depend on their order. Raises DataError where the database does not answer,
    or the watermark is not one row.
    """
    url, query = _parse_address(address)
    name = _show_database(address)
    if watermark is None:
        return _digest_rows(url, query, name)
    with _execute(url, watermark, name) as result:
        rows = result.fetchmany(2)
    if len(rows) != 1:
        count = "no row" if not rows else "more than one row"
        raise DataError(f"{name}: identity.watermark gave {count}; it has to give one")
    return {"watermark": [as_text(value, f"{name}: identity.watermark") for value in rows[0]]}


def _parse_address(address: str) -> tuple["URL", str]:
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    database, _, query = address.partition("#")
    try:
        url = make_url(database)
    except (ArgumentError, ValueError):
        raise ParamsError(
            "not a database URL; expected dialect://user@host/name#SELECT ..."
        ) from None
    if not query.lstrip().upper().startswith(("SELECT", "WITH")):
        raise ParamsError(
            f"{_show_database(address)}: add the query after '#', beginning with SELECT or WITH"
        )
    return url, query


def _show_database(address: str) -> str:
    return hide_secrets(address).partition("#")[0]


def _digest_rows(url: "URL", query: str, name: str) -> dict[str, Any]:
    num_rows = 0
    total = 0
    with _execute(url, query, name) as result:
        for row in result:
            content = repr(tuple(map(show_bytes, row)))
            digest = hashlib.sha256(content.encode()).digest()
            total = (total + int.from_bytes(digest)) % 2**256
            num_rows += 1
    return {"num_rows": num_rows, "digest": f"{total:064x}"}


def _read_rows(url: "URL", query: str, name: str, request: ReadRequest) -> Iterator[SourceRow]:
    if "order by" not in query.lower():
        request.notices.append(
            f"{name}: the query has no ORDER BY, so row numbers may differ from one run to the next"
        )
    with _execute(url, query, name) as result:
        indices = find_columns(name, list(result.keys()), request)
        for number, row in enumerate(result, 1):
            place = f"{name}: row {number}"
            pairs = zip(request.columns, indices, strict=True)
            yield SourceRow(number, [column.convert(row[index], place) for column, index in pairs])


@contextmanager
def _execute(url: "URL", query: str, name: str) -> Iterator["CursorResult[Any]"]:
    """Give the rows of a query, streamed; errors of the database become DataErrors."""
    from sqlalchemy import NullPool, create_engine
    from sqlalchemy.exc import NoSuchModuleError, SQLAlchemyError

    options = {"stream_results": True, "max_row_buffer": MAX_BUFFERED_ROWS}
    try:
        with create_engine(url, poolclass=NullPool).connect() as connection:
            yield connection.exec_driver_sql(query, execution_options=options)
    except (NoSuchModuleError, ImportError) as error:
        raise DataError(f"{name}: its driver is not installed ({error}); install it") from None
    except SQLAlchemyError as error:
        reason = " ".join(str(getattr(error, "orig", None) or error).split())
        raise DataError(f"{name}: the query failed: {hide_secrets_in_text(reason)}") from None
