"""The rows that are compared: the champion's test rows, and today's with its answers."""

import hashlib
import logging
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.errors import DataError, RegistryError
from plumbline.registry.reader.run_files import fetch_recorded_file, read_evidence
from plumbline.registry.reader.stores import RegisteredVersion
from plumbline.registry.reader.verified_cache import CachedVersion
from plumbline.scoring import ScoringRequest, score
from plumbline.sources.addresses import get_scheme
from plumbline.sources.request_folder import PREFIX, RequestFolder

if TYPE_CHECKING:
    import pandas as pd

logger = logging.getLogger(__name__)
INPUT, OUTPUT = "input.", "output."  # before the names of a model's inputs and of its answers
REMEDY = "rename the column that holds it, in a copy of the file"
# Of a logged request, not of its content.
IDENTITY = ("at", "request_id", "row", "model", "version", "bundle")
ABOUT = [*IDENTITY, "side", "shown", "ms", "draw", "assigned", "share", "key"]


@dataclass(frozen=True)
class RowWindow:
    """Rows with the model's inputs, the champion's answers, and whatever else is known of them."""

    rows: "pd.DataFrame"
    source: str

    @property
    def digest(self) -> str:
        """SHA-256 of the rows: the same window checked twice is one check."""
        content = self.rows.to_json(orient="split", date_format="iso")
        return hashlib.sha256(content.encode()).hexdigest()


def load_reference(version: RegisteredVersion) -> RowWindow:
    """The held-out rows that a version was evaluated on, whose digest its evidence holds."""
    import pandas as pd

    evidence = read_evidence(version)
    if "reference" not in evidence["digests"]:
        raise RegistryError(
            f"{version.label}: it has no reference rows; train and register it again: `dvc repro`"
        )
    with tempfile.TemporaryDirectory(prefix="plumbline-") as folder:
        path = fetch_recorded_file(version, evidence, layout.DRIFT_REFERENCE, Path(folder))
        return RowWindow(pd.read_parquet(path), f"{version.label}, {layout.DRIFT_REFERENCE.name}")


def digest_log(source: str) -> str | None:
    """Return a short digest of which log of requests a source is; None for a file."""
    return RequestFolder(source).digest if _is_log(source) else None


def load_current(
    source: str, champion: CachedVersion, max_rows: int, since: datetime | None = None
) -> RowWindow:
    """The last `max_rows` rows of a file, or of the request log in a folder or at an address.

    The champion answers the rows of a file now; a log holds its answers. Of a log only what was
    written after `since` is read, newest first. Raises DataError where there is nothing that can be
    read.
    """
    if _is_log(source):
        folder = RequestFolder(source)
        rows = _read_log(folder, champion, max_rows, since)
        return RowWindow(rows, f"{folder.shown}, requests that version {champion.version} answered")
    rows = _answer_file(Path(source), champion, max_rows).tail(max_rows).reset_index(drop=True)
    return RowWindow(rows, source)


@contextmanager
def open_log_file(folder: RequestFolder, name: str) -> Iterator[IO[bytes]]:
    """Open a file of a log; DataError where who reads it finds something else."""
    try:
        with folder.open(name) as file:
            yield file
    except (OSError, ValueError, KeyError, TypeError, NotImplementedError) as error:
        raise DataError(
            f"{folder.shown}/{name}: not a log of requests ({error}); move it out of the folder"
        ) from None


def _is_log(source: str) -> bool:
    return bool(get_scheme(source)) or Path(source).is_dir()


def _read_log(
    folder: RequestFolder, champion: CachedVersion, max_rows: int, since: datetime | None
) -> "pd.DataFrame":
    import pandas as pd

    parts: list[pd.DataFrame] = []
    # A file's name says when it was written, which is after all of its requests.
    oldest = f"{PREFIX}{since:%Y%m%dT%H%M%S}" if since else ""
    for name in reversed(folder.list_log()):
        if sum(map(len, parts)) >= max_rows or name < oldest:
            break
        parts.append(_read_answers_of(champion, folder, name))
    if not parts:
        return pd.DataFrame()
    rows = pd.concat(parts, ignore_index=True).sort_values("at", kind="stable").tail(max_rows)
    return rows.drop(columns=ABOUT, errors="ignore").reset_index(drop=True)


def _read_answers_of(champion: CachedVersion, folder: RequestFolder, name: str) -> "pd.DataFrame":
    """The rows of one file of the log that this version answered as champion, shown or not."""
    import pandas as pd

    with open_log_file(folder, name) as file:
        rows = pd.read_parquet(file)
        is_version = (rows["model"] == champion.name) & (rows["version"] == champion.version)
        answers = [name for name in rows.columns if name.startswith(OUTPUT)]
        is_answered = rows[answers].notna().any(axis=1) | (not answers)
        return rows[is_version & (rows["side"] == "champion") & is_answered]


def _answer_file(path: Path, champion: CachedVersion, max_rows: int) -> "pd.DataFrame":
    """The last rows of a file with the champion's answers; none where it cannot give one."""
    import pandas as pd

    signature = bundle.read_signature(champion.folder)
    params = {param.name: param.default for param in signature.params}
    answers = [field.name for field in signature.outputs if isinstance(field.type, str)]
    with tempfile.TemporaryDirectory(prefix="plumbline-") as folder:
        scored = Path(folder) / "scored.parquet"
        request = ScoringRequest(
            path, scored, params, columns=answers, prefix=OUTPUT, keep_bad=True, remedy=REMEDY
        )
        score(champion, request, lambda *_: None, say=logger.warning, last=max_rows)
        rows = pd.read_parquet(scored).drop(columns=f"{OUTPUT}error")
    own = bundle.read_source(champion.folder).get("columns", {})
    columns = request.find_columns(list(rows.columns), signature, own)
    return rows.rename(columns={column: INPUT + name for name, column in columns.items()})
