"""The int8 form: close to fp32, independent of the batch, served only if it loses nothing."""

import json
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pyarrow.parquet as pq
import pytest
from onnx import TensorProto, helper, numpy_helper
from tests.support.small_texts import SilentLog, small_params, write_examples

from plumbline.contract.params import Parity
from plumbline.tasks.text_classification.models import build_learner, forms
from plumbline.tasks.text_classification.models.export import fit_temperature
from plumbline.tasks.text_classification.models.graph_cleaning import clean_graph
from plumbline.tasks.text_classification.models.quantisation import quantise_graph
from plumbline.tasks.text_classification.predictor import load
from plumbline.training import fitting

WIDTH, WORDS, ANSWERS = 16, 1200, 24


@pytest.fixture
def graph() -> onnx.ModelProto:
    """Word vectors and one layer: ids (rows, tokens) -> answers (rows, tokens, ANSWERS)."""
    random = np.random.default_rng(0)
    weights = {
        "words": random.normal(size=(WORDS, WIDTH)) * random.uniform(0.01, 3, (WORDS, 1)),
        "layer": random.normal(size=(WIDTH, ANSWERS)),
    }
    weights["words"][7] = 0
    graph = helper.make_graph(
        [
            helper.make_node("Gather", ["words", "ids"], ["states"]),
            helper.make_node("MatMul", ["states", "layer"], ["answers"]),
        ],
        "small",
        [helper.make_tensor_value_info("ids", TensorProto.INT64, ["rows", "tokens"])],
        [helper.make_tensor_value_info("answers", TensorProto.FLOAT, ["rows", "tokens", ANSWERS])],
        [
            numpy_helper.from_array(value.astype(np.float32), name)
            for name, value in weights.items()
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def run_graph(graph: onnx.ModelProto, ids: np.ndarray) -> np.ndarray:
    return onnxruntime.InferenceSession(graph.SerializeToString()).run(None, {"ids": ids})[0]


def test_layers_are_rounded_output_by_output_and_weights_keep_to_seven_bits(
    graph: onnx.ModelProto, tmp_path: Path
) -> None:
    before = graph.SerializeToString()
    quantise_graph(graph, tmp_path / "int8.onnx")
    assert graph.SerializeToString() == before
    quantised = onnx.load(tmp_path / "int8.onnx")
    onnx.checker.check_model(quantised)
    ids = np.random.default_rng(1).integers(0, WORDS, (1, 9))
    expected = run_graph(graph, ids)
    answers = run_graph(quantised, ids)
    assert np.abs(answers - expected).max() <= 0.05 * np.abs(expected).max()
    kept = {weight.name: numpy_helper.to_array(weight) for weight in quantised.graph.initializer}
    assert not {"words", "layer"} & set(kept)
    assert kept["layer_quantized"].dtype == np.int8
    assert np.abs(kept["layer_quantized"]).max() <= 64  # two products with 255 stay below 2 ** 15
    assert kept["layer_scale"].shape == (ANSWERS,)
    assert quantised.ByteSize() < 0.4 * graph.ByteSize()


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

    `strict`, whose 40 validation rows show nothing, and `lenient`, which asks for less.
    """
    folder = tmp_path_factory.mktemp("forms")
    write_examples(folder / "examples")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, max_loss in {"strict": 0.01, "lenient": 0.2}.items():
            params = small_params()
            limits = params.evaluation.model_copy(
                update={"parity": Parity(max_loss=max_loss, min_agreement=0.9)}
            )
            learner = build_learner(
                params.model_copy(update={"evaluation": limits}), "transformer", folder / "examples"
            )
            fitting.fit(learner, params, "transformer", SilentLog())
            fitting.remove_checkpoints("transformer")
            (folder / name).mkdir()
            learner.save(folder / name)
    return folder


def test_the_form_that_is_served_is_in_the_bundle_with_a_temperature_of_its_own(
    trained: Path,
) -> None:
    configs = {
        name: json.loads((trained / name / "config.json").read_text())
        for name in ("strict", "lenient")
    }
    assert {config["forms"]["int8"] for config in configs.values()} == {"model.int8.onnx"}
    assert (configs["strict"]["served"], configs["lenient"]["served"]) == ("fp32", "int8")
    assert (trained / "strict/model.int8.onnx").read_bytes() == (
        trained / "lenient/model.int8.onnx"
    ).read_bytes()
    rows = pq.read_table(trained / "examples/validation.parquet")
    truth = np.searchsorted(configs["lenient"]["classes"], rows["label"].to_pylist())
    for name, form in (("strict", "fp32"), ("lenient", "int8")):
        predictor = load(trained / name)
        assert predictor.forms[0] == form
        assert set(predictor.forms) == {"int8", "fp32"}
        fitted = fit_temperature(predictor.compute_logits(rows["text"].to_pylist()), truth)
        assert configs[name]["temperature"] == pytest.approx(fitted, rel=1e-3)


def test_the_forms_of_a_model_agree_and_int8_is_smaller(trained: Path) -> None:
    texts = pq.read_table(trained / "examples/test.parquet")["text"].to_pylist()
    ours, theirs = load(trained / "strict", "int8"), load(trained / "strict", "fp32")
    assert ours.num_bytes < theirs.num_bytes
    quantised = ours.compute_probabilities(texts)
    expected = theirs.compute_probabilities(texts)
    assert 0 < np.abs(quantised - expected).max() < 0.05
    assert (quantised.argmax(axis=1) == expected.argmax(axis=1)).mean() >= 0.95


def test_no_form_s_answer_depends_on_the_other_texts_of_a_request(trained: Path) -> None:
    texts = pq.read_table(trained / "examples/test.parquet")["text"].to_pylist()
    for form in ("int8", "fp32"):
        predictor = load(trained / "strict", form)
        alone = np.concatenate([predictor.compute_logits([text]) for text in texts])
        np.testing.assert_allclose(predictor.compute_logits(texts), alone, atol=1e-5)


def test_a_form_that_a_bundle_lacks_is_named(trained: Path) -> None:
    with pytest.raises(ValueError, match="there is no form 'int4'; this model has fp32, int8"):
        load(trained / "strict", "int4")
