"""Build what each server needs from one registered model: int8 graph, pipeline, texts with labels.

    python benchmarks/serving/prepare.py FOLDER [models:/NAME@champion | BUNDLE]

prints the URI of the registered version. A bundle's folder is registered first, where
MLFLOW_TRACKING_URI says.
"""

import json
import logging
import random
import shutil
import sys
import warnings
from pathlib import Path

import numpy as np
from peers.classifier import GRAPH, Classifier
from peers.mean_pooled import build_pipeline

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.loading import load_task
from plumbline.contract.yaml_file import load_yaml
from plumbline.evidence.recorded_answers import answer_golden_rows
from plumbline.process.files import digest_path, write_json
from plumbline.registry import journal, model_versions
from plumbline.registry.package import packaging
from plumbline.registry.reader.addresses import BUNDLE_TAG, EVIDENCE_TAG
from plumbline.registry.reader.verified_cache import VerifiedModelCache
from plumbline.tasks.text_classification.data import read_split
from plumbline.tasks.text_classification.data.generated import draw_ticket

FULL, CLEAN = "model.onnx", "clean.onnx"
NAME = "bench"  # of a bundle in the registry
NUM_TEXTS = 512
# Least difference of the two best scores: int8 rounding or the batch may change closer answers.
MARGIN = 0.5


def main(into: Path, model: str) -> None:
    """Write everything into a folder."""
    uri = model or f"models:/{load_yaml(layout.PARAMS)['registry']['model']}@champion"
    texts = list_texts()
    if not uri.startswith("models:/"):
        uri = register(Path(model), into, texts)
    files = VerifiedModelCache(uri).fetch_latest().folder
    config = json.loads((files / "config.json").read_text(encoding="utf-8"))
    if config["kind"] != "encoder":
        raise SystemExit(f"{model or uri} is a {config['kind']} model; give an encoder")
    for name in ("config.json", "tokenizer.json", FULL):
        shutil.copyfile(files / name, into / name)
    quantize(into)
    choose_texts(texts, into, config["max_tokens"])
    save_pipeline(files, into)
    print(uri)


def list_texts() -> list[str]:
    """Return the first texts of the checkout's test split or, before `make run`, tickets."""
    if layout.EXAMPLES.exists():
        texts: list[str] = read_split(layout.EXAMPLES, "test", ["text"])["text"].to_pylist()
        return texts[:NUM_TEXTS]
    return [draw_ticket(random.Random(number), 0.0).text for number in range(NUM_TEXTS)]


def register(files: Path, into: Path, texts: list[str]) -> str:
    """Register a bundle as it is, without a verdict, and return its URI."""
    task = load_task("text_classification")
    golden, evidence = into / layout.GOLDEN.name, into / layout.EVIDENCE.name
    write_json(golden, answer_golden_rows(bundle.load(files), {"text": texts}, task))
    digests = {"bundle": bundle.digest(files), "golden": digest_path(golden)}
    write_json(evidence, {"model": NAME, "digests": digests})
    client = model_versions.connect_registry()
    experiment = client.create_experiment(NAME, (into / "artifacts").as_uri())
    run = client.create_run(experiment).info.run_id
    info = packaging.log_model(files, golden, task, run)
    client.log_artifact(run, str(evidence))
    tags = {BUNDLE_TAG: digests["bundle"], EVIDENCE_TAG: digest_path(evidence)}
    version = str(model_versions.add_version(client, NAME, info, tags, "").version)
    given = (tags[BUNDLE_TAG], tags[EVIDENCE_TAG])
    with journal.lock_journal() as book:  # a version that is tried has to be in it
        book.append(journal.Decision(NAME, "registered", version, "", *given, "a benchmark"))
    return f"models:/{NAME}/{version}"


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


def choose_texts(texts: list[str], folder: Path, limit: int) -> None:
    """Write the texts with a clear fp32 label, and the labels."""
    model = Classifier(folder, FULL)
    kept = []
    for text in texts:
        probabilities = model.probabilities([text])[0]
        second, first = np.sort(probabilities)[-2:]
        # The pipeline does not truncate long texts.
        if first - second >= MARGIN and len(model.tokenizer.encode(text).ids) < limit:
            kept.append((text, model.classes[int(probabilities.argmax())]))
    (folder / "asked.json").write_text(json.dumps(kept), encoding="utf-8")


def save_pipeline(files: Path, into: Path) -> None:
    """Save the weights with MLflow's transformers flavor, as a text-classification pipeline."""
    warnings.simplefilter("ignore")
    import mlflow

    mlflow.transformers.save_model(
        build_pipeline(files),
        path=str(into / "pipeline"),
        input_example=["where is my card"],
        pip_requirements=["mlflow", "transformers", "torch"],
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
