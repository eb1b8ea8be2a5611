"""A setting that the last stages need is missed before the first stage begins."""

from pathlib import Path

import pytest
from tests.support.signing_keys import write_keys

from plumbline.contract.errors import ParamsError
from plumbline.pipeline_run import require_settings

SETTINGS = {
    "journal": {"MLFLOW_TRACKING_URI": "http://127.0.0.1:9"},
    "private key": {"PLUMBLINE_PRIVATE_KEY": "nowhere.pem"},
    "public key for private": {"PLUMBLINE_PRIVATE_KEY": "ours.pub"},
    "empty private key": {"PLUMBLINE_PRIVATE_KEY": ""},
    "public key": {"PLUMBLINE_PUBLIC_KEY": "nowhere.pub"},
}


@pytest.fixture(autouse=True)
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(write_keys(tmp_path))
    for key in ("MLFLOW_TRACKING_URI", "PLUMBLINE_JOURNAL_URI"):
        monkeypatch.delenv(key, raising=False)


@pytest.mark.parametrize("name", SETTINGS)
def test_what_is_missing_or_wrong_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for key, value in SETTINGS[name].items():
        monkeypatch.setenv(key, value)
    for targets in ((), ("train", "register"), ("dvc.yaml",), ("dvc.yaml:evaluate",)):
        with pytest.raises(ParamsError, match=r"PLUMBLINE_\w+|nowhere|ours\.pub"):
            require_settings(targets)
    require_settings(("ingest", "train"))  # which need none of it


def test_what_can_be_used_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    require_settings(())
    monkeypatch.setenv("PLUMBLINE_PRIVATE_KEY", "ours.pem")
    monkeypatch.setenv("PLUMBLINE_PUBLIC_KEY", "ours.pub")
    require_settings(())
