"""Rows of a SQL query, streamed: `sqlite:///data/raw/tickets.db#SELECT text, label FROM tickets ORDER BY id`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from plumbline.contract import layout
from plumbline.contract.errors import DataError, ParamsError
from plumbline.tasks.text_classification.data.rows import Part, Reading, Row, as_text, positions
from plumbline.tasks.text_classification.params import local_path

BATCH_ROWS = 2000


def part(source: str, split: str | None) -> Part:
    """The query named after `#` on the database before it; passwords are shown nowhere."""
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    address, _, query = source.partition("#")
    try:
        url = make_url(address)
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
    path = local_path(source)
    if path is not None:
        if not Path(path).is_file():
            raise DataError(f"{path}: no such database; check data.source")
        facts["sha256"] = layout.digest(Path(path))
    return Part(
        Path(url.database or name).name,
        split,
        lambda reading: _rows(url, query, name, reading),
        facts,
    )


def _rows(url: Any, query: str, name: str, reading: Reading) -> Iterator[Row]:
    from sqlalchemy import NullPool, create_engine
    from sqlalchemy.exc import NoSuchModuleError, SQLAlchemyError

    if "order by" not in query.lower():
        reading.notices.append(
            f"{name}: the query has no ORDER BY, so row numbers may differ from one run to the next"
        )
    try:
        with create_engine(url, poolclass=NullPool).connect() as connection:
            options = {"stream_results": True, "max_row_buffer": BATCH_ROWS}
            result = connection.exec_driver_sql(query, execution_options=options)
            pick = positions(name, list(result.keys()), reading)
            for number, row in enumerate(result, 1):
                yield Row(number, [as_text(row[i], f"{name}: row {number}") for i in pick])
    except (NoSuchModuleError, ImportError) as error:
        raise DataError(
            f"{name}: its driver is not installed ({error}); install it beside plumbline"
        ) from None
    except SQLAlchemyError as error:
        reason = " ".join(str(getattr(error, "orig", None) or error).split())
        raise DataError(f"{name}: the query failed: {reason}") from None
