"""Where each artifact lives, and how a file is written so that it is never half there."""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PARAMS = Path("params.yaml")
CHAMPION = Path("champion.json")
EXAMPLES = Path("data/examples")
MANIFEST = Path("data/manifest.parquet")
SOURCE = Path("data/source.json")
VALIDATION = Path("reports/validation.json")
VALIDATION_PAGE = Path("reports/validation.html")
MODELS = Path("models")
EVIDENCE = Path("reports/evidence.json")
GOLDEN = Path("reports/golden.json")
METRICS = Path("reports/metrics.json")
PLOTS = Path("reports/plots")
TRAINING = Path("reports/training")
PREDICTIONS = Path("reports/predictions.parquet")
REPORT = Path("reports/report.html")
REFERENCE = Path("reports/reference.parquet")
DRIFT = Path("reports/drift.json")
DRIFT_PAGE = Path("reports/drift.html")
REGISTRATION = Path("reports/registration.json")
CHECKPOINTS = Path(".plumbline/checkpoints")
DOWNLOADS = Path(".plumbline/downloads")


def bundle(candidate: str) -> Path:
    """The folder that holds the trained model of one candidate."""
    return MODELS / candidate


def control(candidate: str) -> str:
    """The name under which a candidate is trained on shuffled answers; no candidate can be called so."""
    return f"control.{candidate}"


@contextmanager
def written(path: Path) -> Iterator[Path]:
    """A temporary file beside `path` that replaces it, whole and synced, when the block ends well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    aside = Path(name)
    try:
        yield aside
        _sync(aside)
        aside.chmod(0o644)
        aside.replace(path)
        _sync(path.parent)
    finally:
        aside.unlink(missing_ok=True)


def write_json(path: Path, value: Any) -> None:
    """Write `value` as stable, strict JSON (sorted keys; NaN is an error)."""
    text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
    with written(path) as aside:
        aside.write_text(text + "\n", encoding="utf-8")


def read_json(path: Path) -> Any:
    """Read what `write_json` wrote."""
    return json.loads(path.read_text(encoding="utf-8"))


def publish(source: Path, target: Path) -> None:
    """Move a finished file or folder to `target` on the same disk, synced; a folder that was there is replaced."""
    for file in [source] if source.is_file() else [p for p in source.rglob("*") if p.is_file()]:
        _sync(file)
    if target.is_dir():
        shutil.rmtree(target)
    if source.is_dir():
        source.chmod(0o755)
    source.replace(target)
    _sync(target.parent)


def digest(path: Path) -> str:
    """SHA-256 of a file; of a folder: of the sorted names and digests of the files in it."""
    if path.is_file():
        with path.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    total = hashlib.sha256()
    for file in sorted(p for p in path.rglob("*") if p.is_file()):
        total.update(f"{file.relative_to(path).as_posix()}\0{digest(file)}\n".encode())
    return total.hexdigest()


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
