"""Two branches that both trained: git merges their dvc.lock stage by stage, with our driver."""

import re
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from tests.support.checkouts import ROOT, Checkout, make_checkout

BASE = {"ingest": "1", "train@linear": "1", "train@minilm": "1", "evaluate": "1"}


@pytest.fixture
def merging(tmp_path: Path) -> Checkout:
    """A checkout with the merge driver that `make setup` configures, in a path with a blank."""
    made = make_checkout(tmp_path / "my models")
    add_environment(made.path)
    makefile = (ROOT / "Makefile").read_text()
    (command,) = re.findall(r"git config merge\.dvc-lock\.driver .*", makefile)
    made.run("sh", "-c", command.replace("$$", "$").replace("$(BIN)", ".venv/bin"))
    commit(made, BASE)
    return made


def add_environment(folder: Path) -> None:
    """Add the Python that the driver starts."""
    program = folder / ".venv/bin/python"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    program.chmod(0o755)


def commit(made: Checkout, stages: dict[str, str]) -> None:
    """A commit whose dvc.lock holds these stages, each with the digest of its output."""
    text = "".join(
        f"  {name}:\n    cmd: run {name}\n    outs:\n    - path: {name}\n      md5: d{digest}\n"
        for name, digest in stages.items()
    )
    (made.path / "dvc.lock").write_text(f"schema: '2.0'\nstages:\n{text}")
    made.commit("trained")


def branches(made: Checkout, ours: dict[str, str], theirs: dict[str, str]) -> None:
    made.run("git", "switch", "-qc", "theirs")
    commit(made, theirs)
    made.run("git", "switch", "-q", "main")
    commit(made, ours)


def digests(made: Checkout) -> dict[str, str]:
    found = YAML(typ="safe").load((made.path / "dvc.lock").read_text())
    assert found["schema"] == "2.0"
    return {name: stage["outs"][0]["md5"][1:] for name, stage in found["stages"].items()}


def test_each_stage_is_taken_from_the_side_that_changed_it(merging: Checkout) -> None:
    theirs = {name: digest for name, digest in BASE.items() if name != "evaluate"} | {
        "train@minilm": "3",
        "new": "4",
    }
    branches(merging, BASE | {"train@linear": "2"}, theirs)
    merging.run("git", "merge", "-q", "theirs")
    assert digests(merging) == {"ingest": "1", "train@linear": "2", "train@minilm": "3", "new": "4"}


def test_what_both_changed_is_left_to_dvc(merging: Checkout) -> None:
    branches(
        merging,
        BASE | {"train@linear": "2", "evaluate": "2"},
        BASE | {"train@linear": "3", "evaluate": "2"},
    )
    said = merging.run("git", "merge", "-q", "theirs")
    assert "train@linear" in said.stdout + said.stderr
    assert digests(merging) == {"ingest": "1", "train@minilm": "1", "evaluate": "2"}
