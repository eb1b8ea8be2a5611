"""Faulty text classifiers: bundles whose files were changed, and sealed again."""

import textwrap
from pathlib import Path

import numpy as np

from plumbline import bundle
from plumbline.contract import layout
from plumbline.process.files import read_json, write_json
from plumbline.tasks.text_classification.faults.fixture import read_candidate
from plumbline_selftest.protocol import Fault, FaultSite

WEIGHTS, GRAPH, INT8_GRAPH = "model.safetensors", "model.onnx", "model.int8.onnx"
NOTHING_ASKED = "  selective: null"
PROMISE = "  selective: {risk: 0.01, min_coverage: 0.2}"  # 4 % of the labels are not true


def plant_sure(site: FaultSite) -> None:
    """Divide the logits by so little that every answer is sure."""
    _change_config(site, temperature=0.01)


def plant_every_answer(site: FaultSite) -> None:
    """Seal a threshold that every score reaches, whatever risk was promised."""
    site.edit_params(NOTHING_ASKED, PROMISE)
    site.retrain()
    _change_config(site, threshold=0.0)


def plant_shifted_graph(site: FaultSite) -> None:
    """Shift the table of the graph by a row; the weights beside it stay as they were trained."""
    _shift_tables(layout.locate_bundle(site.candidate) / GRAPH)
    _change_config(site)


def plant_shifted_int8(site: FaultSite) -> None:
    """Serve an int8 form in which every row of a table is that of its neighbour."""
    import onnx

    from plumbline.encoders.graphs import write_int8_form

    folder = layout.locate_bundle(site.candidate)
    write_int8_form(onnx.load(folder / GRAPH), folder / INT8_GRAPH)
    _shift_tables(folder / INT8_GRAPH)
    _change_config(site, forms={"int8": INT8_GRAPH, "fp32": GRAPH}, served="int8")


def plant_equal_members(site: FaultSite) -> None:
    """Train an ensemble, and give all members the weights of the first, in the graph too."""
    import onnx
    from safetensors.numpy import load_file, save_file

    members = textwrap.indent(read_candidate(), "  ")
    ensemble = f"    kind: ensemble\n    members: 3\n    member:\n{members}"
    site.edit_params(read_candidate(), ensemble)
    site.retrain()
    folder = layout.locate_bundle(site.candidate)
    weights = load_file(folder / WEIGHTS)
    for name in weights:
        weights[name] = weights[f"members.0.{name.split('.', 2)[2]}"]
    save_file(weights, folder / WEIGHTS)
    model = onnx.load(folder / GRAPH)
    for name in ("table", "bias"):
        first = weights[f"members.0.{name}"]
        for weight in model.graph.initializer:
            if tuple(weight.dims) == first.shape:
                weight.CopyFrom(onnx.numpy_helper.from_array(first, weight.name))
    onnx.save(model, folder / GRAPH)
    _change_config(site)


def _shift_tables(path: Path) -> None:
    """Put each row of the tables of a graph in the place of the next."""
    import onnx

    model = onnx.load(path)
    for weight in model.graph.initializer:
        values = onnx.numpy_helper.to_array(weight)
        if values.ndim == 2:
            shifted = np.roll(values, 1, axis=0)
            weight.CopyFrom(onnx.numpy_helper.from_array(shifted, weight.name))
    onnx.save(model, path)


def _change_config(site: FaultSite, **changes: object) -> None:
    """Change the config.json of the candidate's bundle, and seal the bundle again."""
    folder = layout.locate_bundle(site.candidate)
    config = read_json(folder / "config.json")
    write_json(folder / "config.json", config | changes)
    bundle.seal(folder, site.task, site.candidate)


FAULTS = (
    Fault("a model that is always sure", "calibration", "refuse", plant_sure),
    Fault(
        "an ensemble whose members are one and the same",
        "uncertainty",
        "refuse",
        plant_equal_members,
    ),
    Fault("a threshold that every score reaches", "selective", "refuse", plant_every_answer),
    Fault("an int8 form with its table off by a row", "parity", "refuse", plant_shifted_int8),
    Fault("a graph with its table off by a row", "export", "refuse", plant_shifted_graph),
)
