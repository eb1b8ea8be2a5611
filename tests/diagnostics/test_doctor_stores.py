"""Faults in a real checkout: each is named with its remedy, hides no other, and can be repaired."""

import hashlib
import os
import re
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest
from tests.support.checkouts import ROOT, Checkout

from plumbline.diagnostics import doctor
from plumbline.process.files import read_json, write_json
from plumbline.registry import journal_rules, model_versions
from plumbline.registry.reader import addresses

# MLflow, in this process, warns about its own libraries.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
ENVIRONMENT = ("packages", "git", "params.yaml", "disk", "device")


@pytest.fixture(scope="module")
def ran(line: Checkout) -> Checkout:
    """The line's checkout after one run, all committed; version 1 is champion."""
    line.run("dvc", "repro")
    line.commit("first")
    return line


@pytest.fixture
def clean(ran: Checkout, monkeypatch: pytest.MonkeyPatch) -> Iterator[Checkout]:
    """The same as the cwd of this process; a test leaves nothing planted."""
    monkeypatch.chdir(ran.path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", ran.store)
    yield ran
    assert "FAIL" not in faults(full=True)


def faults(*, full: bool = False) -> str:
    """What is not well, each with its remedy."""
    found = [
        result
        for result in doctor.examine(full=full)
        if result.what not in ENVIRONMENT and (result.remedy or not result.ok)
    ]
    return "\n".join(
        f"{'warn' if result.ok else 'FAIL'} {result.what}: {result.message} -> {result.remedy}"
        for result in found
    )


def select(said: str, *checks: str) -> list[str]:
    """The lines of some checks alone."""
    return [line for line in said.splitlines() if line[5:].startswith(checks)]


def hash_file(path: Path) -> str:
    """The name of a file's object in DVC's cache."""
    return hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()


def find_object(digest: str) -> Path:
    return Path(".dvc/cache/files/md5", digest[:2], digest[2:])


def flip(path: Path) -> None:
    """Flip a bit in the middle of a file; mode, size and the time of its last write stay."""
    status = path.stat()
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.chmod(0o644)
    path.write_bytes(content)
    path.chmod(status.st_mode)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def append(path: Path, text: str = "x") -> None:
    path.chmod(0o644)
    with path.open("a") as file:
        file.write(text)


def test_all_is_well(clean: Checkout) -> None:
    said = clean.run("plumbline", "doctor", "--full").stdout
    assert all(line.startswith("ok   ") for line in said.splitlines())
    for what in ("outputs", "journal", "champion.json", "registry", "versions"):
        assert f"ok   {what}: " in said


def test_a_fresh_clone_is_well_and_looking_makes_no_registry(
    clean: Checkout, tmp_path: Path
) -> None:
    clean.run("git", "clone", "-q", str(clean.path), str(tmp_path / "clone"))
    clone = Checkout(tmp_path / "clone")
    said = clone.run("plumbline", "doctor").stdout
    assert "as in a fresh clone" in said
    assert "ok   registry: none yet; the first run creates it" in said
    assert not (clone.path / "mlruns/mlflow.db").exists()


def test_outputs_that_are_missing_or_changed(clean: Checkout) -> None:
    lock = (clean.path / "dvc.lock").read_text()
    append(clean.path / "reports/golden.json")
    append(clean.path / "reports/metrics.json")
    shutil.rmtree(clean.path / "models/nothing")
    find_object(re.findall(r"path: models/gradient\n.*\n +md5: (\S+)", lock)[0]).unlink()
    said = faults()
    restore = "rm -rf reports/golden.json && dvc checkout --force reports/golden.json"
    assert f"FAIL outputs: reports/golden.json differs from dvc.lock -> `{restore}`" in said
    assert "FAIL outputs: reports/metrics.json differs from dvc.lock -> `git checkout" in said
    assert "FAIL outputs: models/nothing is missing here -> `rm -rf models/nothing && dvc" in said
    assert "FAIL cache: models/gradient is not in the cache, or not as a whole -> `dvc com" in said
    carry_out(clean, said)
    assert faults() == ""


def carry_out(checkout: Checkout, said: str) -> None:
    """Run the first command of each remedy, and what follows it."""
    for line in said.splitlines():
        commands = line.partition(" -> ")[2].split("`")[1::2]
        both = commands[0].startswith("rm -f ")
        for command in commands[: 2 if both else 1]:
            checkout.run("bash", "-c", command)


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("models/closed/weights.json", "here"),
        ("models/closed/weights.json", "both"),
        ("data/manifest.parquet", "cache"),
    ],
)
def test_a_flipped_bit_is_found_by_its_bytes_alone_and_its_remedy_restores_the_file(
    clean: Checkout, name: str, place: str
) -> None:
    digest = hash_file(clean.path / name)
    damaged = find_object(digest)
    if place != "cache":
        flip(clean.path / name)
    if place != "here":
        flip(damaged)
    assert faults() == ""  # sizes and times are the same
    (said,) = select(faults(full=True), "outputs", "cache")
    output = "models/closed" if name.startswith("models") else name
    title = f"{output} differs" if place == "here" else f"the object of {name} is damaged"
    assert title in said
    commands = said.split("`")[1::2]
    for command in commands[:1] if place == "here" else commands:
        if not command.startswith("dvc pull"):
            clean.run("bash", "-c", command)
    assert hash_file(clean.path / name) == hash_file(damaged) == digest


def test_a_cut_or_damaged_lock(clean: Checkout) -> None:
    lock = clean.path / "dvc.lock"
    kept = lock.read_bytes()
    lock.write_bytes(kept[: kept.index(b"\n  evaluate:") + 1])
    new = "reports/evidence.json exists, but dvc.lock does not name it -> `git checkout dvc.lock`"
    assert new in faults()
    lock.write_bytes(b"<<<<<<< HEAD\n" + kept)
    assert "FAIL outputs: dvc.lock:1: a merge left its markers here ->" in faults()
    lock.unlink()
    gone = r"FAIL outputs: no dvc.lock, so nothing says what these should be: .*reports/\S+ -> "
    assert re.search(gone, faults())
    clean.run("git", "checkout", "dvc.lock")


def test_a_version_whose_files_changed_or_that_is_gone(clean: Checkout) -> None:
    client = model_versions.connect_registry()
    one = client.get_model_version("line", "1")
    run = client.get_run(one.run_id)
    evidence = Path(unquote(urlparse(run.info.artifact_uri).path)) / "evidence.json"
    (weights,) = (clean.path / "mlruns/artifacts/models").rglob("weights.json")
    for path, title in ((weights, "changed since the bundle was sealed"), (evidence, "evidence")):
        kept = path.read_bytes()
        append(path, " ")
        (said,) = select(faults(full=True), "versions")
        assert "FAIL versions: line version 1" in said
        assert title in said
        assert "backup" in said
        path.write_bytes(kept)
    tag = "plumbline.git_commit"
    client.set_model_version_tag("line", "1", tag, "0" * 40)
    said = faults(full=True)
    assert "version 1: commit 000000000000 is not in this repository -> git fetch" in said
    client.set_model_version_tag("line", "1", tag, one.tags[tag])


def test_an_alias_that_was_moved_or_is_gone(clean: Checkout) -> None:
    client = model_versions.connect_registry()
    one = client.get_model_version("line", "1")
    two = client.create_model_version("line", one.source, one.run_id, one.tags).version
    client.set_registered_model_alias("line", addresses.CHAMPION, two)
    (said,) = select(faults(), "champion:")
    assert f"the registry says that version {two} is champion, the journal of decisions" in said
    assert "made version 1 champion" in said
    client.delete_model_version("line", two)
    client.delete_registered_model_alias("line", addresses.CHAMPION)
    client.delete_registered_model_tag("line", journal_rules.HEAD_TAG)
    (said,) = select(faults(), "champion:")
    title = "line: the journal says version 1, the registry has none -> `plumbline journal line`"
    assert title in said
    assert model_versions.find_alias_holder(client, "line", addresses.CHAMPION) is None
    carry_out(clean, said)


def test_the_journal(clean: Checkout) -> None:
    database = clean.path / "mlruns/journal.db"
    kept = database.read_bytes()
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE plumbline_journal SET reason = 'other' WHERE number = 1")
    said = faults()
    assert "failed at entry 1 (hash mismatch): the journal was changed -> Restore it" in said
    database.write_bytes(kept)
    with sqlite3.connect(database) as connection:
        connection.execute("DELETE FROM plumbline_journal WHERE action = 'first'")
    said = faults()
    assert "the journal ends before entry" in said
    database.unlink()
    assert "FAIL champion: " in faults()
    database.write_bytes(kept)


def test_a_stale_pointer_is_a_warning_a_wrong_one_a_fault(clean: Checkout) -> None:
    path = clean.path / "champion.json"
    kept = path.read_bytes()
    path.write_text('{"line": null}')
    stale = (
        "warn champion.json: names none as champion of line; the champion is 1 now -> "
        "`plumbline champion line --pin`"
    )
    assert stale in faults()
    pin = {"version": "1", "bundle": "other", "entry": 9, "seal": "0" * 64}
    write_json(path, {"line": pin})
    assert "FAIL champion.json: champion.json: journal entry 9 made" in faults()
    path.write_text("{")
    assert "champion.json: damaged" in faults()
    path.write_bytes(kept)
    clean.run("plumbline", "champion", "line", "--pin")
    assert read_json(path)["line"]["version"] == "1"
    path.write_bytes(kept)


def test_a_registry_that_is_away_hides_nothing_else(
    clean: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(clean.path / "reports/metrics.json")
    with monkeypatch.context() as changed:
        changed.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
        changed.setenv("PLUMBLINE_JOURNAL_URI", f"sqlite:///{clean.path}/mlruns/journal.db")
        said = faults()
    assert "reports/metrics.json differs from dvc.lock" in said
    assert "FAIL registry: models:/line@champion: http://127.0.0.1:9 cannot be read" in said
    assert "-> start the server, or unset MLFLOW_TRACKING_URI" in said
    clean.run("git", "checkout", "reports/metrics.json")


def test_a_version_is_removed_with_its_files_as_docs_say(clean: Checkout) -> None:
    params = clean.path / "params.yaml"
    numbers = []
    for num_rows in (610, 620):
        params.write_text(re.sub(r"num_rows: \d+", f"num_rows: {num_rows}", params.read_text()))
        clean.run("plumbline", "run")
        numbers.append(str(clean.read_report("registration")["version"]))
    former = numbers[0]
    client = model_versions.connect_registry()
    version = client.get_model_version("line", former)
    artifacts = clean.path / "mlruns/artifacts"
    files = artifacts / "models" / version.source.removeprefix("models:/")
    assert files.is_dir()
    page = (ROOT / "docs/how-to/recover.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    exec(code.replace("ticket-router", "line").replace('"3"', f'"{former}"'), {})  # noqa: S102
    clean.run("mlflow", "gc", "--backend-store-uri", clean.store, MLFLOW_TRACKING_URI=clean.store)
    assert not list(files.rglob("*.json"))
    assert "named in entry" in faults(full=True)
    clean.run("plumbline", "promote", "line", former, "--expect", "1", code=1)
