"""The int8 form: close to fp32, independent of the batch, served only if it loses nothing."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from tests.support.small_texts import (
    accept_small_splits,
    small_params,
    write_examples,
)

from plumbline.contract.params import Parity
from plumbline.tasks.text_classification.data import read_split
from plumbline.tasks.text_classification.models import build_learner, form_trials, forms
from plumbline.tasks.text_classification.models.export import fit_temperature
from plumbline.tasks.text_classification.models.graph_cleaning import clean_graph
from plumbline.tasks.text_classification.models.int8.forms import write_int8_form
from plumbline.tasks.text_classification.predictor import load
from plumbline.training import fitting
from plumbline.training.checkpoint_folders import remove_checkpoints

FORMS = {"fp32": "model.onnx"}
INT8 = pytest.mark.parametrize(
    ("name", "form"), [("strict", "int8-dynamic"), ("lenient", "int8-static")]
)


def test_a_reshape_to_the_same_shape_is_dropped_and_others_are_kept() -> None:
    shapes = {"joined": [0, 0, 16], "split": [0, 0, 4, 4]}
    floats = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["rows", "tokens", *sizes])
        for name, sizes in {"x": [16], "y": [4, 4], "z": [16], "out": [4, 4]}.items()
    ]
    graph = helper.make_graph(
        [
            helper.make_node("Reshape", ["x", "split"], ["y"]),
            helper.make_node("Reshape", ["y", "joined"], ["z"]),
            helper.make_node("Relu", ["z"], ["r"]),
            helper.make_node("Reshape", ["r", "split"], ["out"]),
        ],
        "reshapes",
        [floats[0]],
        [floats[3]],
        [numpy_helper.from_array(np.array(sizes), name) for name, sizes in shapes.items()],
        value_info=floats[1:3],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    x = np.random.default_rng(0).normal(size=(2, 3, 16)).astype(np.float32)
    expected = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})[0]
    clean_graph(model)
    assert [node.op_type for node in model.graph.node] == ["Relu", "Reshape"]
    assert {weight.name for weight in model.graph.initializer} == {"split"}
    np.testing.assert_array_equal(
        onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})[0], expected
    )


def build_policy(*names: str, max_loss: float = 0.01) -> forms.FormPolicy:
    return forms.FormPolicy(names, Parity(max_loss=max_loss, min_agreement=0.98), 0.95, None)


def build_logits(answers: np.ndarray) -> np.ndarray:
    return np.eye(3)[answers]


def test_the_first_form_that_answers_as_fp32_is_served() -> None:
    truth = np.arange(2000) % 3
    sound, broken = truth.copy(), truth.copy()
    sound[:4] += 1
    sound %= 3
    broken[:60] = (broken[:60] + 1) % 3
    logits = {"fp32": build_logits(truth), "int8": build_logits(sound)}
    assert forms.choose_served_form(build_policy("int8", "fp32"), logits, truth) == "int8"
    assert forms.choose_served_form(build_policy("fp32", "int8"), logits, truth) == "fp32"
    assert (
        forms.choose_served_form(
            build_policy("int8", "fp32"), logits | {"int8": build_logits(broken)}, truth
        )
        == "fp32"
    )


def test_a_form_that_is_as_good_but_answers_differently_is_not_served() -> None:
    truth = np.arange(2000) % 3
    ours, theirs = truth.copy(), truth.copy()
    ours[:30], theirs[30:60] = (ours[:30] + 1) % 3, (theirs[30:60] + 1) % 3
    logits = {"fp32": build_logits(theirs), "int8": build_logits(ours)}
    assert (
        forms.choose_served_form(build_policy("int8", "fp32", max_loss=0.5), logits, truth)
        == "fp32"
    )


def test_forms_of_sets_are_compared_by_the_thresholds_that_are_sealed() -> None:
    rng = np.random.default_rng(0)
    logits = np.minimum(rng.normal(-2, 0.7, (2000, 4)), -0.01)  # no label is likelier than not
    truth = (rng.random(logits.shape) < 1 / (1 + np.exp(-logits))).astype(np.float32)
    policy = build_policy("int8", "fp32", max_loss=0.5)
    assert forms.find_difference(policy, logits, logits, truth) is None
    moved = np.minimum(logits + rng.normal(0, 0.5, logits.shape), -0.01)
    assert "gives the answer of fp32 on" in str(forms.find_difference(policy, moved, logits, truth))


def test_on_few_rows_nothing_is_significant() -> None:
    truth = np.arange(40) % 3
    assert (
        forms.choose_served_form(
            build_policy("int8", "fp32"),
            {"fp32": build_logits(truth), "int8": build_logits(truth)},
            truth,
        )
        == "fp32"
    )


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two bundles of one model.

    `strict`, whose 49 validation rows show nothing, and `lenient`, which asks for less.
    """
    folder = tmp_path_factory.mktemp("forms")
    write_examples(folder / "examples")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        strict = small_params()
        for name, params in {"strict": strict, "lenient": accept_small_splits(strict)}.items():
            learner = build_learner(params, "transformer", folder / "examples")
            fitting.fit(learner, params, "transformer")
            remove_checkpoints("transformer")
            (folder / name).mkdir()
            learner.save(folder / name)
    return folder


@pytest.mark.slow
def test_the_form_that_is_served_is_in_the_bundle_with_a_temperature_of_its_own(
    trained: Path,
) -> None:
    configs = {
        name: json.loads((trained / name / "config.json").read_text())
        for name in ("strict", "lenient")
    }
    assert configs["strict"]["forms"] == FORMS | {"int8-dynamic": "model.int8-dynamic.onnx"}
    assert configs["lenient"]["forms"] == FORMS | {"int8-static": "model.int8-static.onnx"}
    assert (configs["strict"]["served"], configs["lenient"]["served"]) == ("fp32", "int8-static")
    for name, config in configs.items():
        graphs = {path.name for path in (trained / name).glob("*.onnx")}
        assert graphs == set(config["forms"].values())
    rows = read_split(trained / "examples", "validation")
    truth = np.searchsorted(configs["lenient"]["classes"], rows["label"].to_pylist())
    for name, form in (("strict", "fp32"), ("lenient", "int8-static")):
        predictor = load(trained / name)
        assert predictor.forms[0] == form
        assert set(predictor.forms) == set(configs[name]["forms"])
        fitted = fit_temperature(predictor.compute_logits(rows["text"].to_pylist()), truth)
        assert configs[name]["temperature"] == pytest.approx(fitted, rel=1e-3)


@pytest.mark.slow
def test_what_was_tried_is_in_the_bundle_with_the_reasons(trained: Path) -> None:
    lenient = json.loads((trained / "lenient/config.json").read_text())
    assert lenient["int8"] == {"int8-static": "passes"}
    assert lenient["notes"] == []
    strict = json.loads((trained / "strict/config.json").read_text())
    assert set(strict["int8"]) == {"int8-static", "int8-row", "int8-dynamic"}
    for reason in strict["int8"].values():
        assert re.search(
            r"49 validation rows .* of fp32 on 100.00% \(at least 98.00%, by the lower end of "
            r"its interval\), .* \(at most 0.01\)",
            reason,
        )
    (note,) = strict["notes"]
    assert note.startswith("fp32 is served; int8-static: on 49 validation rows")


@pytest.mark.slow
def test_a_form_that_depends_on_its_company_makes_room_for_the_next(
    trained: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def write_form(form: str, *arguments: Any) -> None:
        write_int8_form("int8-dynamic" if form == "int8-static" else form, *arguments)

    monkeypatch.setattr(form_trials, "write_int8_form", write_form)
    monkeypatch.chdir(trained)
    params = accept_small_splits(small_params())
    build_learner(params, "transformer", trained / "examples").save(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["served"] == "int8-row"
    assert config["forms"] == FORMS | {"int8-row": "model.int8-row.onnx"}
    assert config["int8"]["int8-row"] == "passes"
    reason = config["int8"]["int8-static"]
    assert re.fullmatch(r"the other rows of a batch move its logits by 0\.\d+", reason)
    assert config["notes"] == [f"int8-row is served; int8-static: {reason}"]
    assert f"train: int8-static: {reason}\ntrain: int8-row: passes\n" in capsys.readouterr().out


@pytest.mark.slow
@INT8
def test_the_forms_of_a_model_agree_and_int8_is_smaller(
    trained: Path, name: str, form: str
) -> None:
    texts = read_split(trained / "examples", "test")["text"].to_pylist()
    ours, theirs = load(trained / name, form), load(trained / name, "fp32")
    assert ours.num_bytes < theirs.num_bytes
    quantised = ours.compute_probabilities(texts)
    expected = theirs.compute_probabilities(texts)
    assert 0 < np.abs(quantised - expected).max() < 0.05
    assert (quantised.argmax(axis=1) == expected.argmax(axis=1)).mean() >= 0.95


@pytest.mark.slow
@INT8
def test_no_form_s_answer_depends_on_the_other_texts_of_a_request(
    trained: Path, name: str, form: str
) -> None:
    texts = read_split(trained / "examples", "test")["text"].to_pylist()
    for one in (form, "fp32"):
        predictor = load(trained / name, one)
        alone = np.concatenate([predictor.compute_logits([text]) for text in texts])
        np.testing.assert_allclose(predictor.compute_logits(texts), alone, atol=1e-5)


@pytest.mark.slow
def test_a_form_that_a_bundle_lacks_is_named(trained: Path) -> None:
    with pytest.raises(
        ValueError, match="there is no form 'int4'; this model has fp32, int8-dynamic"
    ):
        load(trained / "strict", "int4")
