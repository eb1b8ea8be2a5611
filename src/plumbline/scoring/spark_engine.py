"""Score the files of a folder on Spark: a task for each file, on whatever machine has a free core.

Executors need plumbline's serving dependencies, pyarrow and
access to both folders; the model comes from here, and each executor verifies every byte of it.
"""

import json
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.contract.errors import BundleError
from plumbline.process.files import digest_path, extract_file
from plumbline.registry.reader import contents
from plumbline.registry.reader.verified_cache import CachedVersion
from plumbline.scoring.folder_files import ScoredFile, try_file
from plumbline.scoring.request import ScoringRequest
from plumbline.scoring.scorer import load_model, name_version
from plumbline.scoring.spark_session import check_master, open_session
from plumbline.sources.addresses import find_local_path

if TYPE_CHECKING:
    import pyarrow as pa

    from plumbline.contract.task import Predictor
    from plumbline.scoring.folder_scorer import Engine

REMEDY = "what was scored is kept: repair it, and run the same command again"


def make_spark_engine(master: str) -> "Engine":
    """Return the engine that scores on Spark; `master` is `spark` or an address such as yarn.

    ParamsError where there is no such master, or Spark is not installed.
    """
    check_master(master)

    def score_on_spark(
        model: CachedVersion, request: ScoringRequest, names: Sequence[str]
    ) -> list[ScoredFile]:
        with (
            open_session(master, "plumbline score", REMEDY) as session,
            tempfile.TemporaryDirectory() as folder,
        ):
            archive = _pack(model, Path(folder))
            session.sparkContext.addFile(str(archive))
            given, wanted = _find_absolute(request.input), _find_absolute(request.output)
            everywhere = replace(request, input=given, output=wanted)
            score_batches = _make_task(archive.name, model, everywhere, names)
            # One number for each file, each in a task of its own.
            numbers = session.range(0, len(names), 1, len(names))
            rows = numbers.mapInArrow(score_batches, "result string").collect()
        return [ScoredFile(**json.loads(row["result"])) for row in rows]

    return score_on_spark


def _find_absolute(address: Path | str) -> str:
    """Return an address that leads to the same folder from an executor."""
    local = find_local_path(str(address))
    return str(address) if local is None else str(Path(local).absolute())


def _pack(model: CachedVersion, folder: Path) -> Path:
    """Return an archive of the model, named by its digest, with the same bytes each time."""
    archive = folder / f"{model.bundle}.model"  # Spark itself unpacks a .tar, and verifies nothing
    with tarfile.open(archive, "w") as tar:
        tar.add(model.folder, contents.FILES, filter=_clear_facts)
        tar.add(model.golden, contents.GOLDEN, filter=_clear_facts)
    return archive


def _clear_facts(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.mtime = member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def _make_task(
    archive: str, model: CachedVersion, request: ScoringRequest, names: Sequence[str]
) -> Any:
    """Return what a task does: it gets the numbers of files, and yields results as JSON."""
    golden = digest_path(model.golden)

    def score_batches(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        import pyarrow as pa

        for batch in batches:
            results = []
            for number in batch.column("id").to_pylist():
                try:
                    copy, predictor = _open_model(archive, model, golden)
                    file = try_file(copy, predictor, request, names[number], lambda *_: None)
                except BundleError as error:
                    file = ScoredFile(names[number], error=str(error))
                results.append(json.dumps(asdict(file)))
            yield pa.RecordBatch.from_pydict({"result": results})

    return score_batches


@cache
def _open_model(
    archive: str, model: CachedVersion, golden: str
) -> "tuple[CachedVersion, Predictor]":
    """Unpack the model on an executor, verify it, and load it: once in each process."""
    from pyspark import SparkFiles

    folder = Path(tempfile.mkdtemp(prefix="model-", dir=SparkFiles.getRootDirectory()))
    with tarfile.open(SparkFiles.get(archive)) as tar:
        for member in tar:
            if member.isreg():
                extract_file(tar, member, folder)
    contents.verify_contents(folder, model.bundle, golden, name_version(model))
    copy = replace(model, folder=folder / contents.FILES, golden=folder / contents.GOLDEN)
    return copy, load_model(copy)
