"""The model of the LitServe and BentoML peers: the int8 graph in ONNX Runtime."""

import json
import os
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

GRAPH = "int8.onnx"
THREADS = 2


class Classifier:
    """Labels and scores for texts, padded to the longest of a batch."""

    def __init__(self, folder: Path | None = None, graph: str = GRAPH) -> None:
        folder = folder or Path(os.environ["BENCH_MODEL"])
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        self.classes, self.temperature = config["classes"], config["temperature"]
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.enable_padding()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = THREADS, 3
        # Idle threads that spin take cores from other processes: both peers are faster without.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self.session = onnxruntime.InferenceSession(folder / graph, options)

    def probabilities(self, texts: list[str]) -> np.ndarray:
        """Of each class, shape (texts, classes)."""
        rows = self.tokenizer.encode_batch_fast(texts)
        ids = np.array([row.ids for row in rows], np.int64)
        mask = np.array([row.attention_mask for row in rows], np.int64)
        logits = (
            self.session.run(None, {"input_ids": ids, "attention_mask": mask})[0] / self.temperature
        )
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)

    def __call__(self, texts: list[str]) -> list[dict[str, str | float]]:
        """The best label of each text, and its score."""
        probabilities = self.probabilities(texts)
        best = probabilities.argmax(axis=1)
        return [
            {"label": self.classes[place], "score": float(row[place])}
            for row, place in zip(probabilities, best, strict=True)
        ]
