"""The rows of a SQL query, streamed.

An example: `sqlite:///data/raw/tickets.db#SELECT text, label FROM tickets ORDER BY id`.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.contract import layout
from plumbline.contract.errors import DataError, ParamsError
from plumbline.sources.addresses import find_local_path
from plumbline.sources.columns import find_columns
from plumbline.sources.records import ReadRequest, SourcePart, SourceRow, as_text

if TYPE_CHECKING:
    from sqlalchemy import URL

BATCH_ROWS = 2000


def build_query_part(address: str, split: str | None) -> SourcePart:
    """Return the query after `#` on the database before it; its password is shown nowhere.

    Raises ParamsError for an address that is not a database URL with a query, and DataError for
    a database file that is not there.
    """
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    database, _, query = address.partition("#")
    try:
        url = make_url(database)
    except (ArgumentError, ValueError):
        raise ParamsError(
            "data.source: not a database URL; expected dialect://user@host/name#SELECT ..."
        ) from None
    name = url.render_as_string(hide_password=True)
    if not query.lstrip().upper().startswith(("SELECT", "WITH")):
        raise ParamsError(
            f"data.source: {name}: add the query after '#', beginning with SELECT or WITH"
        )
    facts: dict[str, Any] = {"name": name, "query": query}
    path = find_local_path(address)
    if path is not None:
        if not Path(path).is_file():
            raise DataError(f"{path}: no such database; check data.source")
        facts["sha256"] = layout.digest(Path(path))
    return SourcePart(
        Path(url.database or name).name, split, partial(_read_rows, url, query, name), facts
    )


def _read_rows(url: "URL", query: str, name: str, request: ReadRequest) -> Iterator[SourceRow]:
    from sqlalchemy import NullPool, create_engine
    from sqlalchemy.exc import NoSuchModuleError, SQLAlchemyError

    if "order by" not in query.lower():
        request.notices.append(
            f"{name}: the query has no ORDER BY, so row numbers may differ from one run to the next"
        )
    try:
        with create_engine(url, poolclass=NullPool).connect() as connection:
            options = {"stream_results": True, "max_row_buffer": BATCH_ROWS}
            result = connection.exec_driver_sql(query, execution_options=options)
            indices = find_columns(name, list(result.keys()), request)
            for number, row in enumerate(result, 1):
                place = f"{name}: row {number}"
                yield SourceRow(number, [as_text(row[index], place) for index in indices])
    except (NoSuchModuleError, ImportError) as error:
        raise DataError(
            f"{name}: its driver is not installed ({error}); "
            "install it in the environment of plumbline"
        ) from None
    except SQLAlchemyError as error:
        reason = " ".join(str(getattr(error, "orig", None) or error).split())
        raise DataError(f"{name}: the query failed: {reason}") from None
