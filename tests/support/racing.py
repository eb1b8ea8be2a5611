"""Versions with evidence, and many processes that promote them at once, on every database."""

import sqlite3
import subprocess
import tempfile
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from subprocess import PIPE
from typing import Any, Literal

from tests.support.checkouts import LINE, find_python
from tests.support.evidence import describe_gates

from plumbline import bundle
from plumbline.contract.task import Field, Metric, Signature, Task
from plumbline.process.files import digest_path, write_json
from plumbline.registry import journal_rules, model_versions, promotion
from plumbline.registry.desk import open_desk
from plumbline.registry.journal import Entry
from plumbline.registry.package import packaging, rehearsal
from plumbline.registry.reader import addresses
from plumbline.tracking import mlflow_client

NAME = "line"
RACER = """
import sys
from plumbline.registry import promotion
from plumbline.contract.errors import RegistryError
promotion.read_history("line")
print("ready", flush=True)
for expect in sys.stdin:
    try:
        reason = "faster than the others"
        promotion.promote("line", sys.argv[1], expect.strip(), reason, override=True)
        print("won", flush=True)
    except RegistryError:
        print("lost", flush=True)
"""


TASK = Task(
    name=NAME,
    package="tasks.line",
    metric=Metric("squared_error", False, "continuous"),
    signature=Signature((Field("x", "double"),), (Field("y", "double"),)),
    example={"x": [0.5]},
    faulty={},
    predictor=LINE / "predictor.py",
    requirements=(),
)


def add_version(root: Path, slope: int, **changes: Any) -> str:
    """Register a version whose evidence lets it replace the one before, apart from `changes`."""
    folder = root / f"model{slope}"
    folder.mkdir()
    (folder / "weights.json").write_text(f'{{"slope": {slope}, "intercept": 0}}', encoding="utf-8")
    bundle.seal(folder, TASK, "closed")
    write_json(
        root / "golden.json", {"inputs": {"x": [1.0]}, "params": {}, "outputs": {"y": [slope]}}
    )
    before = root / f"model{slope - 1}"
    champion = (
        {"version": str(slope - 1), "bundle": bundle.digest(before)} if before.exists() else None
    )
    return log_version(NAME, TASK, folder, {"champion": champion} | changes)


def log_version(name: str, task: Task, folder: Path, changes: dict[str, Any]) -> str:
    """Register the bundle in `folder` as `register` does, on evidence that nobody asks again.

    golden.json lies beside the folder; evidence.json is written there: it lets the version be
    promoted, apart from `changes`.
    """
    client = model_versions.connect_registry()
    path, golden = folder.with_name("evidence.json"), folder.with_name("golden.json")
    digest = bundle.digest(folder)
    evidence = {
        "model": name,
        "verdict": "promote",
        "gates": describe_gates(changes.get("verdict", "promote")),
        "summary": "it is better.",
        "champion": None,
        "digests": {"bundle": digest, "golden": digest_path(golden)},
    }
    write_json(path, evidence | changes)
    experiment = mlflow_client.get_or_create_experiment(client, name)
    run = client.create_run(experiment, run_name="register closed")
    info = packaging.log_model(folder, golden, task, run.info.run_id)
    client.log_artifact(run.info.run_id, str(path))
    tags = {addresses.BUNDLE_TAG: digest, addresses.EVIDENCE_TAG: digest_path(path)}
    version = str(model_versions.add_version(client, name, info, tags, "").version)
    record_registration(version, *tags.values(), name=name)
    return version


def rehearse(folder: Path, golden: Path, task: Task, *asked: Any) -> rehearsal.Rehearsal:
    """Ask the package of a bundle in a clean process."""
    with tempfile.TemporaryDirectory() as private:
        described = packaging.describe_package(folder, golden, task, Path(private))
        return rehearsal.ask_package(described, golden, task, *asked)


def record_registration(version: str, bundle: str, evidence: str, name: str = NAME) -> Entry:
    """Let the journal say that a version was registered."""
    with open_desk(name) as desk:
        return promotion.record_ruling(desk, "registered", version, bundle, evidence, "a test")


def record_verdict(action: Literal["refuse", "keep"], *facts: str, name: str = NAME) -> Entry:
    """Let the journal refuse or keep a bundle: version, bundle, evidence and reason."""
    with open_desk(name) as desk:
        return promotion.record_ruling(desk, action, *facts)


def make_first_champion(version: str, name: str = NAME) -> Entry | None:
    """Make a version the first champion, as `register` does."""
    with open_desk(name) as desk:
        return promotion.bootstrap_champion(desk, version)


def empty_journal() -> int:
    """Let the registry forget all decisions; the number of entries that register its versions.

    Whoever calls it removes the journal first.
    """
    client = model_versions.connect_registry()
    if model_versions.find_alias_holder(client, NAME, addresses.CHAMPION):
        client.delete_registered_model_alias(NAME, addresses.CHAMPION)
    for name in model_versions.read_model_tags(client, journal_rules.HEAD_TAG):
        client.delete_registered_model_tag(name, journal_rules.HEAD_TAG)
    versions = client.search_model_versions(f"name = '{NAME}'")
    for version in sorted(versions, key=lambda version: int(version.version)):
        tags = (version.tags[addresses.BUNDLE_TAG], version.tags[addresses.EVIDENCE_TAG])
        record_registration(str(version.version), *tags)
    return len(versions)


def copy_databases(source: Path, target: Path) -> None:
    """Give the databases of one folder to another, also where a process has them open there."""
    target.mkdir(exist_ok=True)
    for database in source.glob("*.db"):
        copy = target / database.name
        with closing(sqlite3.connect(database)) as old, closing(sqlite3.connect(copy)) as new:
            old.backup(new)


def read_decisions(name: str = NAME) -> list[Entry]:
    """All entries on a model but those that register its versions."""
    return [entry for entry in promotion.read_history(name) if entry.action != "registered"]


def find_in_mlflow(address: str) -> Any:
    """The version at an address as MLflow itself says it, to compare with what plumbline reads."""
    wanted = addresses.parse_address(address)
    client = model_versions.connect_registry()
    if wanted.alias:
        return client.get_model_version_by_alias(wanted.name, wanted.alias)
    return client.get_model_version(wanted.name, wanted.number)


def find_stored_bundle(address: str) -> Path:
    """The folder in the registry's own store that holds the bundle of a version."""
    from mlflow.artifacts import download_artifacts

    mlflow_client.connect()
    return Path(download_artifacts(address)) / "artifacts/bundle"


def read_champion_alias() -> str | None:
    """The champion as the registry has it."""
    client = model_versions.connect_registry()
    holder = model_versions.find_alias_holder(client, NAME, addresses.CHAMPION)
    return str(holder.version) if holder else None


def race(rounds: int, processes: int = 8) -> None:
    """In each round all promote against the same champion: one wins, all others are refused."""
    versions = [("1", "2", "3")[number % 3] for number in range(processes)]
    racers = [
        subprocess.Popen(
            [find_python(), "-W", "ignore", "-c", RACER, version],
            stdin=PIPE,
            stdout=PIPE,
            text=True,
        )
        for version in versions
    ]
    try:
        assert [_said(racer) for racer in racers] == ["ready"] * processes
        before = len(read_decisions())
        for _ in range(rounds):
            current = read_champion_alias()
            for racer in racers:
                print(current, file=racer.stdin, flush=True)
            said = [_said(racer) for racer in racers]
            assert sorted(said) == ["lost"] * (processes - 1) + ["won"], said
            assert read_champion_alias() == versions[said.index("won")]
    finally:
        for racer in racers:
            racer.communicate(timeout=600)
    assert [racer.returncode for racer in racers] == [0] * processes
    entries = read_decisions()
    assert len(entries) == before + rounds
    assert all(entry.previous == earlier.version for earlier, entry in pairwise(entries))


def _said(racer: "subprocess.Popen[str]") -> str:
    assert racer.stdout is not None
    return racer.stdout.readline().strip()
