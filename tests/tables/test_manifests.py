"""What changed between two manifests is found, whatever it is, and nothing that did not."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from plumbline.contract.errors import DataError
from plumbline.tables import manifests
from plumbline.tables.manifest_file import Manifest


def manifest(*rows: tuple[str, str, str, str]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=["id", "split", "label", "digest"])
    return table.assign(length=table["digest"].str.len())


OLD = manifest(
    ("r1", "train", "a", "x1"),
    ("r2", "train", "a", "x2"),
    ("r3", "validation", "b", "x3"),
    ("r4", "test", "b", "x4"),
)


def compare_manifests(
    old: pd.DataFrame, new: pd.DataFrame, slices: Sequence[str] = ()
) -> dict[str, Any]:
    """Compare two manifests in files."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / "old.parquet", Path(folder) / "it's new.parquet"]
        for path, table in zip(paths, (old, new), strict=True):
            table.to_parquet(path, index=False)
        return manifests.compare_manifests(*map(Manifest, paths), slices)


def test_a_damaged_manifest_is_named_with_its_remedy(tmp_path: Path) -> None:
    whole, damaged = tmp_path / "whole.parquet", tmp_path / "damaged.parquet"
    OLD.to_parquet(whole, index=False)
    content = bytearray(whole.read_bytes())
    content[4:40] = bytes(36)  # the first column; the schema at the end is whole
    damaged.write_bytes(content)
    with pytest.raises(DataError, match=r"damaged\.parquet: cannot be (read|compared) .*; promote"):
        manifests.compare_manifests(Manifest(damaged, "promote another"), Manifest(whole))


def test_the_same_data_in_another_order_is_the_same() -> None:
    found = compare_manifests(OLD, OLD.iloc[::-1][["digest", "label", "length", "split", "id"]])
    assert found["same"]
    counts = found["splits"]["train"]
    assert (counts.pop("before"), counts.pop("after"), set(counts.values())) == (2, 2, {0})


PLANTS = {
    "added": ("train", {"r5": ("train", "c", "x5")}),
    "removed": ("test", {"r4": None}),
    "changed": ("train", {"r2": ("train", "a", "other")}),
    "relabelled": ("train", {"r2": ("train", "b", "x2")}),
    "moved_in": ("test", {"r3": ("test", "b", "x3")}),
    "moved_out": ("validation", {"r3": ("test", "b", "x3")}),
}


@pytest.mark.parametrize(
    ("old", "new", "num_changed"),
    [
        (["c1", "c2", "c3", "c4"], ["c1", "c2", "c3", "other"], 1),  # it reads the same
        (["c1", "c2", "c3", "c4"], ["c1", "c2", "c3", "c4"], 0),
        (None, ["c1", "c2", "c3", "other"], 0),  # an older plumbline did not write it
    ],
)
def test_texts_that_read_the_same_are_changed_where_their_bytes_are(
    old: list[str] | None, new: list[str], num_changed: int
) -> None:
    before = OLD if old is None else OLD.assign(content_digest=old)
    found = compare_manifests(before, OLD.assign(content_digest=new))
    assert found["same"] == (num_changed == 0)
    counts = found["splits"]["test"]
    assert (counts["changed"], counts["altered"]) == (num_changed, num_changed)


@pytest.mark.parametrize(
    ("column", "slices", "num_regrouped"),
    [
        ("channel", ["channel", "added"], 1),
        ("ID", ["ID"], 1),
        ("channel", ["label"], 0),
        ("ID", [], 0),
    ],
)
def test_rows_in_other_groups_are_counted_by_the_columns_of_slices(
    column: str, slices: list[str], num_regrouped: int
) -> None:
    before = OLD.assign(**{column: ["web", "web", "web", "web"]})
    now = OLD.assign(**{column: ["web", "web", "web", "phone"]}, added="x")
    found = compare_manifests(before, now, slices=slices)
    counts = found["splits"]["test"]
    assert (counts["regrouped"], counts["altered"]) == (num_regrouped, num_regrouped)
    assert found["same"] == (num_regrouped == 0)


@pytest.mark.parametrize("kind", PLANTS)
def test_every_kind_of_change_is_counted_in_its_split_alone(kind: str) -> None:
    split, edits = PLANTS[kind]
    rows = {row[0]: row[1:4] for row in OLD.itertuples(index=False, name=None)} | edits
    found = compare_manifests(OLD, manifest(*((key, *row) for key, row in rows.items() if row)))
    assert not found["same"]
    counted = {
        (name, key): number
        for name, counts in found["splits"].items()
        for key, number in counts.items()
        if number and key not in ("before", "after", "altered")
    }
    assert counted.pop((split, kind)) == 1
    assert {key for _, key in counted} <= {"moved_in", "moved_out"} - {kind}
    for counts in found["splits"].values():
        moved = counts["moved_in"] - counts["moved_out"]
        assert counts["after"] == counts["before"] + counts["added"] - counts["removed"] + moved


@pytest.mark.parametrize(
    ("edits", "altered"),
    [
        ({"r4": ("test", "c", "other")}, 1),  # another label and another content
        ({"r4": ("validation", "c", "other")}, 1),
        ({"r4": None}, 1),
        ({"r3": ("test", "b", "x3")}, 0),  # it was not in the test split
        ({"r3": ("test", "a", "x3")}, 1),  # nor is it as it was
        ({"r5": ("test", "a", "x5")}, 0),
    ],
)
def test_each_test_row_that_is_not_as_it_was_counts_once(
    edits: dict[str, tuple[str, str, str] | None], altered: int
) -> None:
    rows = {row[0]: row[1:4] for row in OLD.itertuples(index=False, name=None)} | edits
    new = manifest(*((key, *row) for key, row in rows.items() if row))
    counts = compare_manifests(OLD, new)["splits"]["test"]
    assert (counts["altered"], counts["before"]) == (altered, 1)


def test_the_test_rows_of_the_old_manifest_are_told_from_others() -> None:
    old = manifest(*((f"r{n}", "test", "aab"[n % 3], f"x{n}") for n in range(6)))
    now = manifest(
        ("new", "test", "a", "x9"),
        ("r5", "test", "c", "x5"),  # the class b is called c now
        ("r4", "test", "c", "x4"),  # this one was an a
        ("r1", "validation", "a", "x1"),
        ("s2", "test", "c", "x2"),  # its row moved
        ("r3", "test", "a", "edited"),
        ("r0", "test", "a", "x0"),
    )
    found = compare_manifests(old, now)
    assert found["renames"] == {}  # not of all
    assert found["test_rows"] == {"gone": 2, "relabelled": [1, 2, 3], "new": [0, 4]}
    found = compare_manifests(old, now[now["id"] != "r4"])
    assert found["renames"] == {"b": "c"}
    assert found["test_rows"] == {"gone": 3, "relabelled": [], "new": [0, 3]}
    same = compare_manifests(old, old.iloc[::-1])
    assert same["test_rows"] == {"gone": 0, "relabelled": [], "new": []}


def test_rows_that_only_got_other_numbers_did_not_change() -> None:
    shifted = manifest(
        ("r1", "train", "c", "new"),
        ("r2", "train", "a", "x1"),
        ("r3", "train", "a", "x2"),
        ("r4", "validation", "b", "x3"),
        ("r5", "test", "b", "x4"),
    )
    train = compare_manifests(OLD, shifted)["splits"]["train"]
    assert (train["added"], train["removed"], train["changed"], train["relabelled"]) == (1, 0, 0, 0)


def test_equal_contents_are_paired_one_to_one() -> None:
    old = manifest(("r1", "train", "a", "x"), ("r2", "train", "a", "x"))
    new = manifest(*(("s" + str(i), "train", "a", "x") for i in range(3)))
    train = compare_manifests(old, new)["splits"]["train"]
    assert (train["before"], train["after"], train["added"], train["removed"]) == (2, 3, 1, 0)


def test_a_class_that_got_another_name_is_told_from_labels_that_were_changed() -> None:
    old = pd.DataFrame(
        {"id": list("abcdef"), "digest": list("uvwxyz"), "split": "test", "label": list("mmmnno")}
    )

    def count(labels: str) -> tuple[int, int]:
        counts = compare_manifests(old, old.assign(label=list(labels)))
        test = counts["splits"]["test"]
        return test["relabelled"], test["renamed"]

    assert count("pppnno") == (3, 3)
    assert count("ppmnno") == (2, 0)  # not all of the class
    assert count("ooonno") == (3, 0)  # two classes became one
    assert count("nnnmmo") == (5, 5)  # two names exchanged
    exchanged = compare_manifests(old, old.assign(label=list("nnnmmo")))
    assert exchanged["renames"] == {"m": "n", "n": "m"}
    assert exchanged["splits"]["test"]["altered"] == 0
    assert compare_manifests(old, old)["renames"] == {}


def test_sets_of_labels_that_changed_got_no_other_name() -> None:
    sets = [f"a{number}|b" for number in range(4)]
    old = pd.DataFrame({"id": list("abcd"), "digest": list("uvwx"), "split": "test", "label": sets})
    old["label_set"] = [f'["a{number}", "b"]' for number in range(4)]
    others = [f"c|d{number}" for number in range(4)]
    lists = [f'["c", "d{number}"]' for number in range(4)]
    found = compare_manifests(old, old.assign(label=others, label_set=lists))
    assert (found["splits"]["test"]["relabelled"], found["splits"]["test"]["renamed"]) == (4, 0)
    assert found["renames"] == {}
