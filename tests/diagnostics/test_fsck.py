"""Faults in a real checkout: each is named with its remedy, hides no other, and can be repaired."""

import json
import os
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pytest
from ruamel.yaml import YAML
from tests.support.checkouts import ROOT, Checkout
from tests.support.damage import find_object, flip, list_outputs
from tests.support.racing import make_first_champion, record_registration, record_verdict

from plumbline.contract import layout
from plumbline.diagnostics.fsck.recorded_outputs import hash_output
from plumbline.evidence import document
from plumbline.process.files import digest_path, read_json, write_json
from plumbline.registry import journal_head, model_versions, promotion
from plumbline.registry.reader import addresses
from plumbline.tracking.processes import identify_process

DEAD = 2**22 + 1  # no kernel gives out such a pid
# MLflow, in this process, warns about its own libraries.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def ran(line: Checkout) -> Checkout:
    """The line's checkout after one run, all committed; version 1 is champion."""
    line.run("dvc", "repro")
    line.run("git", "add", "-A")
    line.run("git", "commit", "-qm", "first")
    return line


@pytest.fixture
def clean(ran: Checkout, monkeypatch: pytest.MonkeyPatch) -> Iterator[Checkout]:
    """The same as the cwd of this process; a test leaves nothing planted."""
    monkeypatch.chdir(ran.path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{ran.path}/mlruns/mlflow.db")
    yield ran
    ran.run("plumbline", "fsck")


def faults(checkout: Checkout, code: int = 1, **changes: str) -> str:
    """What fsck says is not well, each with its remedy."""
    done = checkout.run("plumbline", "fsck", code=code, **changes)
    assert "Traceback" not in done.stderr
    lines = done.stdout.splitlines()
    bad = [n for n, text in enumerate(lines) if not text.startswith(("ok", " "))]
    assert all(lines[n + 1].startswith("       -> ") for n in bad), done.stdout
    return "\n".join(f"{lines[n]} {lines[n + 1].strip()}" for n in bad)


def select(said: str, *checks: str) -> list[str]:
    """The lines of some checks alone."""
    return [line for line in said.splitlines() if line[5:].startswith(checks)]


def cached(checkout: Checkout, path: str) -> Path:
    """The object of an output in the DVC cache."""
    lock = YAML(typ="safe").load((checkout.path / "dvc.lock").read_text())
    (found,) = [
        out["md5"]
        for stage in lock["stages"].values()
        for out in stage["outs"]
        if out["path"] == path
    ]
    return checkout.path / ".dvc/cache/files/md5" / found[:2] / found[2:]


def append(path: Path, text: str = "x") -> None:
    path.chmod(0o644)
    with path.open("a") as file:
        file.write(text)


def second_version(client: Any) -> str:
    """One more version of the same files."""
    one = client.get_model_version("line", "1")
    return str(
        client.create_model_version(
            "line", one.source, one.run_id, one.tags, model_id=one.model_id
        ).version
    )


def register(client: Any, version: str) -> None:
    """Let the journal say what `register` says of a version."""
    tags = client.get_model_version("line", version).tags
    digests = (tags[addresses.BUNDLE_TAG], tags[addresses.EVIDENCE_TAG])
    record_registration(version, *digests)


def test_all_is_well(clean: Checkout) -> None:
    said = clean.run("plumbline", "fsck").stdout
    for what in (
        "outputs",
        "registration",
        "versions",
        "runs",
        "journal",
        "champion",
        "champion.json",
        "bundles",
        "evidence",
    ):
        assert f"ok   {what}: " in said
    assert len(said.splitlines()) == 9


def test_a_fresh_clone_is_well_and_looking_makes_no_registry(
    clean: Checkout, tmp_path: Path
) -> None:
    clean.run("git", "clone", "-q", str(clean.path), str(tmp_path / "clone"))
    clone = Checkout(tmp_path / "clone")
    said = clone.run("plumbline", "fsck").stdout
    assert "as in a fresh clone" in said
    assert "nothing was registered here yet" in said
    assert not (clone.path / "mlruns/mlflow.db").exists()


def test_outputs_and_cache(clean: Checkout) -> None:
    append(clean.path / "reports/golden.json")
    shutil.rmtree(clean.path / "models/nothing")
    append(clean.path / "reports/metrics.json")
    append(cached(clean, "reports/validation.json"))
    listing = cached(clean, "models/closed")
    (weights,) = [
        item["md5"] for item in json.loads(listing.read_text()) if item["relpath"] == "weights.json"
    ]
    append(listing.parent.parent / weights[:2] / weights[2:])
    cached(clean, "models/gradient").unlink()
    said = faults(clean)
    assert len(select(said, "outputs", "cache")) == 6
    assert "warn evidence: reports/golden.json is not what the evidence is about ->" in said
    assert (
        "reports/golden.json differs from dvc.lock -> `rm -rf reports/golden.json && "
        "dvc checkout --force reports/golden.json`" in said
    )
    assert "models/nothing is missing here -> `dvc checkout --force models/nothing`" in said
    assert (
        "reports/metrics.json differs from dvc.lock -> `git checkout reports/metrics.json`" in said
    )
    assert (
        "the object of reports/validation.json is damaged in the cache -> `rm -f "
        ".dvc/cache/files/md5/" in said
    )
    assert "the object of models/closed/weights.json is damaged in the cache -> `rm -f" in said
    assert (
        "the object of models/gradient is not in the cache -> `dvc commit --force train@gradient`"
        in said
    )
    clean.run("dvc", "checkout", "--force", "reports/golden.json", "models/nothing")
    clean.run("git", "checkout", "reports/metrics.json")
    for path in [text.split("`")[0] for text in said.split("`rm -f ")[1:]]:
        (clean.path / path).unlink()
    for stage in ("validate", "train@closed", "train@gradient"):
        clean.run("dvc", "commit", "--force", stage)


@pytest.mark.parametrize("place", ["here", "cache", "both"])
@pytest.mark.parametrize("name", ["models/closed/weights.json", "data/manifest.parquet"])
def test_a_flipped_bit_is_named_and_its_remedy_restores_the_file(
    clean: Checkout, name: str, place: str
) -> None:
    before = list_outputs(clean.path)
    damaged = find_object(clean.path, name)
    if place != "cache":
        flip(clean.path / name)
    if place != "here":
        flip(damaged)
    said = select(faults(clean), "outputs", "cache")
    titles = {"here": [f"{name} differs"], "cache": [f"the object of {name} is damaged"]}
    wanted = titles["here"] + titles["cache"] if place == "both" else titles[place]
    assert len(said) == len(wanted)
    for line, title in zip(said, wanted, strict=True):
        assert title in line
    commands = said[-1].split("`")[1::2]
    for command in commands[:1] if place == "here" else commands:
        if not command.startswith("dvc pull"):
            clean.run("bash", "-c", command)
    assert list_outputs(clean.path) == before
    assert hash_output(damaged) == damaged.parent.name + damaged.name


def test_a_remedy_takes_the_name_of_a_file_as_it_is(clean: Checkout) -> None:
    odd = clean.path / "models/closed/a b $(touch made)"
    odd.write_text("x")
    (said,) = select(faults(clean), "outputs")
    assert f"{odd.relative_to(clean.path)} differs from dvc.lock" in said
    clean.run("bash", "-c", said.split("`")[1])
    assert not odd.exists()
    assert not (clean.path / "made").exists()


def test_an_output_that_cannot_be_read_hides_no_other(clean: Checkout) -> None:
    link = clean.path / "models/closed/notes"
    link.symlink_to("nothing")
    append(clean.path / "reports/metrics.json")
    damaged = cached(clean, "reports/validation.json")
    damaged.rename(damaged.with_name("kept"))
    damaged.mkdir()
    said = faults(clean)
    assert (
        "FAIL outputs: models/closed cannot be read: models/closed/notes: no such file or "
        "directory (ENOENT) -> `dvc repro --force --single-item train@closed`" in said
    )
    assert "reports/metrics.json differs from dvc.lock -> `git checkout" in said
    assert "FAIL cache: the object of reports/validation.json cannot be read (" in said
    link.unlink()
    damaged.rmdir()
    damaged.with_name("kept").rename(damaged)
    clean.run("git", "checkout", "reports/metrics.json")


def test_a_cut_or_damaged_lock(clean: Checkout) -> None:
    lock = clean.path / "dvc.lock"
    kept = lock.read_bytes()
    lock.write_bytes(kept[: kept.index(b"\n  evaluate:") + 1])
    assert (
        "reports/evidence.json exists, but dvc.lock does not name it -> `git checkout dvc.lock`"
        in faults(clean)
    )
    lock.write_bytes(b"<<<<<<< HEAD\n" + kept)
    assert "FAIL outputs: DVC cannot read its files" in faults(clean)
    clean.run("git", "checkout", "dvc.lock")


def keep(*paths: Path) -> dict[Path, bytes]:
    """The bytes of files, of which `restore` gives back each."""
    return {path: path.read_bytes() for path in paths}


def restore(kept: dict[Path, bytes]) -> None:
    for path, content in kept.items():
        path.unlink(missing_ok=True)
        path.write_bytes(content)


def replace_json(path: Path, **values: Any) -> None:
    """Write other values into a file that may be a link of DVC's, or read-only."""
    content = json.loads(path.read_text()) | values
    path.unlink()
    write_json(path, content)


def test_the_record_of_a_refusal_is_a_warning(clean: Checkout) -> None:
    kept = keep(layout.REGISTRATION, layout.EVIDENCE)
    replace_json(layout.EVIDENCE, verdict="refuse")
    refused = {"version": None, "verdict": "refuse", "evidence": digest_path(layout.EVIDENCE)}
    replace_json(layout.REGISTRATION, **refused)
    said = faults(clean)
    assert (
        "warn outputs: reports/registration.json is the record of a refusal, not of the run in "
        "dvc.lock -> nothing, if `register` refused" in said
    )
    assert (
        "FAIL registration: reports/registration.json says that line was refused; the journal "
        "does not -> `dvc repro" in said
    )
    digest = digest_path(layout.EVIDENCE)
    record_verdict("refuse", "", "b", digest, "a test")
    assert "FAIL registration" not in faults(clean)
    restore(kept)


def test_a_registration_without_its_version(clean: Checkout) -> None:
    kept = keep(layout.REGISTRATION)
    replace_json(layout.REGISTRATION, version=None)
    said = faults(clean)
    assert "FAIL outputs: reports/registration.json differs from dvc.lock" in said
    assert (
        "FAIL registration: reports/registration.json says that nothing was registered; the "
        "registry has line version 1 with this evidence" in said
    )
    restore(kept)


def test_a_rejection_that_no_check_gives(clean: Checkout) -> None:
    kept = keep(layout.VALIDATION, layout.VALIDATION_PAGE)
    checks = json.loads(kept[layout.VALIDATION])["checks"]
    replace_json(layout.VALIDATION, accepted=False, checks=[])
    layout.VALIDATION_PAGE.unlink()
    layout.VALIDATION_PAGE.write_text("any")
    said = faults(clean)
    assert "FAIL outputs: reports/validation.json differs from dvc.lock" in said
    assert "FAIL outputs: reports/validation.html differs from dvc.lock" in said
    checks[0] |= {"severity": "blocking", "passed": False}
    replace_json(layout.VALIDATION, checks=checks)
    said = faults(clean, code=0)
    for name in (layout.VALIDATION, layout.VALIDATION_PAGE):
        assert f"warn outputs: {name} is the record of a refusal" in said
    restore(kept)


def test_a_lock_that_is_gone(clean: Checkout) -> None:
    (clean.path / "dvc.lock").unlink()
    said = faults(clean)
    assert "FAIL outputs: no dvc.lock, so nothing says what these" in said
    assert "warn registration: no dvc.lock here, and the registry has line version 1" in said
    clean.run("git", "checkout", "dvc.lock")


def test_forged_evidence_and_a_broken_bundle_that_dvc_recorded(clean: Checkout) -> None:
    kept = keep(layout.EVIDENCE, layout.METRICS)
    candidates = json.loads(kept[layout.EVIDENCE])["candidates"]
    candidates["closed"]["test"]["squared_error"] = 0.0001
    replace_json(layout.EVIDENCE, candidates=candidates)
    forged = json.loads(layout.EVIDENCE.read_text())
    del forged["seal"]
    replace_json(layout.EVIDENCE, **document.seal_evidence(forged))
    append(clean.path / "models/closed/weights.json", " ")
    clean.run("dvc", "commit", "--force")
    said = faults(clean)
    assert (
        "FAIL bundles: models/closed/weights.json: changed since the bundle was sealed "
        "-> `dvc repro --force --single-item train@closed`" in said
    )
    edited = "asked again, from the same answers and data follows another candidates"
    assert f"FAIL evidence: reports/evidence.json: {edited}" in said
    for command in ("report", "verdict"):
        done = clean.run("plumbline", command, code=1)
        assert edited in done.stderr
        assert "0.0001 " not in done.stdout
    clean.run("git", "checkout", "dvc.lock")
    restore(kept)
    clean.run("dvc", "checkout", "--force")


def test_params_that_changed_since_are_a_warning(clean: Checkout) -> None:
    clean.replace("params.yaml", "max_abs_x: 1.0", "max_abs_x: 0.5")
    reason = "params.yaml differs from the params of the evaluation in"
    assert f"warn evidence: {reason}" in faults(clean, code=0)
    assert f"not judged again: {reason}" in clean.run("plumbline", "report").stdout
    clean.run("git", "checkout", "params.yaml")


def test_versions_and_runs(clean: Checkout) -> None:
    client = model_versions.connect_registry()
    one = client.get_model_version("line", "1")
    evidence = (
        Path(unquote(urlparse(client.get_run(one.run_id).info.artifact_uri).path)) / "evidence.json"
    )
    (weights,) = (clean.path / "mlruns/artifacts/models").rglob("weights.json")
    kept = evidence.read_bytes(), weights.read_bytes(), layout.REGISTRATION.read_bytes()
    append(evidence, " ")
    append(weights, " ")
    write_json(layout.REGISTRATION, json.loads(kept[2]) | {"version": "9"})
    client.set_model_version_tag("line", "1", "plumbline.git_commit", "0" * 40)
    client.delete_run(one.run_id)
    orphan = client.create_run(
        one_experiment := client.get_run(one.run_id).info.experiment_id,
        run_name="register closed", tags={addresses.BUNDLE_TAG: "b"},
    )  # fmt: skip
    lost = {"host": socket.gethostname(), "plumbline.process": f"{DEAD} 1 0"}
    dead, unknown, elsewhere = (
        client.create_run(one_experiment, run_name="train closed", tags=lost | folder)
        for folder in (
            {"plumbline.folder": str(clean.path)},
            {},
            {"plumbline.folder": "/another/checkout"},
        )
    )
    alive = client.create_run(
        one_experiment,
        run_name="train closed",
        tags={"host": socket.gethostname(), "plumbline.process": identify_process(os.getpid())},
    )
    client.create_model_version("line", one.source, one.run_id)  # as MLflow's own UI does it
    said = faults(clean)
    assert (
        "weights.json: changed since the bundle was sealed -> restore it from a backup "
        "of the artifacts" in said
    )
    assert (
        "version 1: its evidence was changed since it was registered (evidence.json of "
        f"run {one.run_id}" in said
    )
    assert f"version 1: its run {one.run_id} was deleted -> MLFLOW_TRACKING_URI='sqlite:///" in said
    assert "version 1: commit 000000000000 is not in this git repository -> git fetch" in said
    assert (
        "reports/registration.json says line version 9; the registry has no such version "
        "-> `dvc repro" in said
    )
    assert "line version 2: was not registered by plumbline -> delete it" in said
    assert f"'register closed' ({orphan.info.run_id}) never became a version" in said
    assert f"mlflow runs delete --run-id {orphan.info.run_id}" in said
    assert (
        f"({dead.info.run_id}) is RUNNING, its process {DEAD} does not exist -> "
        "`plumbline track` closes it" in said
    )
    for run, ending in {
        unknown: f"FAIL runs: 'train closed' ({unknown.info.run_id}) is RUNNING",
        elsewhere: f"warn runs: 'train closed' ({elsewhere.info.run_id}) is RUNNING",
    }.items():
        assert ending in said
        assert f"mlflow runs delete --run-id {run.info.run_id}" in said
    assert "-> `plumbline track` in /another/checkout closes it; if that folder is gone:" in said
    assert alive.info.run_id not in said
    evidence.write_bytes(kept[0])
    weights.write_bytes(kept[1])
    layout.REGISTRATION.write_bytes(kept[2])
    client.set_model_version_tag(
        "line", "1", "plumbline.git_commit", one.tags["plumbline.git_commit"]
    )
    client.delete_model_version("line", "2")
    for run in (dead, elsewhere, alive):
        client.set_terminated(run.info.run_id, "KILLED")
    mlflow = str(Path(sys.executable).with_name("mlflow"))
    for action, run in (
        ("restore", one.run_id),
        ("delete", orphan.info.run_id),
        ("delete", unknown.info.run_id),
    ):
        subprocess.run([mlflow, "runs", action, "--run-id", run], check=True, capture_output=True)


@pytest.mark.parametrize("tag", ["plumbline.requirements", "plumbline.data"])
def test_a_digit_of_a_tag_that_says_what_a_version_was_made_from(clean: Checkout, tag: str) -> None:
    client = model_versions.connect_registry()
    value = client.get_model_version("line", "1").tags[tag]
    other = ("1" if value[0] == "0" else "0") + value[1:]
    client.set_model_version_tag("line", "1", tag, other)
    assert f"version 1: mismatch of the tag {tag}: {other!r}, its run" in faults(clean)
    client.set_model_version_tag("line", "1", tag, value)
    assert faults(clean, code=0) == ""


def test_the_champion_and_its_alias(clean: Checkout) -> None:
    client = model_versions.connect_registry()
    two = second_version(client)
    client.set_registered_model_alias("line", addresses.CHAMPION, two)
    said = faults(clean)
    assert f"warn journal: line version {two}: no entry registered it" in said
    assert (
        f"the registry says {two}, the journal 1: the alias was changed outside plumbline" in said
    )
    assert "set the alias champion back to version 1" in said
    client.delete_registered_model_alias("line", addresses.CHAMPION)
    client.delete_registered_model_tag("line", journal_head.HEAD_TAG)
    said = faults(clean)
    assert (
        "made version 1 champion, a crash left the registry at none -> `plumbline champion line`"
        in said
    )
    assert (
        model_versions.find_alias_holder(client, "line", addresses.CHAMPION) is None
    )  # fsck repairs nothing
    clean.run("plumbline", "champion", "line")
    client.delete_model_version("line", two)


def test_the_journal(clean: Checkout) -> None:
    client = model_versions.connect_registry()
    two = second_version(client)
    known = len(promotion.read_history("line"))
    register(client, two)
    promotion.promote("line", two, expect="1", reason="to see it go", override=True)
    promotion.roll_back("line", None, "")
    client.delete_model_version("line", two)
    database = clean.path / "mlruns/journal.db"
    kept = database.read_bytes()
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE plumbline_journal SET reason = 'other' WHERE number = 1")
        connection.execute("DELETE FROM plumbline_journal WHERE action = 'rollback'")
    said = faults(clean)
    assert (
        "entry 1 was changed since it was written (hash mismatch) -> restore it from a backup"
        in said
    )
    assert "and all after it are missing -> restore it from a backup" in said
    assert (
        f"FAIL journal: line version {two}, named in entry {known + 1}, {known + 2}, does not "
        "exist -> restore it from a backup" in said
    )
    assert "FAIL champion: line:" in said
    database.write_bytes(kept)
    assert (
        len(select(faults(clean), "journal", "champion")) == 1
    )  # only the version is gone: the chain is whole again
    database.unlink()
    assert "no decision made it so -> " in faults(clean)
    client.delete_registered_model_tag("line", journal_head.HEAD_TAG)
    client.delete_registered_model_alias("line", addresses.CHAMPION)
    register(client, "1")
    make_first_champion("1", "line")
    clean.run("git", "checkout", "champion.json")


def test_a_stale_pointer_is_a_warning_a_wrong_one_a_fault(clean: Checkout) -> None:
    path = clean.path / "champion.json"
    path.write_text('{"line": null}')
    said = faults(clean, code=0)
    assert (
        "warn champion.json: names none as champion of line; the champion is 1 now -> "
        "`plumbline champion line --pin`" in said
    )
    pin = {"version": "1", "bundle": "other", "entry": 9, "seal": "0" * 64}
    write_json(path, {"line": pin})
    assert (
        "FAIL champion.json: names line version 1 with a bundle that the registry does not have"
        in faults(clean)
    )
    bundle = (
        model_versions.connect_registry().get_model_version("line", "1").tags["plumbline.bundle"]
    )
    write_json(path, {"line": pin | {"bundle": bundle}})
    assert "FAIL champion.json: journal entry 9 made line version 1 champion" in faults(clean)
    path.write_text("{")
    assert "champion.json: damaged" in faults(clean)
    path.write_text("{}")
    clean.run("plumbline", "champion", "line", "--pin")
    assert json.loads(path.read_text())["line"]["version"] == "1"


def test_a_registry_that_is_away_hides_nothing_else(clean: Checkout) -> None:
    append(clean.path / "reports/golden.json")
    said = faults(clean, MLFLOW_TRACKING_URI="http://127.0.0.1:9")
    assert "reports/golden.json differs from dvc.lock" in said
    assert "http://127.0.0.1:9 cannot be used" in said
    clean.run("dvc", "checkout", "--force", "reports/golden.json")


def test_a_version_is_removed_with_its_files_as_docs_say(clean: Checkout) -> None:
    params = clean.path / "params.yaml"
    numbers = []
    for num_rows in (610, 620):
        params.write_text(re.sub(r"num_rows: \d+", f"num_rows: {num_rows}", params.read_text()))
        clean.run("plumbline", "run")
        record = read_json(clean.path / "reports/registration.json")
        numbers.append(str(record["version"]))
    former = numbers[0]
    client = model_versions.connect_registry()
    version = client.get_model_version("line", former)
    artifacts = clean.path / "mlruns/artifacts"
    files = artifacts / "models" / version.source.removeprefix("models:/")
    assert files.is_dir()
    page = (ROOT / "docs/operate.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    exec(code.replace("ticket-router", "line").replace('"3"', f'"{former}"'), {})  # noqa: S102
    store = f"sqlite:///{clean.path}/mlruns/mlflow.db"
    clean.run("mlflow", "gc", "--backend-store-uri", store, MLFLOW_TRACKING_URI=store)
    assert not list(files.rglob("*.json"))
    assert "named in entry" in faults(clean, code=0)
    clean.run("plumbline", "promote", "line", former, "--expect", "1", code=1)
