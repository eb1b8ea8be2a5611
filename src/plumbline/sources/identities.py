"""What each remote source is today, by its server's own word: a change runs ingest again.

http(s)          ETag, Last-Modified and size
object stores    the version, ETag or time of each object, and its size
the hub          the commit of the revision
SQL              the answer to the watermark query, else count and digest of all rows
"""

from collections.abc import Iterable, Mapping
from typing import Any

from plumbline.contract import layout
from plumbline.contract.errors import DataError
from plumbline.process.files import read_json
from plumbline.sources.addresses import (
    SQL_DIALECTS,
    find_local_path,
    get_dialect,
    get_scheme,
    hide_secrets,
)

SourceIdentity = Mapping[str, Any]  # `source`, as it may be shown, and what identifies its state


def look_up_identities(
    addresses: Iterable[str], watermark: str | None
) -> dict[str, SourceIdentity]:
    """Ask the server of each remote source what the source is; the keys are the addresses.

    `watermark` is the query that SQL sources are asked. Raises DataError where a server does not
    answer, ParamsError for an address or query that cannot be meant.
    """
    identities: dict[str, SourceIdentity] = {}
    for address in list_remote(addresses):
        identities[address] = {"source": hide_secrets(address), **_ask(address, watermark)}
    return identities


def list_remote(addresses: Iterable[str]) -> list[str]:
    """Return the addresses that are not on this machine; DVC itself compares the others."""
    return [address for address in addresses if find_local_path(address) is None]


def read_recorded() -> list[SourceIdentity]:
    """Return what data/identity.json holds; raises DataError where it cannot be read."""
    if not layout.IDENTITY.exists():
        return []
    try:
        recorded: list[SourceIdentity] = read_json(layout.IDENTITY)
        _ = [entry["source"] for entry in recorded]
    except (ValueError, TypeError, KeyError):
        raise DataError(
            f"{layout.IDENTITY}: not as the stage identify writes it; "
            f"restore it: git checkout {layout.IDENTITY}"
        ) from None
    return recorded


def check_recorded(addresses: Iterable[str]) -> None:
    """Raise DataError where data/identity.json lacks a remote source: no run would see a change."""
    expected = [hide_secrets(address) for address in list_remote(addresses)]
    recorded = [entry["source"] for entry in read_recorded()] if expected else []
    missing = [source for source in expected if source not in recorded]
    if missing:
        raise DataError(
            f"{', '.join(missing)}: {layout.IDENTITY} has no identity of it, so no later run would "
            "see that its rows changed; set identity.lookup: [remote] in params.yaml"
        )


def _ask(address: str, watermark: str | None) -> SourceIdentity:
    scheme = get_scheme(address)
    if scheme == "hf":
        from plumbline.sources.hub_datasets import read_commit

        return read_commit(address)
    if get_dialect(address) in SQL_DIALECTS:
        from plumbline.sources.sql_queries import read_query_identity

        return read_query_identity(address, watermark)
    if scheme in ("http", "https"):
        from plumbline.sources.http_download import read_validators

        return read_validators(address, hide_secrets(address))
    from plumbline.sources.object_store import read_object_versions

    return read_object_versions(address)
