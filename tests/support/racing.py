"""Versions that stand on evidence, and many processes that promote them at once: the same on every database."""

import subprocess
import sys
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from subprocess import PIPE
from typing import Any

from tests.support.checkouts import LINE

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.task import Field, Metric, Signature, Task
from plumbline.registry import model_versions, promotion
from plumbline.registry.package import packaging
from plumbline.tracking import mlflow_runs

NAME = "line"
RACER = """
import sys
from plumbline.registry import promotion
from plumbline.contract.errors import RegistryError
promotion.history("line")
print("ready", flush=True)
for expect in sys.stdin:
    try:
        promotion.promote("line", sys.argv[1], expect.strip(), "faster than the others", override=True)
        print("won", flush=True)
    except RegistryError:
        print("lost", flush=True)
"""


def nothing(*_: object) -> None:
    raise AssertionError


TASK = Task(
    **{field.name: nothing for field in fields(Task)}
    | {
        "name": NAME,
        "metric": Metric("squared_error", False, "continuous"),
        "signature": Signature((Field("x", "double"),), (Field("y", "double"),)),
        "example": {"x": [0.5]},
        "faulty": {},
        "predictor": LINE / "predictor.py",
        "requirements": (),
    }  # type: ignore[arg-type]
)


def add_version(root: Path, slope: int, **changes: Any) -> str:
    """Register a version whose evidence, unless `changes` say otherwise, lets it replace the version before it."""
    client = model_versions.client()
    folder = root / f"model{slope}"
    folder.mkdir()
    (folder / "weights.json").write_text(f'{{"slope": {slope}, "intercept": 0}}', encoding="utf-8")
    digest = bundle.seal(folder, TASK, "closed")
    layout.write_json(
        root / "golden.json", {"inputs": {"x": [1.0]}, "params": {}, "outputs": {"y": [slope]}}
    )
    before = root / f"model{slope - 1}"
    champion = (
        {"version": str(slope - 1), "bundle": bundle.digest(before)} if before.exists() else None
    )
    evidence = {
        "verdict": "promote",
        "summary": "it is better.",
        "champion": champion,
        "digests": {"bundle": digest},
    }
    layout.write_json(root / "evidence.json", evidence | changes)
    run = client.create_run(mlflow_runs.experiment(client, NAME), run_name="register closed")
    info = packaging.log_model(folder, root / "golden.json", TASK, run.info.run_id)
    client.log_artifact(run.info.run_id, str(root / "evidence.json"))
    tags = {
        model_versions.BUNDLE_TAG: digest,
        model_versions.EVIDENCE_TAG: layout.digest(root / "evidence.json"),
    }
    return str(model_versions.add(client, NAME, info, tags).version)


def stands() -> str | None:
    """The champion as the registry has it."""
    holder = model_versions.holder(model_versions.client(), NAME, model_versions.CHAMPION)
    return str(holder.version) if holder else None


def race(rounds: int, processes: int = 8) -> None:
    """In each round all promote against the same champion: one wins, the others learn that they came late."""
    versions = [("1", "2", "3")[number % 3] for number in range(processes)]
    racers = [
        subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", RACER, version],
            stdin=PIPE,
            stdout=PIPE,
            text=True,
        )
        for version in versions
    ]
    try:
        assert [_said(racer) for racer in racers] == ["ready"] * processes
        before = len(promotion.history(NAME))
        for _ in range(rounds):
            current = stands()
            for racer in racers:
                print(current, file=racer.stdin, flush=True)
            said = [_said(racer) for racer in racers]
            assert sorted(said) == ["lost"] * (processes - 1) + ["won"], said
            assert stands() == versions[said.index("won")]
    finally:
        for racer in racers:
            racer.communicate(timeout=60)
    assert [racer.returncode for racer in racers] == [0] * processes
    entries = promotion.history(NAME)
    assert len(entries) == before + rounds
    assert all(entry.previous == earlier.version for earlier, entry in pairwise(entries))


def _said(racer: "subprocess.Popen[str]") -> str:
    assert racer.stdout is not None
    return racer.stdout.readline().strip()
