"""From the addresses under data.source to parts: files, queries and data sets of the hub."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

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
from plumbline.sources.source_part import SourcePart


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
    parts = []
    for item, name in zip(located, _choose_names(located), strict=True):
        if isinstance(item, SourcePart):
            parts.append(replace(item, name=name))
        else:
            parts.append(build_file_part(item, name))
    return parts


def _choose_names(located: list[SourceFile | SourcePart]) -> list[str]:
    """Return the name of each part, which ids of its rows begin with: no other part has it.

    It is that of the file or database; of files with one name, the path makes the difference; of
    queries on one database, or one file for two splits, the split.
    """
    names = []
    num_with_name = Counter(item.name for item in located)
    for item in located:
        if isinstance(item, SourceFile) and num_with_name[item.name] > 1:
            names.append(item.shown)
        else:
            names.append(item.name)
    num_with_name = Counter(names)
    for index, item in enumerate(located):
        if num_with_name[names[index]] > 1:
            names[index] = f"{item.split}:{names[index]}"
    return names


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
