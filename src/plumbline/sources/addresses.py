"""Addresses of sources: where each is, and how it may be shown."""

import os
import re
from collections.abc import Iterable

SQL_DIALECTS = (
    "sqlite", "postgresql", "mysql", "mariadb", "mssql", "oracle", "duckdb", "snowflake",
    "bigquery", "redshift",
)  # fmt: skip
CHAIN = re.compile(r"::(?=[\w+.-]+(?:://|::))")  # of fsspec
PASSWORD = re.compile(r"[^/:@]*:(?!\d*(?:[/?]|$))")  # a name and a colon, which is before no port
# What is before the last @ of a host, or, where a password has a slash in it, before the first @.
USER = re.compile(r"^(?:[^/?#]*@|[^/?#:@]*:(?!\d*[/?#])[^@]*@)")
IN_TEXT = re.compile(r"[\w+.-]+://\S+")
ANY_QUERY = re.compile(r"[?#]")
QUERY = re.compile(r"[?#](?=.*=)")  # a ? alone is a pattern of names


def get_scheme(address: str) -> str:
    """Return what is before `://`, or nothing for a plain path."""
    scheme, separator, _ = address.partition("://")
    return scheme if separator else ""


def get_dialect(address: str) -> str:
    """Return the SQL dialect of an address such as `postgresql+psycopg2://...`, without driver."""
    return get_scheme(address).partition("+")[0]


def find_local_path(address: str) -> str | None:
    """Return the normalised path (or pattern) of a source on this machine; None for any other."""
    scheme = get_scheme(address)
    rest = address.removeprefix(f"{scheme}://")
    if get_dialect(address) == "sqlite":
        return os.path.normpath(ANY_QUERY.split(rest.removeprefix("/"))[0])
    if scheme in ("", "file") or (scheme == "hf" and rest.startswith((".", "/"))):
        return os.path.normpath(rest)
    return None


def require_watched(sources: Iterable[str], watch: str) -> None:
    """Raise ValueError for a source on this machine that is not inside the path `watch`."""
    watched = os.path.normpath(watch)
    for source in sources:
        path = find_local_path(source)
        if path is None or watched in (".", path) or path.startswith(watched + os.sep):
            continue
        raise ValueError(
            f"source {path} is not inside watch ({watch}), so DVC would miss a change in it"
        )


def hide_secrets(address: str) -> str:
    """Return a URL without user, password and query string, which can hold a secret.

    The query of a SQL source, after `#`, is kept. Each URL of a chain (`zip://a.csv::https://...`)
    is treated alike. What is not a URL is returned as it is.
    """
    if get_dialect(address) in SQL_DIALECTS:
        return _hide_in_database(address)
    return "::".join(_hide_in_url(url) for url in CHAIN.split(address))


def hide_secrets_in_text(text: str) -> str:
    """Return a text, such as an error of a driver, with its URLs as `hide_secrets` shows them."""
    return IN_TEXT.sub(lambda match: hide_secrets(match.group()), text)


def _hide_in_database(address: str) -> str:
    scheme, _, rest = address.partition("://")
    if rest.startswith("/"):  # a file on this machine
        return address
    database, mark, query = rest.partition("#")
    user, _, place = database.rpartition("@")
    if not user and "@" in query and PASSWORD.match(database):  # which has a # in it
        user, _, place = rest.partition("@")
        place, mark, query = place.partition("#")
    place = place.partition("?")[0]
    return f"{scheme}://{place}{mark}{query}"


def _hide_in_url(url: str) -> str:
    scheme, separator, rest = url.partition("://")
    if not separator or rest.startswith("/"):
        return url
    place = USER.sub("", rest) if scheme != "hf" else rest  # there @ is a revision's
    query = ANY_QUERY if scheme in ("http", "https") else QUERY
    return f"{scheme}://{query.split(place)[0]}"
