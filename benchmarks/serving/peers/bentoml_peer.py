"""BentoML with ONNX Runtime int8 and adaptive batching.

BENCH_MODEL=FOLDER bentoml serve -q bentoml_peer:Classify --working-dir . \\
    --host 127.0.0.1 --port PORT
"""

from typing import Any

import bentoml
from classifier import Classifier

BATCH, LATENCY_MS = 32, 10_000


@bentoml.service(workers=1, traffic={"timeout": 60})
class Classify:
    """Texts in, their labels out; BentoML gathers the texts of several requests."""

    def __init__(self) -> None:
        self.model = Classifier()

    @bentoml.api(batchable=True, max_batch_size=BATCH, max_latency_ms=LATENCY_MS)
    def classify(self, texts: list[str]) -> list[dict[str, Any]]:
        """Answer a batch."""
        return self.model(texts)
