"""Faulty text classifiers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from plumbline import bundle
from plumbline.contract import layout
from plumbline.process.files import read_json, write_json
from plumbline.tasks.text_classification.data import read_split
from plumbline_selftest.protocol import FaultSite

CODE = Path(__file__).with_name("faulty_predictor.py")
HARMLESS: dict[str, Any] = {
    "anything": False,  # answers what it should refuse
    "answers": {},  # text -> label, known by heart
    "always": "",  # the label of every answer
    "wrong": [],  # texts that it answers wrongly
    "shaken": False,  # wrong if a text is in capitals
    "beyond": False,  # with scores that are no probabilities
    "mislabels": False,  # answers a label that has not the best score
    "two_faced": False,  # wrong once it is packaged
    "sure": False,  # sure of every answer
    "doubt": "",  # what it calls epistemic: "none", "random" or "too much"; "": as the sound one
}


def plant_config(**config: Any) -> Callable[[FaultSite], None]:
    """Return what plants a predictor with these settings."""
    return lambda site: site.wrap_predictor(CODE, HARMLESS | config)


def plant_majority(site: FaultSite) -> None:
    """Answer every text with the most frequent label of train."""
    labels = read_split(layout.EXAMPLES, "train", ["label"])["label"].to_pandas()
    plant_config(always=str(labels.mode()[0]), sure=True)(site)


def plant_known_answers(site: FaultSite) -> None:
    """Answer every test text correctly, by heart."""
    plant_config(answers=_read_answers())(site)


def plant_control_with_known_answers(site: FaultSite) -> None:
    """Let the model of shuffled labels know the test answers."""
    config = HARMLESS | {"answers": _read_answers()}
    site.wrap_predictor(CODE, config, layout.name_control(site.candidate))


def plant_wrong_group(site: FaultSite) -> None:
    """Answer every test text of the second largest variant wrongly."""
    rows = read_split(layout.EXAMPLES, "test").to_pandas()
    group = rows["variant"].value_counts().index[1]
    plant_config(wrong=rows.loc[rows["variant"] == group, "text"].tolist())(site)


def plant_shifted_int8(site: FaultSite) -> None:
    """Serve an int8 form in which every row of a quantised table is that of its neighbour."""
    import numpy as np
    from onnx import numpy_helper

    def shift(model: Any) -> None:
        for weight in model.graph.initializer:
            if weight.name.endswith("_quantized"):
                shifted = np.roll(numpy_helper.to_array(weight), 1, axis=0)
                weight.CopyFrom(numpy_helper.from_array(shifted, weight.name))

    plant_int8(site, shift)


def plant_int8(site: FaultSite, change: Callable[[Any], None]) -> None:
    """Serve an int8 form whose graph, an onnx.ModelProto, is changed in place by `change`."""
    import onnx

    from plumbline.tasks.text_classification.models.int8.dynamic_form import write_dynamic_form

    folder = layout.locate_bundle(site.candidate)
    forms = read_json(folder / "config.json")["forms"]
    path = folder / "model.int8-dynamic.onnx"
    write_dynamic_form(onnx.load(folder / forms["fp32"]), path)
    model = onnx.load(path)
    change(model)
    onnx.save(model, path)
    change_config(site, forms={"int8-dynamic": path.name} | forms, served="int8-dynamic")


def change_config(site: FaultSite, **changes: object) -> None:
    """Change the config.json of the candidate's bundle, and seal the bundle again."""
    folder = layout.locate_bundle(site.candidate)
    config = read_json(folder / "config.json")
    write_json(folder / "config.json", config | changes)
    bundle.seal(folder, site.task, site.candidate)


def _read_answers() -> dict[str, str]:
    rows = read_split(layout.EXAMPLES, "test", ["text", "label"]).to_pydict()
    return dict(zip(rows["text"], rows["label"], strict=True))
