"""Addresses of sources: where each is, and how it may be shown."""

import os
from urllib.parse import urlsplit

SQL_DIALECTS = (
    "sqlite",
    "postgresql",
    "mysql",
    "mariadb",
    "mssql",
    "oracle",
    "duckdb",
    "snowflake",
    "bigquery",
    "redshift",
)


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
    if not scheme:
        return os.path.normpath(rest)
    if get_dialect(address) == "sqlite":
        return os.path.normpath(rest.removeprefix("/").partition("#")[0])
    if scheme == "file" or (scheme == "hf" and rest.startswith((".", "/"))):
        return os.path.normpath(rest)
    return None


def hide_secrets(address: str) -> str:
    """Return a URL without its password and query string, which can hold a secret."""
    if "://" not in address:
        return address
    if get_dialect(address) in SQL_DIALECTS:  # whose password may hold any character but @
        scheme, _, rest = address.partition("://")
        address = f"{scheme}://{rest.partition('@')[2] or rest}" if rest[:1] != "/" else address
    url = urlsplit(address)
    host = url.netloc.rpartition("@")[2]
    return f"{url.scheme}://{host}{url.path}"
