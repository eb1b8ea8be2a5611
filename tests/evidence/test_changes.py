"""What changed is found, whatever it is, and nothing is said to have changed that did not."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from plumbline.contract.records import Scores
from plumbline.contract.task import Metric
from plumbline.evidence import changes

HIT = Metric("accuracy", higher_is_better=True, kind="binary")
ERROR = Metric("error", higher_is_better=False, kind="continuous")


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


def compare_code(old: str, new: str, old_dirty: str = "false", new_dirty: str = "false") -> dict:
    before = {"git_commit": old, "git_dirty": old_dirty}
    return changes.compare_code(before, {"git_commit": new, "git_dirty": new_dirty})


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
    found = compare_code(first, last)
    assert (found["from"], found["to"], found["commits"]) == (first, last, 2)
    assert found["files"] == ["requirements.lock", "src/model.py", "src/täg name.bin"]
    assert compare_code(last, last)["files"] == []


def test_a_dirty_tree_is_said_and_what_is_in_it_is_listed(repository: Path) -> None:
    head = git("rev-parse", "HEAD")
    (repository / "src/model.py").write_text("one\n")
    (repository / "src/extra.py").write_text("a\nb\nc\n")
    found = compare_code(head, head, old_dirty="true", new_dirty="true")
    assert found["from_dirty"]
    assert found["to_dirty"]
    assert found["files"] == ["src/model.py", "src/extra.py"]


def test_a_name_that_is_not_utf_8_is_shown_escaped(repository: Path) -> None:
    tracked = Path(os.fsdecode(b"src/old\xe9.py"))
    tracked.write_text("one\n")
    head = commit("tracked")
    tracked.write_text("one\ntwo\n")
    Path(os.fsdecode(b"src/bad\xff.py")).write_text("a\nb\n")
    found = compare_code(head, head, new_dirty="true")
    assert found["files"] == ["src/old\\xe9.py", "src/bad\\xff.py"]


@pytest.mark.parametrize("unknown", ["ab" * 20, "--output=x", ""])
def test_an_unknown_commit_is_said(unknown: str, repository: Path) -> None:
    found = compare_code(unknown, git("rev-parse", "HEAD"))
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
    assert "unknown" in compare_code("HEAD", "HEAD")


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
