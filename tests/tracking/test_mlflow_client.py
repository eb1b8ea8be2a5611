"""The connection to MLflow."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from mlflow.exceptions import MlflowException

from plumbline.tracking import mlflow_client

pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow warns about its own libraries


def test_a_server_that_starts_again_is_asked_again_but_for_what_would_be_made_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    class Starting(BaseHTTPRequestHandler):
        """Refuses the first request."""

        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(503 if len(asked) == 1 else 200)
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Starting) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{server.server_port}")
        client = mlflow_client.connect()
        assert client.search_registered_models() == []
        assert len(asked) == 2
        asked.clear()
        with mlflow_client.send_once(), pytest.raises(MlflowException):
            client.search_registered_models()
        assert len(asked) == 1
        server.shutdown()
