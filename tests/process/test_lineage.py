"""What a result came from is told as it is, and where git says nothing, nothing good is assumed."""

import logging
import os
import subprocess
from pathlib import Path

import pytest

from plumbline.process.lineage import collect_lineage


@pytest.fixture
def clone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for variable in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(variable)
    (folder / "params.yaml").write_text("seed: 1\n")
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "one"]):
        subprocess.run(["git", *command], check=True)
    return folder


def test_whether_an_input_was_changed(clone: Path) -> None:
    facts = collect_lineage()
    assert len(facts["git_commit"]) == 40
    assert facts["git_dirty"] == "false"
    (clone / "dvc.lock").write_text("written by plumbline itself")
    assert collect_lineage()["git_dirty"] == "false"
    (clone / "params.yaml").write_text("seed: 2\n")
    assert collect_lineage()["git_dirty"] == "true"


def test_what_git_does_not_tell_may_be_changed(clone: Path) -> None:
    (clone / ".git/index").write_bytes(b"not an index")
    assert collect_lineage()["git_dirty"] == "true"


def test_outside_a_repository_there_is_no_commit(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(folder.parent))
    assert "git_commit" not in collect_lineage()


def test_a_repository_of_another_owner_is_named_with_the_remedy_of_git(
    clone: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")  # git's own switch for its tests
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    with caplog.at_level(logging.WARNING):
        assert "git_commit" not in collect_lineage()
        collect_lineage()
    [record] = caplog.records
    assert f"git config --global --add safe.directory {clone}" in record.message
