"""Score the files of a folder on Spark: a task for each file, on whatever machine has a free core.

This module alone imports pyspark. Executors need plumbline's serving dependencies, pyarrow and
access to both folders; the model comes from here, and each executor verifies every byte of it.
"""

import json
import os
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.contract import layout
from plumbline.contract.errors import BundleError, PlumblineError
from plumbline.contract.tar_files import extract_file
from plumbline.registry.reader import contents
from plumbline.registry.reader.verified_cache import CachedVersion
from plumbline.scoring.folder_files import FolderRequest, ScoredFile, try_file
from plumbline.scoring.scorer import load_model, name_version
from plumbline.scoring.spark_master import CONFIGURED, check_master, find_reason
from plumbline.sources.addresses import find_local_path

if TYPE_CHECKING:
    import pyarrow as pa

    from plumbline.contract.task import Predictor
    from plumbline.scoring.folder_scorer import Engine


def make_spark_engine(master: str) -> "Engine":
    """Return the engine that scores on Spark; `master` is `spark` or an address such as yarn.

    ParamsError where Spark cannot be started here, or its master does not answer.
    """
    check_master(master)

    def score_on_spark(
        model: CachedVersion, request: FolderRequest, names: Sequence[str]
    ) -> list[ScoredFile]:
        with _open_session(master) as session, tempfile.TemporaryDirectory() as folder:
            archive = _pack(model, Path(folder))
            session.sparkContext.addFile(str(archive))
            score_batches = _make_task(archive.name, model, _make_absolute(request), names)
            # One number for each file, each in a task of its own.
            numbers = session.range(0, len(names), 1, len(names))
            rows = numbers.mapInArrow(score_batches, "result string").collect()
        return [ScoredFile(**json.loads(row["result"])) for row in rows]

    return score_on_spark


def _make_absolute(request: FolderRequest) -> FolderRequest:
    """Return the request with paths that lead to the same folders from an executor."""
    return replace(
        request, input=_find_absolute(request.input), output=_find_absolute(request.output)
    )


def _find_absolute(address: str) -> str:
    local = find_local_path(address)
    return address if local is None else str(Path(local).absolute())


@contextmanager
def _open_session(master: str) -> Iterator[Any]:
    """Give the session of Spark; one that was started for this ends with the block."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # Two attempts at one file at a time would be in each other's way.
    builder = SparkSession.builder.appName("plumbline score").config("spark.speculation", "false")
    if master != CONFIGURED:
        builder = builder.master(master)
    is_given = SparkSession.getActiveSession() is not None
    try:
        session = builder.getOrCreate()
        try:
            yield session
        finally:
            if not is_given:
                session.stop()
    except (PySparkException, Py4JError) as error:
        raise PlumblineError(
            f"--on {master}: Spark failed ({find_reason(str(error))}); what was scored is kept: "
            "repair it, and run the same command again"
        ) from None


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
    archive: str, model: CachedVersion, request: FolderRequest, names: Sequence[str]
) -> Any:
    """Return what a task does: it gets the numbers of files, and yields results as JSON."""
    golden = layout.digest(model.golden)

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
