"""Text classifiers whose answers contradict themselves, or whose graph is not what was trained."""

from plumbline import bundle
from plumbline.contract import layout
from plumbline.process.files import read_json
from plumbline.tasks.text_classification.data import read_split
from plumbline.tasks.text_classification.faults.models import plant_config
from plumbline.tasks.text_classification.predictor import TfidfFeatures
from plumbline_selftest.protocol import Fault, FaultSite

STEP = 4.0  # by which a gram of a test text favours the label of that text


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
    test = read_split(layout.EXAMPLES, "test", ["text", "label"]).to_pydict()
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


FAULTS = (
    Fault("a graph fitted on the test split", "export", "refuse", plant_fitted_graph),
    Fault("a label that has not the best score", "answers", "refuse", plant_config(mislabels=True)),
    Fault("scores beyond 1", "answers", "refuse", plant_config(beyond=True)),
)
