"""Runs functions of rows on Spark, where $PLUMBLINE_SPARK names its master.

Each part of the rows is a task, whose functions are those that run without Spark. Parts lie in
files, in a folder that all executors see.
"""

import functools
import gc
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from plumbline.contract.engine import use_engine
from plumbline.contract.errors import ParamsError, PlumblineError
from plumbline.contract.rows import RowBatches, store_rows
from plumbline.spark.master import check_master
from plumbline.spark.session import open_session

if TYPE_CHECKING:
    import pyarrow as pa

MASTER = "PLUMBLINE_SPARK"  # the variable with the address of the master
SCRATCH = "PLUMBLINE_SCRATCH"  # the variable with the folder that all executors see
REMEDY = "repair it, or unset PLUMBLINE_SPARK, and run the same command again"
Item = TypeVar("Item")
T = TypeVar("T")


@contextmanager
def use_named_engine(stage: str) -> Iterator[None]:
    """Let Spark run functions of rows inside the block, if $PLUMBLINE_SPARK names its master.

    It is started when it is first asked: a table in memory needs none. Raises ParamsError where
    Spark cannot be started with that, or executors would see no file.
    """
    master = os.environ.get(MASTER, "")
    if not master:
        yield
        return
    check_master(master, f"{MASTER}={master}", "an empty value")
    with (
        tempfile.TemporaryDirectory(prefix="plumbline-", dir=_find_scratch(master)) as folder,
        ExitStack() as stack,
    ):
        session = open_session(master, f"plumbline {stage}", REMEDY)
        open_it = partial(stack.enter_context, session)
        with use_engine(SparkEngine(open_it, Path(folder), master.startswith("local"))):
            yield


@dataclass(frozen=True)
class SparkEngine:
    """Executors of one session of Spark."""

    open_session: Callable[[], Any]
    folder: Path  # which all executors see
    is_local: bool  # all executors are on this machine

    @cached_property
    def session(self) -> Any:
        """The session, from when it is first asked for."""
        return self.open_session()

    def run(self, work: Callable[[Item], T], items: Sequence[Item]) -> Iterator[T]:
        """Yield what `work` returns for each item, in order, once all are there.

        A PlumblineError is raised here when it is the turn of its item, as it is without Spark.
        """
        from pyspark import cloudpickle

        if not items:
            return iter(())
        packed = [cloudpickle.dumps(item) for item in items]
        tasks = self.session.sparkContext.parallelize(packed, len(packed))
        outcomes = tasks.map(lambda item: _attempt(work, cloudpickle.loads(item))).collect()
        return _take_results(outcomes)

    def make_folder(self) -> Path:
        """Make a new folder that all executors see."""
        return Path(tempfile.mkdtemp(dir=self.folder))

    @contextmanager
    def open_frame(self, rows: RowBatches, columns: Sequence[str]) -> Iterator[Any]:
        """Give these columns of `rows` as a DataFrame, in order; computed once, for the block."""
        from pyspark.sql.pandas.types import from_arrow_schema

        stored = store_rows(rows.map(lambda batch: batch.select(columns)))
        schema = from_arrow_schema(next(iter(stored)).schema)
        parts = [part.read for part in stored.parts]

        def read_parts(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
            for batch in batches:
                for number in batch.column("id").to_pylist():
                    yield from parts[number]()
            _freeze_imports(len(sys.modules))

        numbers = self.session.range(0, len(parts), 1, len(parts))
        yield numbers.mapInArrow(read_parts, schema)
        del stored  # the files go


def _attempt(work: Callable[[Item], T], item: Item) -> tuple[T | None, PlumblineError | None]:
    """Return what `work` returns, or the error that a user can act on; Spark tries others again."""
    try:
        return work(item), None
    except PlumblineError as error:
        return None, error
    finally:
        _freeze_imports(len(sys.modules))


@functools.cache
def _freeze_imports(num_modules: int) -> None:
    """Let collections of garbage pass over what the Python of an executor has imported so far.

    pyspark collects after each task. Where a part has few rows, that took more time than the task.
    """
    gc.freeze()


def _take_results(outcomes: list[tuple[Any, PlumblineError | None]]) -> Iterator[Any]:
    for result, error in outcomes:
        if error is not None:
            raise error
        yield result


def _find_scratch(master: str) -> Path | None:
    """Return the folder for parts; None, which is that for temporary files, on one machine."""
    named = os.environ.get(SCRATCH, "")
    if named and not Path(named).is_dir():
        raise ParamsError(f"{SCRATCH}={named}: not a folder; name one that all executors see")
    if not named and not master.startswith("local"):
        raise ParamsError(
            f"{MASTER}={master}: {SCRATCH} is not set; let it name a folder that this machine and "
            "all executors see under the same path"
        )
    return Path(named).absolute() if named else None
