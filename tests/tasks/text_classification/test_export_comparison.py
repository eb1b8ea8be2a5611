"""The graph in a bundle is held against the weights beside it, in evaluation too."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from tests.support.checkouts import ROOT
from tests.support.small_texts import small_params, write_examples

from plumbline.contract import layout
from plumbline.contract.yaml_file import load_yaml
from plumbline.tasks.text_classification.models import build_learner, compare_export
from plumbline.tasks.text_classification.models.quantisation import quantise_graph
from plumbline.tasks.text_classification.params import PretrainedConfig

TEXTS = {"text": ["where is my parcel", "I cannot log in", "send the bill again please"]}
BUNDLE = Path("bundle")


@pytest.fixture
def examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_examples(tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    BUNDLE.mkdir()
    return tmp_path / "examples"


def move_weights(path: Path) -> None:
    """Move the largest table of numbers in a graph by a little."""
    model = onnx.load(path)
    floats = [w for w in model.graph.initializer if w.data_type == onnx.TensorProto.FLOAT]
    largest = max(floats, key=lambda weight: int(np.prod(weight.dims)))
    moved = numpy_helper.to_array(largest) + 0.1 * np.arange(largest.dims[-1], dtype=np.float32)
    largest.CopyFrom(numpy_helper.from_array(moved.astype(np.float32), largest.name))
    onnx.save(model, path)


def serve_int8() -> None:
    """Add the int8 form of the graph to the bundle."""
    config = layout.read_json(BUNDLE / "config.json")
    quantise_graph(onnx.load(BUNDLE / "model.onnx"), BUNDLE / "model.int8.onnx")
    forms = {"fp32": "model.onnx", "int8": "model.int8.onnx"}
    layout.write_json(BUNDLE / "config.json", config | {"forms": forms})


@pytest.mark.parametrize("candidate", ["linear", "transformer"])
def test_a_graph_that_is_not_the_weights_is_seen(candidate: str, examples: Path) -> None:
    build_learner(small_params(), candidate, examples).save(BUNDLE)
    serve_int8()
    sound = compare_export(small_params(), candidate, BUNDLE, TEXTS)
    assert {difference.form for difference in sound} == {"fp32", "int8"}
    assert all(difference.largest <= difference.limit / 10 for difference in sound)
    move_weights(BUNDLE / "model.onnx")
    differences = {
        difference.form: difference
        for difference in compare_export(small_params(), candidate, BUNDLE, TEXTS)
    }
    assert differences["fp32"].largest > differences["fp32"].limit
    assert differences["fp32"].num_rows == 3
    # The graph of int8 is now another than that of the graph beside it.
    assert differences["int8"].largest > differences["int8"].limit


@pytest.mark.slow
def test_a_pretrained_encoder_is_rebuilt_from_its_bundle_alone(examples: Path) -> None:
    values = load_yaml(ROOT / "recipes/text_classification.yaml")["candidates"]["minilm"]
    config = PretrainedConfig.model_validate(values)
    params = small_params().model_copy(update={"candidates": {"minilm": config}})
    build_learner(params, "minilm", examples).save(BUNDLE)
    nowhere = config.model_copy(update={"weights": "pypi:not-installed"})
    params = small_params().model_copy(update={"candidates": {"minilm": nowhere}})
    (difference,) = [d for d in compare_export(params, "minilm", BUNDLE, TEXTS) if d.form == "fp32"]
    assert difference.largest <= difference.limit / 10
