"""The rows that are compared: those that the champion was evaluated on, and those of today with its answers."""

import hashlib
import tempfile
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.errors import DataError, RegistryError
from plumbline.registry import model_versions
from plumbline.registry.package import packaging
from plumbline.registry.reader.mirror import Copy
from plumbline.scoring import Request, score

if TYPE_CHECKING:
    import pandas as pd
    from mlflow.entities.model_registry import ModelVersion

GIVEN, TOLD = "input.", "output."  # before the names of what a model was given and what it told
LOG = "requests-*.parquet"  # what `plumbline serve --log-folder` writes
ABOUT = ("at", "model", "version", "side", "ms")  # of a logged request, not of its content


@dataclass(frozen=True)
class Window:
    """Rows with what was given, what the champion told, and whatever else is known of them."""

    rows: "pd.DataFrame"
    source: str

    @property
    def digest(self) -> str:
        """SHA-256 of the rows: the same window looked at twice is one look."""
        return hashlib.sha256(
            self.rows.to_json(orient="split", date_format="iso").encode()
        ).hexdigest()


def reference(version: "ModelVersion") -> Window:
    """The held-out rows that a version was evaluated on, which its evidence names."""
    import pandas as pd

    called = f"{version.name} version {version.version}"
    digests = model_versions.evidence(version).get("digests", {})
    if "reference" not in digests:
        raise RegistryError(
            f"{called}: keeps no reference rows; train and register it again with `dvc repro`"
        )
    with tempfile.TemporaryDirectory(prefix="plumbline-") as folder:
        path = packaging.recorded(version, layout.REFERENCE.name, Path(folder))
        if layout.digest(path) != digests["reference"]:
            raise RegistryError(
                f"{called}: {layout.REFERENCE.name} is not what its evidence is about; do not use it"
            )
        return Window(pd.read_parquet(path), f"{called}, {layout.REFERENCE.name}")


def current(path: Path, champion: Copy, max_rows: int, since: datetime | None = None) -> Window:
    """The last `max_rows` rows of a file, which the champion answers now; or of a request log, those it answered then.

    Of a log only what was written after `since` is taken. Raises DataError where there is nothing that can be read.
    """
    if path.is_dir():
        rows = _logged(path, champion, max_rows, since)
        return Window(rows, f"{path}, requests that version {champion.version} answered")
    return Window(_answered(path, champion).tail(max_rows).reset_index(drop=True), str(path))


def _logged(folder: Path, champion: Copy, max_rows: int, since: datetime | None) -> "pd.DataFrame":
    import pandas as pd

    files = sorted(folder.glob(LOG), reverse=True)
    if not files:
        raise DataError(
            f"{folder}: no {LOG} there; `plumbline serve --log-folder {folder}` writes them"
        )
    if (
        since is not None
    ):  # a file's name tells when it was written, which is after all of its requests
        files = [path for path in files if path.name >= f"requests-{since:%Y%m%dT%H%M%S}"]
    if not files:
        return pd.DataFrame()
    parts: list[pd.DataFrame] = []
    for path in files:
        if sum(map(len, parts)) >= max_rows:
            break
        try:
            rows = pd.read_parquet(path)
            ours = (
                (rows["model"] == champion.name)
                & (rows["version"] == champion.version)
                & (rows["side"] == "champion")
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"{path}: no log of requests ({error}); move it out of the folder"
            ) from None
        parts.append(rows[ours])
    found = pd.concat(parts, ignore_index=True).sort_values("at", kind="stable").tail(max_rows)
    return found.drop(columns=list(ABOUT)).reset_index(drop=True)


def _answered(path: Path, champion: Copy) -> "pd.DataFrame":
    """The rows of a file with the champion's answers; those that it cannot answer have none."""
    import pandas as pd

    signature = bundle.signature(champion.folder)
    params = {param.name: param.default for param in signature.params}
    answers = [field.name for field in signature.outputs if isinstance(field.type, str)]
    with tempfile.TemporaryDirectory(prefix="plumbline-") as folder:
        scored = Path(folder) / "scored.parquet"
        request = Request(path, scored, params, columns=answers, prefix=TOLD, keep_bad=True)
        score(champion, request, watch=lambda *_: None, say=lambda _: None)
        rows = pd.read_parquet(scored).drop(columns=f"{TOLD}error")
    return rows.rename(columns={field.name: GIVEN + field.name for field in signature.inputs})
