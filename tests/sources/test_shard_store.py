"""Shards at an address: what is stored, read and said, here and in S3."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from tests.support.dirty_texts import make_values
from tests.support.s3_server import serve_bucket
from tests.support.small_sources import CSV

from plumbline.contract import layout
from plumbline.contract.errors import DataError
from plumbline.contract.listing import LISTING
from plumbline.contract.task import SPLITS
from plumbline.process.files import digest_files, digest_path, read_json, write_json
from plumbline.sources import shard_copies, shard_writer, shards
from plumbline.sources.shard_copies import ShardCopies
from plumbline.stages.ingest import ingest
from plumbline.stages.train import link_all_but_test
from plumbline.tasks.text_classification.data import (
    has_label_sets,
    read_batches,
    read_split,
    shuffle_labels,
)
from plumbline.tasks.text_classification.expectations import find_leaks
from plumbline.tasks.text_classification.params import TextParams
from plumbline.tasks.text_classification.task import TASK

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(shard_writer, "SHARD_ROWS", 6)
    Path("raw.csv").write_text(CSV)
    return tmp_path


def ingest_to(shards: str | None, **data: Any) -> dict[str, Any]:
    """Ingest, and return the listing."""
    values = make_values("raw.csv")
    values["data"] |= {"shards": shards} | data
    ingest(TextParams.model_validate(values), TASK)
    listing: dict[str, Any] = read_json(layout.EXAMPLES / LISTING)
    return listing


def read_all() -> list[dict[str, list[str]]]:
    return [read_split(layout.EXAMPLES, split).to_pydict() for split in SPLITS]


def test_an_address_gets_the_shards_and_nothing_else_changes(folder: Path) -> None:
    here = ingest_to(None)
    digests = [digest_path(path) for path in (layout.EXAMPLES, layout.MANIFEST, layout.SOURCE)]
    rows = read_all()
    address = f"file://{folder}/shards"

    listing = ingest_to(address)

    assert listing == here | {"address": address}
    assert [path.name for path in layout.EXAMPLES.iterdir()] == [LISTING]
    names = sorted({f"{shard['sha256']}.parquet" for shard in listing["shards"]})
    assert sorted(path.name for path in (folder / "shards").iterdir()) == names
    assert [digest_path(path) for path in (layout.EXAMPLES, layout.MANIFEST, layout.SOURCE)] == (
        digests
    )
    assert read_all() == rows
    batches = read_batches(layout.EXAMPLES, "train", ["id"])
    assert [id_ for batch in batches for id_ in batch["id"].to_pylist()] == rows[0]["id"]


def test_leaks_are_those_of_shards_on_this_machine(folder: Path) -> None:
    Path("test.csv").write_text(CSV[: len(CSV) // 2].rpartition("\n")[0])
    source = {"train": "raw.csv", "validation": None, "test": "test.csv"}
    params = TextParams.model_validate(make_values(source))
    ingest_to(None, source=source)
    here = find_leaks(params, layout.EXAMPLES)
    assert sum(leak.num_leaked for leak in here) > 20
    ingest_to(f"file://{folder}/shards", source=source)
    assert find_leaks(params, layout.EXAMPLES) == here


def begin_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the copies that earlier reads left, as a new process has none."""
    monkeypatch.setattr(shards, "COPIES", ShardCopies())


def test_a_shard_is_fetched_once_and_leaves_no_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest_to(f"file://{folder}/shards")
    (folder / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "tmp"))
    batches = read_batches(layout.EXAMPLES, "train")
    assert next(batches).num_rows
    assert not list((folder / "tmp").iterdir())
    rows = read_all()
    shutil.rmtree(folder / "shards")
    assert read_all() == rows
    assert not has_label_sets(layout.EXAMPLES, "train")
    begin_process(monkeypatch)
    with pytest.raises(DataError, match="not found"):
        read_all()


def test_two_readers_of_one_copy_have_places_of_their_own(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plumbline.contract.row_groups.BATCH_ROWS", 2)
    ingest_to(f"file://{folder}/shards")
    one, other = (read_batches(layout.EXAMPLES, "train") for _ in range(2))
    assert all(batch.equals(same) for batch, same in zip(one, other, strict=True))


def test_the_copy_that_was_read_longest_ago_makes_room(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin_process(monkeypatch)
    monkeypatch.setattr(shard_copies, "MAX_COPIES", 2)
    listing = ingest_to(f"file://{folder}/shards")
    rows = read_all()
    shutil.rmtree(folder / "shards")
    assert read_split(layout.EXAMPLES, "test").to_pydict() == rows[-1]  # two shards
    first = listing["shards"][0]["sha256"]
    with pytest.raises(DataError, match=rf"shards/{first}\.parquet: not found"):
        read_split(layout.EXAMPLES, "train")


def test_an_older_listing_is_read_after_a_later_ingest(folder: Path) -> None:
    address = f"file://{folder}/shards"
    ingest_to(address)
    before = (layout.EXAMPLES / LISTING).read_bytes()
    rows = read_all()
    Path("raw.csv").write_text(CSV.replace("parcels", "letters"))
    ingest_to(address)
    assert read_all() != rows
    (layout.EXAMPLES / LISTING).write_bytes(before)
    assert read_all() == rows


def test_a_second_ingest_writes_the_same_and_mends_what_was_damaged(folder: Path) -> None:
    address = f"file://{folder}/shards"
    listing = ingest_to(address)
    shards = sorted((folder / "shards").iterdir())
    digest = digest_files(folder / "shards")
    shards[0].write_bytes(b"half")
    shards[1].unlink()
    with pytest.raises(DataError):
        read_all()
    assert ingest_to(address) == listing
    assert digest_files(folder / "shards") == digest


def test_who_learns_gets_a_listing_without_the_test_split(folder: Path) -> None:
    ingest_to(f"file://{folder}/shards")
    target = folder / "aside"
    target.mkdir()
    link_all_but_test(layout.EXAMPLES, target)
    assert [path.name for path in target.iterdir()] == [LISTING]
    assert '"test"' not in (target / LISTING).read_text()
    assert read_split(target, "train").equals(read_split(layout.EXAMPLES, "train"))


def test_shuffled_labels_stay_on_this_machine(folder: Path) -> None:
    ingest_to(f"file://{folder}/shards")
    before = sorted((folder / "shards").iterdir())
    target = folder / "control"
    target.mkdir()
    shuffle_labels(layout.EXAMPLES, target, seed=1, max_rows=20)
    assert len(read_split(target, "train")) == 20
    assert sorted((folder / "shards").iterdir()) == before


def swap(path: Path) -> None:
    other = next(each for each in path.parent.iterdir() if each != path)
    path.write_bytes(other.read_bytes())


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (Path.unlink, "not found; run `dvc repro -f ingest`, which writes it again"),
        (swap, r"digest mismatch: expected \w{12} as in .*listing.json, found \w{12}; run `dvc"),
    ],
)
def test_a_shard_that_is_lost_or_changed_is_named(
    folder: Path, damage: Callable[[Path], None], message: str
) -> None:
    listing = ingest_to(f"file://{folder}/shards")
    sha256 = next(each["sha256"] for each in listing["shards"] if each["split"] == "train")
    damage(folder / f"shards/{sha256}.parquet")
    with pytest.raises(DataError, match=rf"^file://{folder}/shards/{sha256}\.parquet: {message}"):
        read_split(layout.EXAMPLES, "train")


def test_an_address_that_cannot_be_written_leaves_what_was_there(folder: Path) -> None:
    before = ingest_to(None)
    (folder / "file").touch()
    with pytest.raises(DataError, match=r"^file://.*/file/\w{64}\.parquet: cannot be written \("):
        ingest_to(f"file://{folder}/file")
    assert read_json(layout.EXAMPLES / LISTING) == before
    assert sorted(path.name for path in Path("data").iterdir()) == [
        "examples",
        "manifest.parquet",
        "source.json",
    ]


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("shards", "expected the address of a folder, such as s3://bucket/folder"),
        ("file://shards", "expected the address of a folder"),
        ("github://me:repo@main/x", "expected the address of a folder"),
        ("s3://key:secret@bucket/x", "has a name, key or password in it"),
    ],
)
def test_an_address_that_not_every_machine_knows_is_refused(address: str, message: str) -> None:
    values = make_values("raw.csv")
    values["data"]["shards"] = address
    with pytest.raises(ValidationError, match=message) as caught:
        TextParams.model_validate(values)
    assert "secret@" not in caught.value.errors()[0]["msg"]


def test_params_without_the_key_are_written_without_it() -> None:
    params = TextParams.model_validate(make_values("raw.csv"))
    assert "shards" not in params.model_dump(mode="json")["data"]


@pytest.mark.service
def test_an_object_store_is_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    here = ingest_to(None)
    rows = read_all()
    with serve_bucket("shards", monkeypatch) as store:
        listing = ingest_to("s3://shards/tickets")
        assert listing == here | {"address": "s3://shards/tickets"}
        assert read_all() == rows
        assert ingest_to("s3://shards/tickets") == listing
        first, second, *_ = [f"shards/tickets/{each['sha256']}.parquet" for each in here["shards"]]
        assert set(store.ls("shards/tickets", detail=False)) == {
            f"shards/tickets/{each['sha256']}.parquet" for each in here["shards"]
        }
        store.pipe_file(first, store.cat_file(second))
        begin_process(monkeypatch)
        with pytest.raises(DataError, match=rf"^s3://{first}: digest mismatch"):
            read_split(layout.EXAMPLES, "train")
        store.rm_file(first)
        with pytest.raises(DataError, match=rf"^s3://{first}: not found; run `dvc repro -f ing"):
            read_split(layout.EXAMPLES, "train")
        with pytest.raises(DataError, match=r"^s3://none/x/\w{64}.parquet: cannot be written \(.*"):
            ingest_to("s3://none/x")
    with pytest.raises(DataError, match=rf"^s3://{first}: cannot be read \(.*\); check the add"):
        read_split(layout.EXAMPLES, "train")


@pytest.mark.slow
def test_an_ingest_that_is_killed_while_it_stores_leaves_no_listing(folder: Path) -> None:
    values = make_values("generated")
    values["data"] |= {"shards": f"file://{folder}/shards"}
    values["data"]["generated"]["num_rows"] = 120_000
    write_json(layout.PARAMS, values)  # YAML, too
    command = [sys.executable, "-P", str(ROOT / "pipelines/ingest.py")]
    process = subprocess.Popen(command, start_new_session=True)
    while not list((folder / "shards").glob("[0-9a-f]*.parquet")):
        assert process.poll() is None, "it ended before a shard was stored"
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not layout.EXAMPLES.exists()
    with pytest.raises(DataError, match=r"data/examples/listing\.json: not found"):
        read_split(layout.EXAMPLES, "train")
    subprocess.run(command, check=True)
    assert len(read_split(layout.EXAMPLES, "train", ["id"])) > 70_000
