"""Files behind s3://, gs:// and every other address that fsspec knows."""

import glob

from plumbline.contract.errors import DataError, ParamsError
from plumbline.sources.addresses import hide_secrets
from plumbline.sources.files import SourceFile


def list_stored_files(url: str, split: str | None) -> list[SourceFile]:
    """Return the files that an fsspec URL or pattern names.

    Their digests are not computed: a file is read only once, unless its digest is pinned.
    Raises ParamsError for an address that fsspec does not know, DataError where there is no file.
    """
    import fsspec

    try:
        files = fsspec.open_files(url, "rb")
        existing = [file for file in files if file.fs.exists(file.path)]
    except (ValueError, ImportError) as error:
        raise ParamsError(f"data.source: {hide_secrets(url)}: {error}") from None
    except OSError as error:
        raise DataError(f"{hide_secrets(url)}: cannot be read ({error})") from None
    if not existing:
        raise DataError(f"{hide_secrets(url)}: no such file")
    if glob.has_magic(url):
        return [SourceFile(file.full_name, split, file.open, None) for file in existing]
    return [SourceFile(url, split, existing[0].open, None)]
