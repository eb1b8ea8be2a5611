"""Spark runs the functions of rows: what stages write and find is the same."""

import gc
import operator
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.support.batches import cut_table, join_batches
from tests.support.dirty_texts import make_values, read_checks, run_with
from tests.support.s3_server import serve_bucket
from tests.support.spark_cluster import (
    SPARK,
    count_children,
    kill_with_children,
    run_spark_cluster,
)
from tests.support.tables import draw_table

from plumbline.contract import layout
from plumbline.contract.engine import get_engine
from plumbline.contract.errors import DataError, ParamsError, PlumblineError
from plumbline.contract.records import Leak
from plumbline.contract.rows import FIRST, ROW, store_batches
from plumbline.process.files import digest_files
from plumbline.spark.row_engine import SparkEngine, use_named_engine
from plumbline.stages.ingest import ingest
from plumbline.tasks.text_classification.data import generated
from plumbline.tasks.text_classification.expectations import find_leaks
from plumbline.tasks.text_classification.params import TextParams
from plumbline.tasks.text_classification.task import TASK

WORDS = ("parcel", "letter", "refund", "late", "lost", "broken", "invoice", "courier", "order")


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Rows with copies, contradictions, near copies and personal data; parts are small."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("plumbline.contract.rows.PART_ROWS", 300)
    monkeypatch.setattr("plumbline.contract.row_groups.BATCH_ROWS", 100)
    draw = random.Random(0)
    rows = [
        (" ".join(draw.choices(WORDS, k=9)) + f" of day {number}", draw.choice(["a", "b", "c"]))
        for number in range(1500)
    ]
    rows += [(f"{text} please", label) for text, label in rows[:60]]
    rows += [(text, "a" if label != "a" else "b") for text, label in rows[100:160]]
    rows += [(text.upper(), label) for text, label in rows[200:260]]
    rows += [(f"write to jane{number}@example.com now", "a") for number in range(9)]
    lines = ["text,label", *(f"{text},{label}" for text, label in rows)]
    (tmp_path / "raw.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return "raw.csv"


@pytest.mark.parametrize(
    ("master", "scratch", "message"),
    [
        (
            "nonsense",
            "",
            "PLUMBLINE_SPARK=nonsense: unknown; expected an empty value",
        ),
        ("yarn", "", "PLUMBLINE_SPARK=yarn: PLUMBLINE_SCRATCH is not set; let it name a folder"),
        ("yarn", "nowhere", "PLUMBLINE_SCRATCH=nowhere: not a folder; name one that all"),
        ("spark://127.0.0.1:1", "", r"PLUMBLINE_SPARK=.*: unreachable \(127.0.0.1:1: .*refused"),
    ],
)
@SPARK
def test_what_cannot_be_used_is_named(
    master: str, scratch: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLUMBLINE_SPARK", master)
    monkeypatch.setenv("PLUMBLINE_SCRATCH", scratch)
    with pytest.raises(ParamsError, match=message), use_named_engine("validate"):
        pass


@SPARK
@pytest.mark.slow
def test_the_verbs_say_on_spark_what_they_say_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plumbline.contract.rows.PART_ROWS", 130)
    table = draw_table()
    long = table[table["length"] > 20]

    with open_spark("local[2]", tmp_path, monkeypatch):
        rows = store_batches(iter(cut_table(table, 50)))
        is_long = rows.map(lambda batch: batch.filter(pc.greater(batch["length"], 20)))
        lengths = is_long.fold(lambda batch: batch["length"].to_pylist(), operator.add)
        first = join_batches(is_long.find_first(["split", "label"]))
    assert lengths == long["length"].tolist()
    groups = long.assign(number=long.index).groupby(["split", "label"])["number"]
    assert first[FIRST].tolist() == groups.transform("first").tolist()
    assert first[ROW].tolist() == long.index.tolist()


@SPARK
@pytest.mark.slow
def test_what_a_function_raises_is_said_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse_row(batch: pa.RecordBatch) -> int:
        if batch[ROW][0].as_py() == 150:
            raise ValueError("row 150")
        return batch.num_rows

    message = r"^Spark failed \(.*ValueError: row 150\); repair it, or unset PLUMBLINE_SPARK.*$"
    with (
        pytest.raises(PlumblineError, match=message),
        open_spark("local[2]", tmp_path, monkeypatch),
    ):
        store_batches(iter(cut_table(draw_table(), 50))).fold(refuse_row, operator.add)


@SPARK
@pytest.mark.slow
def test_an_error_that_a_user_can_act_on_is_that_of_the_first_item(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(item: int) -> int:
        if item > 2:
            raise DataError(f"row {item}: no label")
        return item

    with open_spark("local[2]", tmp_path, monkeypatch):
        results = get_engine().run(refuse, range(1, 6))
        assert [next(results), next(results)] == [1, 2]
        with pytest.raises(DataError, match=r"^row 3: no label$"):
            next(results)


@SPARK
@pytest.mark.slow
def test_an_executor_looks_for_no_garbage_in_what_it_has_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_spark("local[1]", tmp_path, monkeypatch):
        first, second = get_engine().run(lambda _: gc.get_freeze_count(), range(2))
    assert first == 0
    assert second > 1000


@SPARK
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["generated", "raw/*", "given"])
def test_ingest_writes_the_same_on_spark(
    kind: str, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plumbline.tables.arrow_files.PIECE_ROWS", 300)
    monkeypatch.setattr(generated, "PIECE_ROWS", 300)
    values = make_values(kind)
    write_raw_files(source)
    if kind == "given":
        values["data"]["source"] = {"train": "raw/[b-d]*", "validation": None, "test": "raw/a.csv"}
        values["data"]["policies"]["leakage"] = "drop"
    values["data"]["generated"]["num_rows"] = 1200
    params = TextParams.model_validate(values)
    ingest(params, TASK)
    here = digest_files(Path("data"))
    monkeypatch.setenv("PLUMBLINE_SPARK", "local[2]")
    ingest(params, TASK)
    assert digest_files(Path("data")) == here


@SPARK
@pytest.mark.slow
def test_the_first_fault_of_a_source_is_said_as_it_is_here(
    source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLUMBLINE_SPARK", "local[2]")
    write_raw_files(source)
    for name in ("b.csv", "c.csv"):
        with Path("raw", name).open("a", encoding="utf-8") as file:
            file.write("one,cell,more\n")
    with pytest.raises(DataError, match=r"^b\.csv:\d+: 3 cells where the header has 2"):
        ingest(TextParams.model_validate(make_values("raw/*.csv")), TASK)
    assert not layout.EXAMPLES.exists()


@SPARK
@pytest.mark.slow
def test_validate_and_the_gate_leakage_find_the_same_on_spark(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = check(source)
    outcomes = Counter(result["passed"] for result in read_checks().values())
    assert outcomes[False] > 2
    assert outcomes[True] > 10
    monkeypatch.setenv("PLUMBLINE_SPARK", "local[2]")
    assert check(source) == here


@SPARK
@pytest.mark.slow
def test_a_worker_is_killed_and_the_report_is_the_same(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = check(source)
    with use_cluster_that_loses_a_worker(tmp_path, monkeypatch):
        assert check(source) == here


@SPARK
@pytest.mark.slow
def test_a_worker_is_killed_and_ingest_writes_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(generated, "PIECE_ROWS", 1000)
    values = make_values("generated")
    values["data"]["generated"]["num_rows"] = 30_000
    params = TextParams.model_validate(values)
    ingest(params, TASK)
    here = digest_files(Path("data"))
    with use_cluster_that_loses_a_worker(tmp_path, monkeypatch):
        ingest(params, TASK)
    assert digest_files(Path("data")) == here


@SPARK
@pytest.mark.slow
@pytest.mark.service
def test_executors_read_shards_from_an_object_store(
    source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plumbline.sources.shard_writer.SHARD_ROWS", 300)
    here = check(source)
    with serve_bucket("shards", monkeypatch) as store, open_session_with_store():
        monkeypatch.setenv("PLUMBLINE_SPARK", "local[2]")
        assert check(source, "s3://shards/tickets") == here
        assert len(store.ls("shards/tickets", detail=False)) > 5


@contextmanager
def use_cluster_that_loses_a_worker(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Let stages in the block use two workers, of which one is killed; they leave no file."""
    scratch = folder / "scratch"
    scratch.mkdir()
    with run_spark_cluster(folder / "spark", num_workers=2) as (master, workers):
        monkeypatch.setenv("PLUMBLINE_SPARK", master)
        monkeypatch.setenv("PLUMBLINE_SCRATCH", str(scratch))
        with kill_at_work(workers[0], scratch):
            yield
    assert list(scratch.iterdir()) == []


@contextmanager
def kill_at_work(worker: int, scratch: Path) -> Iterator[None]:
    """Kill a worker of Spark, its executor and its Python, once files are written in the block."""
    killed: list[int] = []

    def kill() -> None:
        while count_children(worker) < 2 or not list(scratch.glob("*/*/*.arrow")):
            time.sleep(0.05)
        killed.append(kill_with_children(worker))

    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    yield
    thread.join(600)
    assert killed[0] > 1  # the executor and its Python too


def write_raw_files(source: str) -> None:
    """Cut the rows of `source` into files, with a Parquet file of all of them."""
    header, *lines = Path(source).read_text(encoding="utf-8").splitlines(keepends=True)
    Path("raw").mkdir()
    for name, start in (("a", 0), ("b", 600), ("c", 1000)):
        text = "".join([header, *lines[start : start + 600]])
        Path(f"raw/{name}.csv").write_text(text, encoding="utf-8")
    table = pd.read_csv(source, dtype=str)
    table.to_parquet("raw/d.parquet", index=False, row_group_size=200)


def check(source: str, shards: str | None = None) -> tuple[str, bytes, list[Leak]]:
    """Return what validate says, its report, and the leaks that evaluate finds."""
    values = make_values(source)
    values["data"]["shards"] = shards
    params = TextParams.model_validate(values)
    said = run_with(params)[1]
    with use_named_engine("leaks"):
        leaks = find_leaks(params, layout.EXAMPLES)
    return said, layout.VALIDATION.read_bytes(), leaks


@contextmanager
def open_session_with_store() -> Iterator[None]:
    """Let executors have this process's variables of the store.

    Those of the process in which Java runs are from when the first test started it.
    """
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]")
    for name, value in os.environ.items():
        if name.startswith("AWS_"):
            builder = builder.config(f"spark.executorEnv.{name}", value)
    session = builder.getOrCreate()
    try:
        yield
    finally:
        session.stop()


@contextmanager
def open_spark(master: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("PLUMBLINE_SPARK", master)
    monkeypatch.setenv("PLUMBLINE_SCRATCH", str(folder))
    with use_named_engine("test"):
        assert isinstance(get_engine(), SparkEngine)
        yield
