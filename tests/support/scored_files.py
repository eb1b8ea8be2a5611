"""A registered text classifier, files to score with it, and the command that does."""

import csv
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.checkouts import LINE
from tests.support.made_once import make_once
from tests.support.racing import log_version, make_first_champion
from tests.support.serving.lines import Lines
from tests.support.small_texts import small_params, write_examples
from tests.support.small_trained import train_candidates

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.loading import load_task
from plumbline.contract.task import Predictor
from plumbline.process.files import write_json
from plumbline.registry.reader.verified_cache import CachedVersion, VerifiedModelCache
from plumbline.scoring import (
    FolderSummary,
    ScoringRequest,
    ScoringSummary,
    make_local_engine,
    score,
    score_folder,
)

MODEL = "ticket-router"
URI = f"models:/{MODEL}@champion"
TEXTS = [
    "charged twice please refund", "NA", "null", "NaN", "", "ünïcødé 🎉 مرحبا",
    'she said "hello", twice', "two\nlines", "a\ttab", "carriage\rreturn",
    "both\r\nends", "password reset",
    "-", "parcel late",
]  # fmt: skip
GOOD = [text for text in TEXTS if text]
FORMS = ("csv", "tsv", "jsonl", "parquet", "csv.gz", "jsonl.gz")


@dataclass(frozen=True)
class Model:
    """A registered text classifier."""

    copy: CachedVersion
    predictor: Predictor
    environment: dict[str, str]

    def score(
        self,
        given: Path,
        wanted: Path,
        watch: Callable[[int, float], None] = lambda *_: None,
        say: Callable[[str], None] = lambda _: None,
        **options: Any,
    ) -> ScoringSummary:
        params = {"top_k": 3, "threshold": 0.0} | options.pop("params", {})
        return score(self.copy, ScoringRequest(given, wanted, params, **options), watch, say)

    def score_folder(
        self,
        given: Path,
        wanted: Path,
        watch: Callable[[int, float], None] = lambda *_: None,
        **options: Any,
    ) -> FolderSummary:
        params = {"top_k": 3, "threshold": 0.0} | options.pop("params", {})
        request = ScoringRequest(given, wanted, params, **options)
        return score_folder(self.copy, request, make_local_engine(watch))

    def command(self, given: Path, wanted: Path, *options: str) -> list[str]:
        program = Path(sys.executable).with_name("plumbline")
        return [str(program), "score", URI, str(given), str(wanted), *options]

    def open(self, command: list[str], **settings: Any) -> subprocess.Popen[str]:
        """Start a command with the registry of the model."""
        pipes = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
        return subprocess.Popen(command, env=self.environment, text=True, **pipes, **settings)

    def run(self, given: Path, wanted: Path, *options: str, code: int = 0, **settings: Any) -> str:
        process = self.open(self.command(given, wanted, *options), **settings)
        said = "".join(process.communicate(timeout=600))
        assert process.returncode == code, said
        assert "Traceback" not in said
        return said


def prepare_model(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Model:
    """A text classifier, trained and registered once for all processes that run tests."""
    folder = make_once(tmp_path_factory, worker_id, "registered-texts", register_texts)
    registry = Lines(folder)
    with registry.here():
        copy = VerifiedModelCache(URI).fetch_latest()
    return Model(copy, bundle.load(copy.folder), registry.environment | {"COLUMNS": "200"})


def register_texts(folder: Path) -> None:
    """Train and register a linear model in `folder`, and fetch it into the cache there."""
    with Lines(folder).here():
        write_examples(layout.EXAMPLES)
        train_candidates(folder, small_params(), ["linear"])
        made, texts = folder / "linear", {"text": GOOD}
        golden = {"inputs": texts, "params": {}, "outputs": bundle.load(made).predict(texts)}
        write_json(folder / "golden.json", golden)
        version = log_version(MODEL, load_task("text_classification"), made, {})
        make_first_champion(version, MODEL)
        VerifiedModelCache(URI).fetch_latest()


def seal_line(parent: Path, source: dict[str, Any] | None = None) -> CachedVersion:
    """Seal version 3 of the line y = 2 x + 1, which learned from files as `source` says."""
    folder = parent / "line"
    folder.mkdir()
    (folder / "weights.json").write_text('{"slope": 2.0, "intercept": 1.0}')
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [*sys.path, str(LINE.parents[1])])
        bundle.seal(folder, load_task("line"), "closed", source)
    return CachedVersion("line", "3", bundle.digest(folder), "line", folder, folder / "bundle.json")


def write(path: Path, columns: dict[str, list[Any]]) -> Path:
    """The columns as a file, in the form that its name says."""
    form = path.name.partition(".")[2]
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if form == "parquet":
        pq.write_table(pa.table(columns), path)
        return path
    with _open_text(path, "wt") as file:
        if form.startswith("jsonl"):
            file.writelines(json.dumps(row) + "\n" for row in rows)
        else:
            writer = csv.DictWriter(file, list(columns), delimiter="\t" if form == "tsv" else ",")
            writer.writeheader()
            writer.writerows(rows)
    return path


def read(path: Path) -> list[dict[str, Any]]:
    """The rows of a file; what is nested in CSV is read as JSON."""
    form = path.name.partition(".")[2]
    if form == "parquet":
        return list(pq.read_table(path).to_pylist())
    with _open_text(path, "rt") as file:
        if form.startswith("jsonl"):
            return [json.loads(line) for line in file]
        rows = list(csv.DictReader(file, delimiter="\t" if form == "tsv" else ","))
    typed = {"score": float, "scores": json.loads, "abstained": json.loads}
    return [
        {name: typed[name](cell) if name in typed and cell else cell for name, cell in row.items()}
        for row in rows
    ]


def _open_text(path: Path, mode: str) -> Any:
    return fsspec.open(str(path), mode, compression="infer", encoding="utf-8", newline="")


def nothing_left(folder: Path, given: Path) -> bool:
    return [path.name for path in folder.iterdir()] == [given.name]
