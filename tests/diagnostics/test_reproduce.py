"""A registered version is made again from its commit; what fails or differs is named."""

import json
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.checkouts import Checkout

from plumbline.contract import layout
from plumbline.contract.errors import PlumblineError
from plumbline.diagnostics import reproduce as reproduction
from plumbline.diagnostics.reproduce.comparison import Reproduction, compare_evidence
from plumbline.diagnostics.reproduce.subject import ReproductionSubject
from plumbline.process.files import write_json
from plumbline.registry.reader.stores import RegisteredVersion

END_TIMEOUT_S = 600.0


@pytest.fixture(scope="module")
def committed(line: Checkout) -> Checkout:
    """A checkout with version 1, the champion, whose commit holds all that it was made from."""
    line.replace("params.yaml", "candidates: [closed]", "candidates: []")
    line.commit("version 1")
    line.run("dvc", "repro")
    line.run("plumbline", "run")  # the final dvc.lock is tagged after DVC has ended
    line.commit("registered")
    return line


@pytest.fixture(scope="module")
def dirty(committed: Checkout) -> Checkout:
    """Version 2, compared with version 1, registered while the tree held more than the commit."""
    committed.replace("params.yaml", "noise: 0.1", "noise: 0.05")
    committed.run("dvc", "repro")
    assert json.loads((committed.path / layout.REGISTRATION).read_text())["version"] == "2"
    committed.run("plumbline", "run")
    return committed


def held(checkout: Checkout) -> list[tuple[str, int]]:
    """The files below mlruns/, with their sizes: all that registry and journal are.

    But for locks, which name the process that held them last.
    """
    files = [p for p in (checkout.path / "mlruns").rglob("*") if p.is_file()]
    return sorted((str(p), p.stat().st_size) for p in files if p.suffix != ".lock")


def journal(checkout: Checkout) -> str:
    return checkout.run("plumbline", "journal", "line", "--json").stdout


@pytest.mark.slow
def test_the_champion_comes_out_the_same_and_nothing_is_left(
    committed: Checkout, tmp_path: Path
) -> None:
    before, told = held(committed), journal(committed)
    done = committed.run("plumbline", "reproduce", TMPDIR=str(tmp_path))
    for stage in ("ingest", "validate", "train@closed", "train@gradient", "evaluate"):
        assert f"  {stage}\n" in done.stdout  # it ran: nothing came out of a cache
    for what in (
        "manifest",
        "examples",
        "params",
        "winner",
        "bundle",
        "closed",
        "gradient",
        "nothing",
    ):
        (row,) = [row for row in done.stdout.splitlines() if row.startswith(f"│ {what} ")]
        assert row.rstrip("│ ").endswith("yes"), row
    assert (
        "line version 1 is reproduced: the same data, the same weights, the same metrics"
        in done.stdout
    )
    assert (held(committed), journal(committed)) == (before, told)
    assert list(tmp_path.iterdir()) == []


def reproduce_from(
    commit: str, checkout: Checkout, monkeypatch: pytest.MonkeyPatch, **options: Any
) -> tuple[Reproduction, list[str]]:
    """Reproduce version 1 as if its evidence named another commit."""
    load = reproduction.load_subject
    monkeypatch.chdir(checkout.path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", checkout.store)
    monkeypatch.setattr(
        reproduction, "load_subject", lambda *given: replace(load(*given), commit=commit)
    )
    lines: list[str] = []
    settings = {"keep": None, "say": lines.append} | options
    return reproduction.reproduce("line", "1", **settings), lines


@pytest.mark.slow
def test_other_source_gives_another_model_and_all_that_differs_is_named(
    committed: Checkout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit has data with more noise than those of the version."""
    committed.run("git", "checkout", "-qb", "other", "HEAD~1")
    committed.replace(
        "src/tasks/line/data/__init__.py", "params.data.noise", "(3 * params.data.noise)"
    )
    committed.commit("other noise")
    other = committed.head
    committed.run("git", "checkout", "-q", "main")
    kept = tmp_path / "kept"
    result, _ = reproduce_from(other, committed, monkeypatch, keep=kept)
    assert result.summary == "line version 1 is not reproduced: bundle, closed differ"
    notes = {row.what: row.note for row in result.rows}
    assert "weights.json" in notes["bundle"]
    assert "test squared_error" in notes["closed"]
    assert json.loads((kept / layout.EVIDENCE).read_text())["winner"] == "closed"
    again = committed.run("plumbline", "reproduce", "line", "1", "--keep", str(kept), code=1)
    assert "is not an empty folder" in again.stderr


@pytest.mark.slow
def test_an_unknown_commit_is_told(committed: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PlumblineError, match=f"commit {'ab' * 20}, which is not in this clone"):
        reproduce_from("ab" * 20, committed, monkeypatch)


@pytest.mark.slow
def test_ctrl_c_leaves_nothing_behind(committed: Checkout, tmp_path: Path) -> None:
    started = start_reproduce(committed, tmp_path)
    started.send_signal(signal.SIGINT)
    said = started.communicate(timeout=600)[1]
    assert started.returncode not in (0, None)
    assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == []
    until = time.monotonic() + END_TIMEOUT_S
    while at_work_in(tmp_path) and time.monotonic() < until:
        time.sleep(0.1)
    assert at_work_in(tmp_path) == []


def start_reproduce(checkout: Checkout, system: Path) -> subprocess.Popen[str]:
    """Start `plumbline reproduce` and return once its clone trains."""
    started = subprocess.Popen(
        ["plumbline", "reproduce"],
        cwd=checkout.path,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**checkout.environment, "TMPDIR": str(system), "PYTHONUNBUFFERED": "1"},
    )
    assert started.stdout
    for line in started.stdout:
        if line.strip() == "train@gradient":
            break
    return started


def at_work_in(folder: Path) -> list[str]:
    """Processes whose working folder is below `folder`."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            where = str((process / "cwd").readlink())
        except OSError:
            continue
        found += [process.name] if where.startswith(str(folder)) else []
    return found


@pytest.mark.slow
def test_a_changed_tree_is_named_and_its_parameters_are_used(dirty: Checkout) -> None:
    before, told = held(dirty), journal(dirty)
    done = dirty.run("plumbline", "reproduce", "line", "2")
    assert "line version 2 was made from a working tree with uncommitted changes" in done.stdout
    assert "the registered one is used" in done.stdout
    assert "line version 2 is reproduced" in done.stdout
    assert (held(dirty), journal(dirty)) == (before, told)


def subject(evidence: dict) -> ReproductionSubject:
    registered = RegisteredVersion("line", "1", {}, "", None, None)
    return ReproductionSubject(registered, "c" * 40, False, evidence, Path("params.yaml"))


def evidence(**changes: object) -> dict:
    scores = {"test": {"error": 0.25}, "validation": {"error": 0.5}}
    digests = {"manifest": "m" * 64, "examples": "e" * 64, "params": "p" * 64, "bundle": "b" * 64}
    found = {
        "winner": "one",
        "metric": {"name": "error"},
        "digests": digests,
        "candidates": {"one": scores, "other": scores},
    }
    return found | changes


def compared(new: dict, folder: Path) -> Reproduction:
    write_json(folder / layout.EVIDENCE, new)
    return compare_evidence(subject(evidence()), folder)


def test_what_is_beside_the_winner_is_told_but_does_not_decide(tmp_path: Path) -> None:
    scores = {"test": {"error": 0.25}, "validation": {"error": 0.5}}
    other = {"test": {"error": 0.25 + 1e-9}, "validation": {"error": 0.5}}
    found = compared(evidence(candidates={"one": scores, "other": other}), tmp_path)
    assert found.same
    apart = {row.what: row.note for row in found.rows if not row.same}
    assert apart == {"other": "test error"}


def test_the_winner_s_metrics_are_compared_exactly(tmp_path: Path) -> None:
    scores = {"test": {"error": 0.25}, "validation": {"error": 0.5}}
    near = {"test": {"error": 0.25}, "validation": {"error": 0.5 + 1e-12}}
    found = compared(evidence(candidates={"one": near, "other": scores}), tmp_path)
    assert not found.same
    assert found.summary == "line version 1 is not reproduced: one differs"
