"""Build what each server needs from one registered model: int8 graph, pipeline, texts with labels.

    python benchmarks/serving/prepare.py FOLDER [models:/NAME@champion]

prints the URI of the registered version.
"""

import json
import logging
import shutil
import sys
import warnings
from pathlib import Path

import numpy as np
from peers.classifier import GRAPH, Classifier
from peers.mean_pooled import build_pipeline

from plumbline.contract import layout
from plumbline.contract.yaml_file import load_yaml
from plumbline.registry.reader.verified_cache import VerifiedModelCache
from plumbline.tasks.text_classification.data import read_split

FULL, CLEAN = "model.onnx", "clean.onnx"
NUM_TEXTS = 512
# Least difference of the two best scores: int8 rounding or the batch may change closer answers.
MARGIN = 0.5


def main(into: Path, uri: str) -> None:
    """Write everything into a folder."""
    uri = uri or f"models:/{load_yaml(layout.PARAMS)['registry']['model']}@champion"
    bundle = VerifiedModelCache(uri).fetch_latest().folder
    config = json.loads((bundle / "config.json").read_text(encoding="utf-8"))
    if config["kind"] != "encoder":
        raise SystemExit(f"{uri} is a {config['kind']} model; give --model a registered encoder")
    for name in ("config.json", "tokenizer.json", FULL):
        shutil.copyfile(bundle / name, into / name)
    quantize(into)
    choose_texts(into, config["max_tokens"])
    save_pipeline(bundle, into)
    print(uri)


def quantize(folder: Path) -> None:
    """Write the int8 graph that ONNX Runtime's own tool makes of the fp32 one by default."""
    import onnx
    from onnxruntime.quantization import quantize_dynamic

    graph = onnx.load(folder / FULL)
    del graph.graph.value_info[:]  # shapes of the exporter that contradict the quantized graph
    onnx.save(graph, folder / CLEAN)
    logging.disable(logging.WARNING)  # it advises a step of preparation that changes nothing here
    # The output type of ONNX Runtime's own operators.
    options = {"DefaultTensorType": onnx.TensorProto.FLOAT}
    quantize_dynamic(folder / CLEAN, folder / GRAPH, extra_options=options)


def choose_texts(folder: Path, limit: int) -> None:
    """Write the test texts with a clear fp32 label, and the labels."""
    texts = read_split(layout.EXAMPLES, "test", ["text"])["text"].to_pylist()[:NUM_TEXTS]
    model = Classifier(folder, FULL)
    kept = []
    for text in texts:
        probabilities = model.probabilities([text])[0]
        second, first = np.sort(probabilities)[-2:]
        # The pipeline does not truncate long texts.
        if first - second >= MARGIN and len(model.tokenizer.encode(text).ids) < limit:
            kept.append((text, model.classes[int(probabilities.argmax())]))
    (folder / "asked.json").write_text(json.dumps(kept), encoding="utf-8")


def save_pipeline(bundle: Path, into: Path) -> None:
    """Save the weights with MLflow's transformers flavor, as a text-classification pipeline."""
    warnings.simplefilter("ignore")
    import mlflow

    mlflow.transformers.save_model(
        build_pipeline(bundle),
        path=str(into / "pipeline"),
        input_example=["where is my card"],
        pip_requirements=["mlflow", "transformers", "torch"],
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
