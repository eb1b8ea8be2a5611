"""Shards and their listing: which bytes there must be, and how a change of them is said."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.dirty_texts import make_values
from tests.support.small_sources import CSV

from plumbline.contract import layout
from plumbline.contract.errors import DataError
from plumbline.contract.listing import LISTING
from plumbline.contract.task import SPLITS
from plumbline.process.files import digest_path, read_json, write_json
from plumbline.sources import shard_writer
from plumbline.sources.shard_writer import write_split
from plumbline.stages.ingest import ingest
from plumbline.stages.train import link_all_but_test
from plumbline.tasks.text_classification.data import has_label_sets, read_batches, read_split
from plumbline.tasks.text_classification.params import TextParams
from plumbline.tasks.text_classification.task import TASK

ROWS = 6


def make_small_params() -> TextParams:
    return TextParams.model_validate(make_values("raw.csv"))


@pytest.fixture
def examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Examples that were ingested into the current folder, in shards of 6 rows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(shard_writer, "SHARD_ROWS", ROWS)
    Path("raw.csv").write_text(CSV)
    ingest(make_small_params(), TASK)
    return layout.EXAMPLES


def list_files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def read_shards(folder: Path) -> list[dict]:
    shards: list[dict] = read_json(folder / LISTING)["shards"]
    return shards


def test_the_listing_has_each_shard_in_order(examples: Path) -> None:
    listed = read_shards(examples)
    assert list_files(examples) == sorted([LISTING, *(shard["name"] for shard in listed)])
    for split in SPLITS:
        own = [shard for shard in listed if shard["split"] == split]
        names = [f"{split}.{number:05}.parquet" for number in range(len(own))]
        assert [shard["name"] for shard in own] == names
        assert {shard["rows"] for shard in own[:-1]} <= {ROWS}
        for shard in own:
            path = examples / shard["name"]
            assert pq.read_metadata(path).num_rows == shard["rows"] <= ROWS
            assert digest_path(path) == shard["sha256"]
    assert len([shard for shard in listed if shard["split"] == "train"]) > 2


def test_rows_are_those_of_one_file_in_the_same_order(
    examples: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_parts = {split: read_split(examples, split) for split in SPLITS}
    manifest = digest_path(layout.MANIFEST)
    monkeypatch.setattr(shard_writer, "SHARD_ROWS", 1000)
    ingest(make_small_params(), TASK)
    assert len(read_shards(examples)) == len(SPLITS)
    for split in SPLITS:
        assert read_split(examples, split).equals(in_parts[split])
    assert digest_path(layout.MANIFEST) == manifest


def test_the_digest_is_that_of_a_folder_with_the_shards_alone(
    examples: Path, tmp_path: Path
) -> None:
    digest = digest_path(examples)
    assert read_json(layout.SOURCE)["digest"] == digest
    listing = (examples / LISTING).rename(tmp_path / "kept.json")
    assert digest_path(examples) == digest
    for path in examples.iterdir():
        path.unlink()
    listing.rename(examples / LISTING)
    assert digest_path(examples) == digest, "the bytes are needed"


@pytest.mark.parametrize("name", ["prior.json", "train.00009.parquet", "more/test.00000.parquet"])
def test_a_file_that_the_listing_does_not_name_has_no_digest(examples: Path, name: str) -> None:
    before = digest_path(examples)
    (examples / ".listing.json.1.aside").touch()  # a killed process left it
    assert digest_path(examples) == before
    (examples / name).parent.mkdir(exist_ok=True)
    (examples / name).write_text("x")
    message = f"^data/examples/{name}: data/examples/listing.json does not name this file; run"
    with pytest.raises(DataError, match=message):
        digest_path(examples)


def test_shards_at_an_address_leave_the_listing_alone(examples: Path) -> None:
    listing = read_json(examples / LISTING)
    write_json(examples / LISTING, listing | {"address": "elsewhere"})
    with pytest.raises(DataError, match=r"^data/examples/test\.00000\.parquet: .* does not name"):
        digest_path(examples)


def change_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def cut_listing(path: Path) -> None:
    listing = path.with_name(LISTING)
    content = read_json(listing)
    content["shards"] = [shard for shard in content["shards"] if shard["name"] != path.name]
    write_json(listing, content)


def list_other_rows(path: Path) -> None:
    listing = path.with_name(LISTING)
    content = read_json(listing)
    for shard in content["shards"]:
        shard["rows"] += 1
    write_json(listing, content)


def write_listing_text(text: str) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        path.with_name(LISTING).write_text(text)

    return damage


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (change_byte, r"train\.00001\.parquet: digest mismatch: expected \w{12} as in .*, found"),
        (Path.unlink, r"train\.00001\.parquet: not found, data/examples/listing\.json names it"),
        (
            cut_listing,
            r"listing\.json: expected the shard train\.00001\.parquet, found 'train\.0",
        ),
        (list_other_rows, r"train\.00000\.parquet: 6 rows, data/examples/listing\.json has 7"),
        (write_listing_text("{"), r"listing\.json: cannot be read \(Expecting"),
        (write_listing_text("[]"), r"listing\.json: not a listing of shards \(TypeError"),
        (write_listing_text('{"shards": []}'), r"listing\.json: no shard of train"),
        (
            write_listing_text(
                '{"shards": [{"name": "a", "split": "train", "rows": "1", "sha256": ""}]}'
            ),
            r"listing\.json: not a listing of shards \(TypeError: a shard is \{'name': 'a'",
        ),
        (
            write_listing_text('{"shards": [], "address": 7}'),
            r"listing\.json: not a listing of shards \(TypeError: address is 7",
        ),
        (
            write_listing_text(
                '{"shards": [{"name": "../x", "split": "train", "rows": 1, "sha256": ""}]}'
            ),
            r"listing\.json: expected the shard train\.00000\.parquet, found '\.\./x'",
        ),
        (
            write_listing_text("[" * 100_000),
            r"listing\.json: cannot be read \(.*recursion",
        ),
        (
            write_listing_text(
                '{"shards": [{"name": "\\ud800.00000.parquet", "split": "\\ud800", "rows": 1, '
                '"sha256": ""}]}'
            ),
            r"listing\.json: not a listing of shards \(UnicodeEncodeError",
        ),
        (
            write_listing_text('{"shards": [], "address": "\\udfff"}'),
            r"listing\.json: not a listing of shards \(UnicodeEncodeError",
        ),
    ],
)
def test_what_is_not_as_listed_is_named(
    examples: Path, damage: Callable[[Path], None], message: str
) -> None:
    damage(examples / "train.00001.parquet")
    for read in (
        lambda: read_split(examples, "train"),
        lambda: list(read_batches(examples, "train")),
    ):
        with pytest.raises(DataError, match=rf"^data/examples/{message}.*; run `dvc repro -f ing"):
            read()


def test_a_shard_that_was_changed_reaches_no_training(examples: Path, tmp_path: Path) -> None:
    change_byte(examples / "train.00001.parquet")
    target = tmp_path / "aside"
    target.mkdir()
    with pytest.raises(DataError, match=r"^data/examples/train\.00001\.parquet: digest mismatch"):
        link_all_but_test(examples, target)


def test_a_training_gets_a_listing_without_the_test_split(examples: Path, tmp_path: Path) -> None:
    target = tmp_path / "aside"
    target.mkdir()
    link_all_but_test(examples, target)
    listed = [shard for shard in read_shards(examples) if shard["split"] != "test"]
    assert read_shards(target) == listed
    assert list_files(target) == sorted([LISTING, *(shard["name"] for shard in listed)])
    assert read_split(target, "train").equals(read_split(examples, "train"))
    with pytest.raises(DataError, match=r"aside/listing\.json: no shard of test"):
        read_split(target, "test")


def test_a_split_without_rows_has_its_columns(tmp_path: Path) -> None:
    empty = pa.table({"id": pa.array([], pa.string()), "label_set": pa.array([], pa.string())})
    write_split(tmp_path, "test", empty)
    assert read_split(tmp_path, "test").schema == empty.schema
    assert has_label_sets(tmp_path, "test")


def test_a_split_that_is_written_again_leaves_no_shard_of_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shard_writer, "SHARD_ROWS", ROWS)
    rows = pa.table({"id": [str(number) for number in range(20)]})
    for split in ("test", "train"):
        write_split(tmp_path, split, rows)
    write_split(tmp_path, "test", rows.slice(0, 2))
    names = [*(f"train.{number:05}.parquet" for number in range(4)), "test.00000.parquet"]
    assert [shard["name"] for shard in read_shards(tmp_path)] == names
    assert list_files(tmp_path) == sorted([LISTING, *names])
    assert read_split(tmp_path, "train").equals(rows)
