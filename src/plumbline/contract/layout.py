"""Where each artifact is, and how a file is written so that it is complete or not there."""

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
IDENTITY = Path("data/identity.json")
VALIDATION = Path("reports/validation.json")
VALIDATION_PAGE = Path("reports/validation.html")
MODELS = Path("models")
BUNDLE_SEAL = "bundle.json"  # in the folder of a model
EVIDENCE = Path("reports/evidence.json")
GOLDEN = Path("reports/golden.json")
METRICS = Path("reports/metrics.json")
PLOTS = Path("reports/plots")
TRAINING = Path("reports/training")
PREDICTIONS = Path("reports/predictions.parquet")
REPORT = Path("reports/report.html")
MODEL_CARD = Path("reports/model_card.md")
REFERENCE = Path("reports/reference.parquet")
DRIFT = Path("reports/drift.json")
DRIFT_PAGE = Path("reports/drift.html")
REGISTRATION = Path("reports/registration.json")
CHECKPOINTS = Path(".plumbline/checkpoints")
DOWNLOADS = Path(".plumbline/downloads")


def locate_bundle(candidate: str) -> Path:
    """Return the folder of the trained model of one candidate."""
    return MODELS / candidate


def name_control(candidate: str) -> str:
    """Return the name of a candidate trained on shuffled answers; no candidate can have it."""
    return f"control.{candidate}"


@contextmanager
def write_aside(path: Path) -> Iterator[Path]:
    """Yield a temporary file beside `path`; it replaces `path`, synced, if the block succeeds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    aside = Path(name)
    try:
        yield aside
        _sync_to_disk(aside)
        aside.chmod(0o644)
        aside.replace(path)
        _sync_to_disk(path.parent)
    finally:
        aside.unlink(missing_ok=True)


def write_json(path: Path, value: Any) -> None:
    """Write `value` as stable, strict JSON (sorted keys; NaN is an error)."""
    text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
    with write_aside(path) as aside:
        aside.write_text(text + "\n", encoding="utf-8")


def read_json(path: Path) -> Any:
    """Read what `write_json` wrote."""
    return json.loads(path.read_text(encoding="utf-8"))


def publish(source: Path, target: Path) -> None:
    """Move a complete file or folder to `target` on the same disk, synced, in place of the old."""
    files = [source] if source.is_file() else [p for p in source.rglob("*") if p.is_file()]
    for file in files:
        _sync_to_disk(file)
    if target.is_dir():
        shutil.rmtree(target)
    if source.is_dir():
        source.chmod(0o755)
    source.replace(target)
    _sync_to_disk(target.parent)


def digest(path: Path) -> str:
    """Return the SHA-256 of a file, or of the sorted names and digests of the files in a folder."""
    if path.is_file():
        with path.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    total = hashlib.sha256()
    for file in sorted(p for p in path.rglob("*") if p.is_file()):
        total.update(f"{file.relative_to(path).as_posix()}\0{digest(file)}\n".encode())
    return total.hexdigest()


def _sync_to_disk(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
