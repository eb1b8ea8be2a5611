"""The connection to MLflow: what a server asks for is not waited for without end."""

import time

import pytest
from tests.support.faulty_proxy import run_proxy

from plumbline.contract.errors import RegistryError
from plumbline.registry import model_versions

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
