"""LitServe with ONNX Runtime int8 and batches of up to 32.

BENCH_MODEL=FOLDER python litserve_peer.py PORT
"""

import sys
from typing import Any

import litserve as ls
from classifier import Classifier

BATCH, WAIT_S = 32, 0.0


class Api(ls.LitAPI):
    """One text in, its label out."""

    def setup(self, device: str) -> None:
        """Load the model."""
        self.model = Classifier()

    def decode_request(self, request: dict[str, Any]) -> str:
        """The text of a request."""
        return request["text"]

    def batch(self, inputs: list[str]) -> list[str]:
        """Texts stay texts."""
        return list(inputs)

    def predict(self, texts: list[str]) -> list[dict[str, Any]]:
        """Answer a batch."""
        return self.model(texts)

    def unbatch(self, output: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """One answer a text."""
        return output

    def encode_response(self, output: dict[str, Any]) -> dict[str, Any]:
        """An answer is its own body."""
        return output


if __name__ == "__main__":
    server = ls.LitServer(
        Api(max_batch_size=BATCH, batch_timeout=WAIT_S),
        accelerator="cpu",
        devices=1,
        fast_queue=True,
    )
    server.run(
        host="127.0.0.1", port=int(sys.argv[1]), generate_client_file=False, log_level="warning"
    )
