"""Files behind s3://, gs:// and every other address that fsspec knows."""

import glob
import hashlib
import json
from pathlib import PurePosixPath
from typing import Any

from plumbline.contract.errors import DataError, ParamsError
from plumbline.sources.addresses import hide_secrets, hide_secrets_in_text
from plumbline.sources.files import HIDDEN, SourceFile
from plumbline.sources.stores import refuse_driver_errors

# How stores call what changes with an object's content, and where there is none, its time.
CONTENT_KEYS = ("ETag", "etag", "generation", "md5Hash", "checksum", "sha")
TIME_KEYS = ("LastModified", "last_modified", "mtime", "modified", "modify", "updated", "created")


def list_stored_files(url: str, split: str | None) -> list[SourceFile]:
    """Return the files that an fsspec URL or pattern names.

    Their digests are not computed: a file is read only once, unless its digest is pinned.
    Raises ParamsError for an address that fsspec does not know, DataError where there is no file.
    """
    existing = _open_existing(url)
    if not glob.has_magic(url):
        return [SourceFile(url, split, existing[0].open, None)]
    return [
        SourceFile(file.full_name, split, file.open, None)
        for file in existing
        if not PurePosixPath(file.path).name.startswith(HIDDEN)
    ]


def read_object_versions(url: str) -> dict[str, Any]:
    """Return the size and version of the object at `url`; of several, a digest of all of these.

    Raises as `list_stored_files` does.
    """
    shown = hide_secrets(url)
    objects = {}
    for file in _open_existing(url):
        with refuse_driver_errors(shown):
            objects[str(file.path)] = read_version(file.fs, file.path)
    if len(objects) == 1:
        return next(iter(objects.values()))
    listed = json.dumps(objects, sort_keys=True).encode()
    return {"num_objects": len(objects), "digest": hashlib.sha256(listed).hexdigest()}


def read_version(store: Any, path: str) -> dict[str, Any]:
    """Return what changes with the content of an object: its size, and its version or time."""
    facts = store.info(path)
    version = {"size": facts.get("size")}
    for names in (CONTENT_KEYS, TIME_KEYS):
        known = {name: str(facts[name]) for name in names if facts.get(name) is not None}
        if known:
            return version | known
    return version | {"key": str(store.ukey(path))}


def _open_existing(url: str) -> list[Any]:
    import fsspec

    shown = hide_secrets(url)
    with refuse_driver_errors(shown):
        try:
            fsspec.url_to_fs(url)[0].invalidate_cache()  # what it listed before may have changed
            existing = [file for file in fsspec.open_files(url, "rb") if file.fs.exists(file.path)]
        except (ValueError, ImportError) as error:
            reason = hide_secrets_in_text(str(error))
            raise ParamsError(f"{shown}: {reason}") from None
    if not existing:
        raise DataError(f"{shown}: no such file")
    return existing
