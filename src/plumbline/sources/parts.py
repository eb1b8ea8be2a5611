"""From the addresses under data.source to parts: files, queries and data sets of the hub."""

from collections import Counter
from collections.abc import Iterable, Mapping

from plumbline.sources.addresses import (
    SQL_DIALECTS,
    find_local_path,
    get_dialect,
    get_scheme,
    hide_secrets,
)
from plumbline.sources.files import (
    SourceFile,
    build_file_part,
    check_pins,
    list_local_files,
    open_local_file,
)
from plumbline.sources.records import SourcePart


def locate_parts(
    sources: Iterable[tuple[str | None, str]], pins: Mapping[str, str]
) -> list[SourcePart]:
    """Return the parts of `sources`, pairs of (split or None, address), in a fixed order.

    `pins` maps the address of a file to its SHA-256. Raises DataError where a source is missing or
    has another digest, ParamsError for an address or a pin that cannot be meant.
    """
    located: list[SourceFile | SourcePart] = []
    for split, address in sources:
        located += _locate(address, split, pins)
    files = [item for item in located if isinstance(item, SourceFile)]
    check_pins(pins, files)
    num_with_name = Counter(file.name for file in files)
    parts = []
    for item in located:
        if isinstance(item, SourcePart):
            parts.append(item)
        elif num_with_name[item.name] == 1:
            parts.append(build_file_part(item, item.name))
        else:  # other files have the same name: the path makes the difference
            parts.append(build_file_part(item, item.shown))
    return parts


def _locate(
    address: str, split: str | None, pins: Mapping[str, str]
) -> list[SourceFile] | list[SourcePart]:
    scheme = get_scheme(address)
    if scheme == "hf":
        from plumbline.sources.hub_datasets import list_hub_parts

        return list_hub_parts(address)
    if get_dialect(address) in SQL_DIALECTS:
        from plumbline.sources.sql_queries import build_query_part

        return [build_query_part(address, split)]
    if scheme in ("http", "https"):
        from plumbline.sources.http_download import download_pinned

        path = download_pinned(address, hide_secrets(address), pins.get(address))
        return [open_local_file(path, address, split)]
    if scheme and scheme != "file":
        from plumbline.sources.object_store import list_stored_files

        return list_stored_files(address, split)
    return list_local_files(str(find_local_path(address)), split)
