"""One champion at a time: compare and set, a journal that shows tampering, and crashes that heal."""

import sqlite3
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from subprocess import PIPE

import pytest
from tests.test_bundle import TASK

from plumbline import bundle, journal, layout, packaging, promotion, registry, tracking
from plumbline.errors import BundleError, JournalError, RegistryError

NAME = "line"
pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow, in this process, warns about its own libraries


@pytest.fixture(scope="module")
def three_versions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout's folder whose registry holds three versions and no champion."""
    root = tmp_path_factory.mktemp("registry")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        client = registry.client()
        for slope in (1, 2, 3):
            folder = root / f"model{slope}"
            folder.mkdir()
            (folder / "weights.json").write_text(f'{{"slope": {slope}, "intercept": 0}}', encoding="utf-8")
            bundle.seal(folder, TASK, "closed")
            layout.write_json(root / "golden.json", {"inputs": {"x": [1.0]}, "params": {}, "outputs": {"y": [slope]}})
            run = client.create_run(tracking.experiment(client, NAME))
            info = packaging.log_model(folder, root / "golden.json", TASK, run.info.run_id)
            registry.add(client, NAME, info, {registry.BUNDLE_TAG: bundle.digest(folder), "plumbline.evidence": "e"})
    return root


@pytest.fixture
def here(three_versions: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """That folder as the cwd, with no champion and an empty journal."""
    monkeypatch.chdir(three_versions)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    client = registry.client()
    client.delete_registered_model_alias(NAME, registry.CHAMPION)
    client.delete_registered_model_tag(NAME, promotion.HEAD_TAG)
    (three_versions / "mlruns/journal.db").unlink(missing_ok=True)
    return three_versions


def stands() -> str | None:
    holder = registry.holder(registry.client(), NAME, registry.CHAMPION)
    return str(holder.version) if holder else None


def test_first_promote_rollback(here: Path) -> None:
    assert promotion.first(NAME, "1") is not None
    assert promotion.first(NAME, "2") is None  # a cold start happens once
    promotion.promote(NAME, "2", expect="1", reason="better")
    promotion.promote(NAME, "3", expect="2", reason="better still")
    assert stands() == "3"
    promotion.rollback(NAME, None, "it was not")
    assert stands() == "2"
    promotion.rollback(NAME, "1", "further")
    assert stands() == "1"
    entries = promotion.history(NAME)
    assert [(e.action, e.previous, e.version) for e in entries] == [
        ("first", "none", "1"),
        ("promote", "1", "2"),
        ("promote", "2", "3"),
        ("rollback", "3", "2"),
        ("rollback", "2", "1"),
    ]
    assert promotion.champion(NAME, entries[1].at).number >= 2  # type: ignore[union-attr]
    assert promotion.champion(NAME, "2001-01-01") is None


def test_a_promotion_on_old_knowledge_changes_nothing(here: Path) -> None:
    promotion.first(NAME, "1")
    promotion.promote(NAME, "2", expect="1", reason="")
    with pytest.raises(RegistryError, match="the champion is 2, not 1"):
        promotion.promote(NAME, "3", expect="1", reason="")
    with pytest.raises(RegistryError, match="never was champion"):
        promotion.rollback(NAME, "3", "")
    with pytest.raises(RegistryError, match="99"):
        promotion.promote(NAME, "99", expect="2", reason="")
    assert stands() == "2"
    assert len(promotion.history(NAME)) == 2


def test_a_changed_package_is_not_promoted(here: Path) -> None:
    promotion.first(NAME, "1")
    folder = packaging.folder(f"models:/{NAME}/2")
    weights = folder / "weights.json"
    kept = weights.read_bytes()
    weights.write_bytes(kept.replace(b"2", b"9"))
    with pytest.raises(BundleError, match="changed since the bundle was sealed"):
        promotion.promote(NAME, "2", expect="1", reason="")
    weights.write_bytes(kept)
    assert stands() == "1"


@pytest.mark.parametrize(
    "tamper",
    [
        "UPDATE plumbline_journal SET version = '3' WHERE number = 2",
        "UPDATE plumbline_journal SET reason = 'quite' WHERE number = 1",
        "DELETE FROM plumbline_journal WHERE number = 1",
        "DELETE FROM plumbline_journal WHERE number = 3",
        "DELETE FROM plumbline_journal",
        "UPDATE plumbline_journal SET number = number + 10 WHERE number = 2",
    ],
)
def test_tampering_shows_and_stops_everything(here: Path, tamper: str) -> None:
    promotion.first(NAME, "1")
    promotion.promote(NAME, "2", expect="1", reason="")
    promotion.promote(NAME, "3", expect="2", reason="")
    with sqlite3.connect(here / "mlruns/journal.db") as database:
        database.execute(tamper)
    for attempt in (lambda: promotion.history(NAME), lambda: promotion.rollback(NAME, None, "")):
        with pytest.raises(JournalError):
            attempt()
    assert stands() == "3"


def test_an_alias_moved_by_other_hands_stops_everything(here: Path) -> None:
    promotion.first(NAME, "1")
    promotion.promote(NAME, "2", expect="1", reason="")
    registry.client().set_registered_model_alias(NAME, registry.CHAMPION, "3")
    with pytest.raises(JournalError, match="moved by other hands"):
        promotion.promote(NAME, "3", expect="2", reason="")


def test_a_crash_between_journal_and_registry_heals(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    promotion.first(NAME, "1")

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(promotion, "_follow", killed)
        with pytest.raises(KeyboardInterrupt):
            promotion.promote(NAME, "2", expect="1", reason="")
    assert stands() == "1"
    assert promotion.history(NAME)[-1].version == "2"  # whoever looks next finishes the move
    assert stands() == "2"


def test_a_registry_that_is_away(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with pytest.raises(RegistryError, match="cannot be used"):
        promotion.promote(NAME, "2", expect="1", reason="")
    with pytest.raises(JournalError, match="PLUMBLINE_JOURNAL_URI"):
        promotion.first(NAME, "2")


RACE = """
import sys
from plumbline import promotion
from plumbline.errors import RegistryError
won = []
sys.stdin.readline()
for number in range(int(sys.argv[2])):
    sys.stdin.readline()
    try:
        promotion.promote("line", sys.argv[1], expect=sys.stdin.readline().strip(), reason=f"round {number}")
        print("won", flush=True)
    except RegistryError as error:
        print("lost", flush=True)
"""


@pytest.mark.slow
def test_of_many_who_promote_at_once_one_wins(here: Path) -> None:
    rounds = 25
    racers = [
        subprocess.Popen([sys.executable, "-c", RACE, version, str(rounds)], stdin=PIPE, stdout=PIPE, text=True)
        for version in ("2", "3") * 4
    ]
    promotion.first(NAME, "1")
    for racer in racers:
        print(file=racer.stdin, flush=True)
    for _ in range(rounds):
        current = stands()
        for racer in racers:
            print(f"\n{current}", file=racer.stdin, flush=True)
        said = [racer.stdout.readline().strip() for racer in racers]  # type: ignore[union-attr]
        assert said.count("won") == 1, said
    for racer in racers:
        racer.communicate(timeout=60)
        assert racer.returncode == 0
    entries = promotion.history(NAME)
    assert len(entries) == rounds + 1
    assert all(entry.previous == before.version for before, entry in pairwise(entries))


def test_the_journal_s_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "postgresql://db/mlflow")
    assert journal.uri() == "postgresql://db/mlflow"
    monkeypatch.setenv("PLUMBLINE_JOURNAL_URI", "postgresql://db/decisions")
    assert journal.uri() == "postgresql://db/decisions"
