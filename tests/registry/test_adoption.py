"""A champion that was chosen in MLflow passes every check of a promotion, or does not count."""

from pathlib import Path

import pytest
from tests.support.racing import (
    NAME,
    add_version,
    copy_databases,
    find_stored_bundle,
    read_champion_alias,
    read_decisions,
)

from plumbline.contract import layout
from plumbline.contract.errors import (
    AliasMovedError,
    BundleError,
    ParamsError,
    RefusedError,
    RegistryError,
)
from plumbline.process.files import digest_path
from plumbline.registry import model_versions, promotion
from plumbline.registry.adoption import adopt
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
        promotion.bootstrap_champion(NAME, "1")
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


def test_a_move_that_promote_would_make_is_journaled_with_who_and_how(here: Path) -> None:
    move_alias("2")
    with pytest.raises(AliasMovedError, match="plumbline adopt line"):
        promotion.read_history(NAME)
    entry = adopt(NAME, "better on refunds")
    assert (entry.action, entry.previous, entry.version) == ("promote", "1", "2")
    assert entry.reason == "moved in MLflow, then adopted: better on refunds"
    assert "@" in entry.actor
    assert read_decisions()[-1] == entry
    description = model_versions.connect_registry().get_model_version(NAME, "2").description
    assert f"promote 1 -> 2 by `{entry.actor}`, journal entry {entry.number}" in description
    promotion.promote(NAME, "3", expect="2", reason="decisions go on")


def test_a_stock_client_loads_the_same_bytes_that_are_served(here: Path) -> None:
    import mlflow.pyfunc
    import pandas as pd

    move_alias("2")
    adopt(NAME, "better")
    address = f"models:/{NAME}@champion"
    stored = find_stored_bundle(address)
    with open_version(address, "predict") as opened:
        assert digest_path(stored / layout.BUNDLE_SEAL) == opened.bundle
        ours = opened.load_predictor().predict({"x": [0.0, 1.0]})
    theirs = mlflow.pyfunc.load_model(address).predict(pd.DataFrame({"x": [0.0, 1.0]}))
    assert theirs["y"].tolist() == list(ours["y"])


@pytest.mark.parametrize(
    ("version", "error", "reason"),
    [
        (KEEP, RefusedError, "the verdict is keep: it is not better"),
        ("3", RegistryError, "version 3 was compared with champion 2, the champion is 1"),
    ],
)
def test_a_move_that_promote_refuses_is_not_adopted(
    here: Path, version: str, error: type[Exception], reason: str
) -> None:
    move_alias(version)
    before = read_unlocked()
    with pytest.raises(error, match=reason) as refused:
        adopt(NAME, "I like it")
    assert "set it back to version 1" in str(refused.value)
    assert read_champion_alias() == version  # nothing was changed
    with pytest.raises(AliasMovedError):
        promotion.find_champion(NAME)
    move_alias("1")
    assert read_unlocked() == before


def read_unlocked() -> int:
    """The number of entries in the journal, whatever the registry says."""
    from plumbline.registry.journal import read_journal

    with read_journal() as book:
        return len(book.read_entries())


def test_files_that_are_not_those_registered_are_not_adopted(here: Path) -> None:
    move_alias("2")
    weights = find_stored_bundle(f"models:/{NAME}/2") / "weights.json"
    original = weights.read_bytes()
    weights.write_bytes(original.replace(b"2", b"9"))
    try:
        with pytest.raises(BundleError, match=r"weights\.json"):
            adopt(NAME, "it looks the same")
    finally:
        weights.write_bytes(original)


def test_a_version_made_by_hand_is_not_adopted(here: Path) -> None:
    client = model_versions.connect_registry()
    version = client.get_model_version(NAME, "2")
    made = client.create_model_version(NAME, version.source, version.run_id, dict(version.tags))
    move_alias(str(made.version))
    with pytest.raises(RegistryError, match="journal does not say that it was registered"):
        adopt(NAME, "the same files")


def test_where_nothing_was_moved_there_is_nothing_to_adopt(here: Path) -> None:
    with pytest.raises(RegistryError, match="nothing to adopt: the champion is 1"):
        adopt(NAME, "to be sure")
    model_versions.connect_registry().delete_registered_model_alias(NAME, "champion")
    with pytest.raises(RegistryError, match="no version has the alias champion; set it back to"):
        adopt(NAME, "to be sure")
    with pytest.raises(ParamsError, match="--reason"):
        adopt(NAME, " ")
