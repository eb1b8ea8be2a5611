"""What changed is found, whatever it is, and nothing is said to have changed that did not."""

import os
import subprocess
import tracemalloc
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from plumbline.contract.records import Scores
from plumbline.contract.task import Metric
from plumbline.evidence import changes, data_changes, sorted_rows

HIT = Metric("accuracy", higher_is_better=True, kind="binary")
ERROR = Metric("error", higher_is_better=False, kind="continuous")
BYTES_A_ROW = 40  # of two manifests, in memory


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
    old: pd.DataFrame, new: pd.DataFrame, num_rows: int = 2, slices: Sequence[str] = ()
) -> dict[str, Any]:
    """Compare two manifests that are read so many rows at a time."""
    keys = [
        data_changes.read_keys(
            pa.Table.from_pandas(table).to_batches(max_chunksize=num_rows), slices
        )
        for table in (old.reset_index(drop=True), new.reset_index(drop=True))
    ]
    return data_changes.compare_manifests(*keys)


def test_equal_params_have_no_changes() -> None:
    assert (
        changes.compare_params({"a": {"b": [1, 2]}, "c": {}}, {"c": {}, "a": {"b": [1, 2]}}) == []
    )


def test_params_are_named_by_dotted_key_in_order() -> None:
    old = {"seed": 7, "candidates": {"linear": {"rate": 0.1}}, "on": True}
    new = {"seed": 8, "candidates": {"linear": {"rate": 0.1, "decay": 0.0}}, "on": 1}
    assert changes.compare_params(old, new) == [
        {"key": "candidates.linear.decay", "old": None, "new": 0.0},
        {"key": "on", "old": True, "new": 1},
        {"key": "seed", "old": 7, "new": 8},
    ]


def test_a_section_that_became_empty_is_seen() -> None:
    assert changes.compare_params({"a": {"b": 1}}, {"a": {}}) == [
        {"key": "a", "old": None, "new": {}},
        {"key": "a.b", "old": 1, "new": None},
    ]


def test_the_same_data_in_another_order_is_the_same() -> None:
    found = compare_manifests(OLD, OLD.iloc[::-1][["digest", "label", "length", "split", "id"]])
    assert found["same"]
    assert found["classes"] == []
    assert found["splits"]["train"] == {
        "before": 2,
        "after": 2,
        "added": 0,
        "removed": 0,
        "changed": 0,
        "regrouped": 0,
        "relabelled": 0,
        "renamed": 0,
        "moved_in": 0,
        "moved_out": 0,
        "altered": 0,
    }


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
    assert found["same"] == (num_changed == 0 and old is not None)
    counts = found["splits"]["test"]
    assert (counts["changed"], counts["altered"]) == (num_changed, num_changed)


@pytest.mark.parametrize(("slices", "num_regrouped"), [(["channel"], 1), (["label"], 0), ([], 0)])
def test_rows_in_other_groups_are_counted_by_the_columns_of_slices(
    slices: list[str], num_regrouped: int
) -> None:
    before = OLD.assign(channel=["web", "web", "web", "web"])
    now = OLD.assign(channel=["web", "web", "web", "phone"])
    counts = compare_manifests(before, now, slices=slices)["splits"]["test"]
    assert (counts["regrouped"], counts["altered"]) == (num_regrouped, num_regrouped)


def test_a_column_that_the_champion_did_not_have_is_not_compared() -> None:
    now = OLD.assign(channel=["web", "web", "web", "phone"])
    found = compare_manifests(OLD, now, slices=["channel"])
    assert found["splits"]["test"]["regrouped"] == 0


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


def test_a_changed_column_that_nothing_counts_is_still_a_change() -> None:
    assert not compare_manifests(OLD.assign(channel="mail"), OLD.assign(channel="chat"))["same"]


def test_the_classes_that_changed_most_stand_first() -> None:
    old = manifest(*((f"r{i}", "train", "abc"[i % 3], f"x{i}") for i in range(9)))
    new = manifest(*((f"r{i}", "train", "abbd"[i % 4], f"x{i}") for i in range(9)))
    assert compare_manifests(old, new)["classes"] == [
        {"label": "c", "before": 3, "after": 0},
        {"label": "d", "before": 0, "after": 2},
        {"label": "b", "before": 3, "after": 4},
    ]


def test_everything_new_and_everything_gone() -> None:
    other = OLD.assign(id=[f"s{i}" for i in range(4)], digest=[f"y{i}" for i in range(4)])
    train = compare_manifests(OLD, other)["splits"]["train"]
    assert (train["added"], train["removed"]) == (2, 2)
    assert compare_manifests(OLD.iloc[:0], OLD)["splits"]["test"]["added"] == 1


def draw_manifests() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Draw two manifests, in which ids and digests occur again, and rows changed in every way."""
    draw = np.random.default_rng(0)
    old = manifest(
        *zip(
            [f"r{number}" for number in draw.integers(0, 60, 80)],
            draw.choice(["train", "validation", "test"], 80),
            draw.choice(list("abc"), 80),
            [f"x{number}" for number in draw.integers(0, 60, 80)],
            strict=True,
        )
    )
    new = pd.concat([old.sample(frac=0.8, random_state=0), old.sample(9, random_state=1)])
    new = new.reset_index(drop=True).replace({"label": {"c": "d"}})
    for column, values in (("id", ["r3", "new"]), ("digest", ["x3", "new"]), ("label", ["a", "e"])):
        new.loc[draw.integers(0, len(new), 8), column] = draw.choice(values, 8)
    new.loc[draw.integers(0, len(new), 8), "split"] = "train"
    return old, new


def test_however_few_rows_are_compared_at_once_the_same_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    old, new = draw_manifests()
    at_once = compare_manifests(old, new)
    counts = at_once["splits"]["train"]
    assert all(counts[key] for key in ("added", "removed", "changed", "relabelled", "moved_in"))
    monkeypatch.setattr(sorted_rows, "MAX_ROWS", 16)
    assert compare_manifests(old, new) == at_once
    assert compare_manifests(old, old.sample(frac=1, random_state=0))["same"]


def test_one_row_that_kept_its_label_is_enough_for_a_class_to_have_no_new_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sorted_rows, "MAX_ROWS", 8)  # so that they are compared apart
    old = manifest(*((f"r{row}", "test", "a", f"x{row}") for row in range(20)))
    renamed = old.assign(label="b")
    assert compare_manifests(old, renamed)["renames"] == {"a": "b"}
    edited = renamed.assign(digest=[f"y{row}" for row in range(20)])
    assert compare_manifests(old, edited)["renames"] == {"a": "b"}
    for table in (renamed, edited):
        found = compare_manifests(old, pd.concat([table[:19], old[19:]]))
        assert (found["renames"], found["splits"]["test"]["relabelled"]) == ({}, 19)


def test_memory_keeps_little_of_each_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorted_rows, "MAX_ROWS", 500)

    def generate(num_rows: int, text: str) -> Iterator[pa.RecordBatch]:
        for start in range(0, num_rows, 500):
            rows = [str(row) for row in range(start, start + 500)]
            columns = {"split": ["train"] * 500, "label": ["a"] * 500}
            digests = [text + row for row in rows]
            yield pa.RecordBatch.from_pydict({"id": rows, "digest": digests, **columns})

    def measure_peak(num_rows: int) -> int:
        tracemalloc.start()
        try:
            old, new = (data_changes.read_keys(generate(num_rows, text)) for text in "xy")
            found = data_changes.compare_manifests(old, new)
            assert found["splits"]["train"]["changed"] == num_rows
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    few, many = measure_peak(1_000), measure_peak(4_000)
    assert (many - few) / 3_000 < BYTES_A_ROW


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    git("init", "-q", "-b", "main")
    git("config", "user.name", "test")
    git("config", "user.email", "test@example.com")
    (tmp_path / "src").mkdir()
    (tmp_path / "src/model.py").write_text("one\ntwo\n")
    (tmp_path / "params.yaml").write_text("seed: 1\n")
    (tmp_path / "requirements.lock").write_text("a==1\n")
    commit("start")
    return tmp_path


def git(*arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], capture_output=True, text=True, check=True
    ).stdout.strip()


def commit(message: str) -> str:
    git("add", "-A")
    git("commit", "-qm", message)
    return git("rev-parse", "HEAD")


def test_code_is_what_can_change_a_result(repository: Path) -> None:
    first = git("rev-parse", "HEAD")
    (repository / "src/model.py").write_text("one\nthree\nfour\n")
    (repository / "src/täg name.bin").write_bytes(b"\0\1\2")
    (repository / "requirements.lock").write_text("a==2\n")
    (repository / "params.yaml").write_text("seed: 2\n")
    (repository / "README.md").write_text("prose\n")
    commit("second")
    (repository / "README.md").write_text("more prose\n")
    last = commit("third")
    found = changes.compare_code(first, last)
    assert (found["from"], found["to"], found["commits"]) == (first, last, 2)
    assert found["files"] == [
        {"path": "requirements.lock", "added": 1, "removed": 1},
        {"path": "src/model.py", "added": 2, "removed": 1},
        {"path": "src/täg name.bin", "added": None, "removed": None},
    ]
    assert changes.compare_code(last, last)["files"] == []


def test_a_dirty_tree_is_said_and_what_is_in_it_is_counted(repository: Path) -> None:
    head = git("rev-parse", "HEAD")
    (repository / "src/model.py").write_text("one\n")
    (repository / "src/extra.py").write_text("a\nb\nc\n")
    found = changes.compare_code(head, head, old_dirty=True, new_dirty=True)
    assert found["from_dirty"]
    assert found["to_dirty"]
    assert found["files"] == [
        {"path": "src/model.py", "added": 0, "removed": 1},
        {"path": "src/extra.py", "added": 3, "removed": 0},
    ]


def test_a_name_that_is_not_utf_8_is_shown_escaped(repository: Path) -> None:
    tracked = Path(os.fsdecode(b"src/old\xe9.py"))
    tracked.write_text("one\n")
    head = commit("tracked")
    tracked.write_text("one\ntwo\n")
    Path(os.fsdecode(b"src/bad\xff.py")).write_text("a\nb\n")
    found = changes.compare_code(head, head, new_dirty=True)
    assert found["files"] == [
        {"path": "src/old\\xe9.py", "added": 1, "removed": 0},
        {"path": "src/bad\\xff.py", "added": 2, "removed": 0},
    ]


def test_new_links_and_nested_repositories_are_one_line_each(repository: Path) -> None:
    head = git("rev-parse", "HEAD")
    git("init", "-q", "src/vendor")
    (repository / "src/dangling.py").symlink_to("nowhere.py")
    (repository / "src/linked").symlink_to("vendor")
    found = changes.compare_code(head, head, new_dirty=True)
    assert {file["path"]: file["added"] for file in found["files"]} == {
        "src/dangling.py": 1,
        "src/linked": 1,
        "src/vendor/": 1,
    }


@pytest.mark.parametrize("unknown", ["ab" * 20, "--output=x", ""])
def test_an_unknown_commit_is_said(unknown: str, repository: Path) -> None:
    found = changes.compare_code(unknown, git("rev-parse", "HEAD"))
    assert found["unknown"] == (
        f"commit {unknown} is not in this clone" if unknown else "no commit is on record"
    )
    assert "files" not in found
    assert not (repository / "x").exists()


def test_outside_a_repository_every_commit_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert "unknown" in changes.compare_code("HEAD", "HEAD")


def scores(values: list[float], name: str = "accuracy", **columns: list[str]) -> Scores:
    texts = {key: np.array(column, dtype=object) for key, column in columns.items()}
    return Scores({name: np.array(values), "nll": np.array(values)} | texts, {})


def test_examples_that_only_one_got_right() -> None:
    ours = scores([1.0, 1.0, 0.0, 0.0], actual=["a", "b", "c", "d"], predicted=["a", "b", "x", "y"])
    theirs = scores(
        [1.0, 0.0, 1.0, 0.0], actual=["a", "b", "c", "d"], predicted=["a", "z", "c", "y"]
    )
    found = changes.find_flips(
        ["r1", "r2", "r3", "r4"], {"text": ["p", "q", "r", "s"]}, ours, theirs, HIT
    )
    assert (found["num_won"], found["num_lost"]) == (1, 1)
    assert found["won"] == [
        {
            "id": "r2",
            "input": "q",
            "actual": "b",
            "ours_predicted": "b",
            "theirs_predicted": "z",
            "ours": 1.0,
            "theirs": 0.0,
        }
    ]
    assert found["lost"][0]["id"] == "r3"


def test_columns_that_only_one_has_are_left_out() -> None:
    found = changes.find_flips(
        ["r1"], {"text": ["p"]}, scores([1.0], predicted=["a"]), scores([0.0]), HIT
    )
    assert set(found["won"][0]) == {"id", "input", "ours", "theirs"}


def test_where_a_model_leaves_rows_to_people_each_row_says_who_answered() -> None:
    def answer(hits: list[float], answered: list[float]) -> Scores:
        return Scores({"accuracy": np.array(hits), "answered": np.array(answered)}, {})

    found = changes.find_flips(
        ["r1"], {"text": ["p"]}, answer([1.0], [1.0]), answer([0.0], [0.0]), HIT
    )
    assert (found["won"][0]["ours_answered"], found["won"][0]["theirs_answered"]) == (True, False)
    found = changes.find_flips(
        ["r1"], {"text": ["p"]}, answer([1.0], [1.0]), answer([0.0], [1.0]), HIT
    )
    assert "ours_answered" not in found["won"][0]


def test_all_are_counted_and_the_first_are_listed() -> None:
    found = changes.find_flips(
        list(range(50)), {"text": ["t"] * 50}, scores([1.0] * 50), scores([0.0] * 50), HIT, limit=3
    )
    assert (found["num_won"], [row["id"] for row in found["won"]]) == (50, ["0", "1", "2"])
    assert (found["num_lost"], found["lost"]) == (0, [])


def test_the_largest_gains_and_losses_of_a_continuous_score() -> None:
    ours, theirs = scores([0.1, 5.0, 2.0, 1.0], "error"), scores([0.2, 1.0, 9.0, 1.0], "error")
    found = changes.find_flips(
        ["a", "b", "c", "d"], {"x": [0.5, 1.5, 2.5, 3.5], "y": list("klmn")}, ours, theirs, ERROR
    )
    assert [row["id"] for row in found["won"]] == ["c", "a"]  # less error is a gain
    assert [row["id"] for row in found["lost"]] == ["b"]
    assert found["won"][0]["input"] == "x: 2.5, y: m"
    assert (found["won"][0]["ours"], found["won"][0]["theirs"]) == (2.0, 9.0)


def test_long_inputs_are_cut() -> None:
    found = changes.find_flips(["a"], {"text": ["x" * 10_000]}, scores([1.0]), scores([0.0]), HIT)
    assert len(found["won"][0]["input"]) == 300
    assert found["won"][0]["input"].endswith("…")


def test_rows_that_are_not_equally_many_are_an_error() -> None:
    with pytest.raises(ValueError, match=r"numbers of rows to compare differ: \[1, 2\]"):
        changes.find_flips(["a"], {"text": ["x"]}, scores([1.0, 0.0]), scores([0.0, 1.0]), HIT)


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
