"""The int8 form of a small graph: close to fp32, equal bytes, operators of every CPU."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from plumbline.tasks.text_classification.models.int8 import write_int8_form
from plumbline.tasks.text_classification.predictor import EncodedText

WIDTH, WORDS, ANSWERS = 16, 1200, 24
# ONNX Runtime registers them for its CPU provider on every architecture, arm64 as well: no
# condition on the processor stands around them in core/providers/cpu/cpu_execution_provider.cc and
# contrib_ops/cpu/cpu_contrib_kernels.cc. docs/OperatorKernels.md there lists the types.
ON_EVERY_CPU = {"DequantizeLinear", "DynamicQuantizeLinear", "MatMulInteger"}


@pytest.fixture
def model() -> onnx.ModelProto:
    """Ids and mask (rows, tokens) -> answers (rows, tokens, ANSWERS).

    Word vectors with one channel that is large, a LayerNorm, and two layers of its states, which
    are also added to the answer of one of them.
    """
    random = np.random.default_rng(0)
    norm = np.ones(WIDTH)
    norm[3] = 16.0
    weights = {
        "words": random.normal(size=(WORDS, WIDTH)) * random.uniform(0.5, 3, (WORDS, 1)),
        "gamma": norm,
        "beta": random.normal(size=WIDTH),
        "layer": random.normal(size=(WIDTH, WIDTH)),
        "bias": random.normal(size=WIDTH),
        "last": random.normal(size=(WIDTH, ANSWERS)),
    }
    weights["words"][7] = 0
    ids, mask = (
        helper.make_tensor_value_info(name, TensorProto.INT64, ["rows", "tokens"])
        for name in ("ids", "mask")
    )
    graph = helper.make_graph(
        [
            helper.make_node("Gather", ["words", "ids"], ["vectors"]),
            helper.make_node("LayerNormalization", ["vectors", "gamma", "beta"], ["states"]),
            helper.make_node("MatMul", ["states", "layer"], ["sums"]),
            helper.make_node("Add", ["bias", "sums"], ["biased"]),
            helper.make_node("Gelu", ["biased"], ["active"]),
            helper.make_node("Add", ["active", "states"], ["joined"]),
            helper.make_node("Cast", ["mask"], ["ones"], to=TensorProto.FLOAT),
            helper.make_node("Unsqueeze", ["ones", "axis"], ["column"]),
            helper.make_node("Mul", ["joined", "column"], ["kept"]),
            helper.make_node("MatMul", ["kept", "last"], ["answers"]),
        ],
        "small",
        [ids, mask],
        [helper.make_tensor_value_info("answers", TensorProto.FLOAT, ["rows", "tokens", ANSWERS])],
        [
            numpy_helper.from_array(np.array([2]), "axis"),
            *(
                numpy_helper.from_array(value.astype(np.float32), name)
                for name, value in weights.items()
            ),
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


@pytest.fixture
def texts() -> list[EncodedText]:
    random = np.random.default_rng(1)
    lengths = random.integers(3, 12, 80)
    ids = [random.integers(0, WORDS, length) for length in lengths]
    return [(row, np.ones_like(row)) for row in ids]


def run_model(model: onnx.ModelProto, texts: list[EncodedText]) -> list[np.ndarray]:
    """Return the answers to each text, all of them in one batch."""
    shape = (len(texts), max(len(ids) for ids, _ in texts))
    ids, mask = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for row, (text, ones) in enumerate(texts):
        ids[row, : len(text)], mask[row, : len(text)] = text, ones
    session = onnxruntime.InferenceSession(model.SerializeToString())
    answers = session.run(None, {"ids": ids, "mask": mask})[0]
    return [row[: len(text)] for row, (text, _) in zip(answers, texts, strict=True)]


def derive(model: onnx.ModelProto, folder: Path) -> onnx.ModelProto:
    write_int8_form(model, folder / "int8.onnx")
    derived = onnx.load(folder / "int8.onnx")
    onnx.checker.check_model(derived)
    return derived


def test_weights_keep_to_seven_bits_output_by_output(
    model: onnx.ModelProto, tmp_path: Path
) -> None:
    before = model.SerializeToString()
    derived = derive(model, tmp_path)
    assert model.SerializeToString() == before
    constants = {one.name: numpy_helper.to_array(one) for one in derived.graph.initializer}
    assert not {"words", "layer", "last"} & set(constants)
    for wide in (WIDTH, ANSWERS):
        (weights,) = (
            value
            for value in constants.values()
            if value.dtype == np.int8 and value.shape == (WIDTH, wide)
        )
        assert 60 <= np.abs(weights).max() <= 64  # two products with 255 stay below 2 ** 15
        assert any(one.shape == (wide,) for one in constants.values() if one.dtype == np.float32)
    assert derived.ByteSize() < 0.5 * model.ByteSize()


def test_it_adds_only_operators_that_every_cpu_has(model: onnx.ModelProto, tmp_path: Path) -> None:
    derived = derive(model, tmp_path)
    assert list_operators(derived) - list_operators(model) == ON_EVERY_CPU


def list_operators(model: onnx.ModelProto) -> set[str]:
    return {":".join(filter(None, (node.domain, node.op_type))) for node in model.graph.node}


def test_answers_are_close_to_those_in_fp32(
    model: onnx.ModelProto, texts: list[EncodedText], tmp_path: Path
) -> None:
    derived = derive(model, tmp_path)
    expected = np.concatenate([run_model(model, [text])[0] for text in texts[40:]])
    answers = np.concatenate([run_model(derived, [text])[0] for text in texts[40:]])
    assert np.abs(answers - expected).max() <= 0.05 * np.abs(expected).max()


def test_equal_graphs_give_equal_bytes(model: onnx.ModelProto, tmp_path: Path) -> None:
    paths = [tmp_path / "first.onnx", tmp_path / "second.onnx"]
    for path in paths:
        write_int8_form(model, path)
    assert paths[0].read_bytes() == paths[1].read_bytes()
