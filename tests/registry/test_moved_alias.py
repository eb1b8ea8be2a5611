"""A champion that was chosen in MLflow does not count, until a person overrides the journal."""

import re
import shlex
from pathlib import Path

import pytest
from tests.support.racing import (
    NAME,
    add_version,
    copy_databases,
    find_stored_bundle,
    make_first_champion,
    read_champion_alias,
    read_decisions,
)
from typer.testing import CliRunner

from plumbline.cli import app
from plumbline.contract import layout
from plumbline.contract.errors import BundleError, JournalIntegrityError, RegistryError
from plumbline.process.files import digest_path
from plumbline.registry import model_versions, promotion
from plumbline.registry.reader import open_version

KEEP = "4"
pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow warns about its own libraries


@pytest.fixture(scope="module")
def versions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A registry whose versions 2 and 3 may each replace the one before; 1 is champion."""
    root = tmp_path_factory.mktemp("registry")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        for slope in (1, 2, 3):
            add_version(root, slope)
        assert add_version(root, 4, verdict="keep", summary="it is not better.") == KEEP
        make_first_champion("1")
    copy_databases(root / "mlruns", root / "kept")
    return root


@pytest.fixture
def here(versions: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """That registry as it was made."""
    monkeypatch.chdir(versions)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    copy_databases(versions / "kept", versions / "mlruns")
    return versions


def move_alias(version: str) -> None:
    """Do what MLflow's UI and client do."""
    model_versions.connect_registry().set_registered_model_alias(NAME, "champion", version)


def read_remedy() -> list[str]:
    """The command that the error about the moved alias names."""
    with pytest.raises(JournalIntegrityError, match="changed outside plumbline") as found:
        promotion.read_history(NAME)
    command = re.search(r"`plumbline (promote .* --reason) WHY`", str(found.value))
    assert command is not None, found.value
    return [*shlex.split(command[1]), "better on refunds"]


def test_the_command_that_the_error_names_accepts_the_move_and_says_who(here: Path) -> None:
    move_alias("2")
    done = CliRunner().invoke(app, read_remedy())
    assert (done.exit_code, done.exception) == (0, None)
    entry = promotion.read_history(NAME)[-1]
    assert (entry.action, entry.previous, entry.version) == ("override", "1", "2")
    assert entry.reason == "better on refunds"
    assert "@" in entry.actor
    promotion.promote(NAME, "3", expect="2", reason="decisions go on")


def test_a_champion_that_no_decision_made_is_accepted_the_same_way(here: Path) -> None:
    client = model_versions.connect_registry()
    two = client.get_model_version(NAME, "2")
    client.create_registered_model("other")
    client.create_model_version("other", two.source, two.run_id, two.tags, model_id=two.model_id)
    client.set_registered_model_alias("other", "champion", "1")
    with pytest.raises(JournalIntegrityError, match="--expect none --override") as found:
        promotion.find_champion("other")
    assert "remove the alias" in str(found.value)


def test_without_override_nothing_is_accepted(here: Path) -> None:
    for version in (KEEP, "2"):
        move_alias(version)
        with pytest.raises(JournalIntegrityError, match="set `champion` back to version 1"):
            promotion.promote(NAME, "2", expect="1", reason="I like it")
        assert read_champion_alias() == version  # nothing was changed
    move_alias("1")
    assert len(read_decisions()) == 1
    assert promotion.promote(NAME, "2", expect="1", reason="as it should be").action == "promote"


def test_an_alias_that_was_removed_is_set_back_or_decided_on(here: Path) -> None:
    client = model_versions.connect_registry()
    client.delete_registered_model_alias(NAME, "champion")
    with pytest.raises(JournalIntegrityError, match=r"back to version 1$"):
        promotion.read_history(NAME)
    entry = promotion.promote(NAME, "2", expect="1", reason="it was removed", override=True)
    assert (entry.previous, read_champion_alias()) == ("1", "2")


def test_a_stock_client_loads_the_same_bytes_that_are_served(here: Path) -> None:
    import mlflow.pyfunc
    import pandas as pd

    move_alias("2")
    accept("2")
    address = f"models:/{NAME}@champion"
    stored = find_stored_bundle(address)
    with open_version(address, require_journal=True) as opened:
        assert digest_path(stored / layout.BUNDLE_SEAL) == opened.bundle
        ours = opened.load_predictor().predict({"x": [0.0, 1.0]})
    theirs = mlflow.pyfunc.load_model(address).predict(pd.DataFrame({"x": [0.0, 1.0]}))
    assert theirs["y"].tolist() == list(ours["y"])


def accept(version: str) -> None:
    """Accept that the alias was moved to a version."""
    promotion.promote(NAME, version, expect="1", reason="moved in MLflow", override=True)


def test_files_that_are_not_those_registered_are_not_adopted(here: Path) -> None:
    move_alias("2")
    weights = find_stored_bundle(f"models:/{NAME}/2") / "weights.json"
    original = weights.read_bytes()
    weights.write_bytes(original.replace(b"2", b"9"))
    try:
        with pytest.raises(BundleError, match=r"weights\.json"):
            accept("2")
    finally:
        weights.write_bytes(original)


def test_a_version_made_by_hand_is_not_adopted(here: Path) -> None:
    client = model_versions.connect_registry()
    version = client.get_model_version(NAME, "2")
    made = client.create_model_version(NAME, version.source, version.run_id, dict(version.tags))
    move_alias(str(made.version))
    with pytest.raises(RegistryError, match="journal does not say that it was registered"):
        accept(str(made.version))
