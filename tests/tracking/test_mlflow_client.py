"""The connection to MLflow: what a server asks for is not waited for without end."""

import os
import stat
import time
from pathlib import Path

import pytest
from tests.support.faulty_proxy import run_proxy

from plumbline.contract.errors import RegistryError
from plumbline.registry import journal, model_versions

pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow warns about its own libraries
NOWHERE = "http://127.0.0.1:9"
PATIENCE_S = 1800  # the machine may have much else to do; the server says 3,600


def test_a_server_that_says_to_ask_again_in_an_hour_is_named_at_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with run_proxy(NOWHERE) as proxy:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", proxy.address)
        monkeypatch.setenv("MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR", "0")
        proxy.fail_at(1, "limited", lasts=True)
        start = time.monotonic()
        with pytest.raises(RegistryError, match="the server answers 429: it limits requests"):
            model_versions.connect_registry()
        assert time.monotonic() - start < PATIENCE_S
    assert caplog.records == []


def test_a_group_may_write_what_its_umask_lets_it_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    before = os.umask(0o002)
    try:
        model_versions.connect_registry()
        with journal.lock_journal():
            pass
    finally:
        os.umask(before)
    for path in (tmp_path / "mlruns").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o664, path
