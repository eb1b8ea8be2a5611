"""A trained network as an ONNX graph: in ONNX's own text, with the weights beside it.

Shapes: R rows, each asking for one frequency; T samples, K frequencies, D layers, H hidden units.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from tasks.signal_extraction.models.networks import FilmLstm, Network, StatefulLstm

HEADER = """<ir_version: 9, opset_import: ["": 20]>
signal_extraction (float[rows, samples] signal, float[rows, {num}] frequency,
    float[{layers}, rows, {hidden}] hidden, float[{layers}, rows, {hidden}] cell)
=> (float[rows, samples] component,
    float[{layers}, rows, {hidden}] hidden_after, float[{layers}, rows, {hidden}] cell_after)
"""
START = """turned = Transpose <perm = [1, 0]> (signal)
samples = Unsqueeze (turned, last)"""  # [T, R, 1]
ASKED = """zeros = Mul (samples, zero)
asked = Unsqueeze (frequency, first)
asked_always = Add (zeros, asked)
inputs = Concat <axis = 2> (samples, asked_always)"""  # [T, R, 1 + K]
LAYER = """hidden{n} = Slice (hidden, from{n}, to{n}, first)
cell{n} = Slice (cell, from{n}, to{n}, first)
states{n}, hidden_after{n}, cell_after{n} =
    LSTM <hidden_size = {hidden}> ({inputs}, W{n}, R{n}, B{n}, , hidden{n}, cell{n})
output{n} = Squeeze (states{n}, second)"""  # [T, 1, R, H] -> [T, R, H]
FILM = """mixed_plain = MatMul ({states}, mix)
mixed = Add (mixed_plain, mix_bias)
scale = MatMul (frequency, scales)
shift = MatMul (frequency, shifts)
scaled = Mul (mixed, scale)
shifted = Add (scaled, shift)
units = Relu (shifted)"""
HEAD = """weighed = MatMul ({states}, head)
answers = Add (weighed, head_bias)
answers_turned = Squeeze (answers, last)
component = Transpose <perm = [1, 0]> (answers_turned)"""


def build_graph(model: Network) -> Any:
    """Return an onnx.ModelProto.

    Inputs: signal [R, T], frequency (one-hot) [R, K], hidden and cell [D, R, H]. Outputs:
    component [R, T] and the states after it.
    """
    from onnx import checker, numpy_helper, parser

    sizes = {"layers": model.lstm.num_layers, "hidden": model.lstm.hidden_size}
    nodes = "\n".join(_list_nodes(model))
    proto = parser.parse_model(
        HEADER.format(num=model.num_frequencies, **sizes) + "{\n" + nodes + "\n}"
    )
    for name, value in _list_weights(model):
        proto.graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
    checker.check_model(proto, full_check=True)
    return proto


def _list_nodes(model: Network) -> Iterator[str]:
    yield START
    inputs = "samples"
    if isinstance(model, StatefulLstm):
        yield ASKED
        inputs = "inputs"
    layers = range(model.lstm.num_layers)
    for layer in layers:
        yield LAYER.format(n=layer, inputs=inputs, hidden=model.lstm.hidden_size)
        inputs = f"output{layer}"
    for kind in ("hidden", "cell"):
        after = ", ".join(f"{kind}_after{layer}" for layer in layers)
        yield f"{kind}_after = Concat <axis = 0> ({after})"
    if isinstance(model, FilmLstm):
        yield FILM.format(states=inputs)
        inputs = "units"
    yield HEAD.format(states=inputs)


def _list_weights(model: Network) -> Iterator[tuple[str, np.ndarray]]:
    yield from (("last", np.array([2])), ("second", np.array([1])), ("first", np.array([0])))
    if isinstance(model, StatefulLstm):
        yield "zero", np.zeros(1, np.float32)
    for layer in range(model.lstm.num_layers):
        weights = dict(model.lstm.named_parameters())
        yield f"W{layer}", _reorder_gates(weights[f"weight_ih_l{layer}"])[None]
        yield f"R{layer}", _reorder_gates(weights[f"weight_hh_l{layer}"])[None]
        biases = [_reorder_gates(weights[f"bias_{kind}_l{layer}"]) for kind in ("ih", "hh")]
        yield f"B{layer}", np.concatenate(biases)[None]
        yield f"from{layer}", np.array([layer])
        yield f"to{layer}", np.array([layer + 1])
    if isinstance(model, FilmLstm):
        yield "mix", _to_array(model.mix.weight).T
        yield "mix_bias", _to_array(model.mix.bias)
        yield "scales", _to_array(model.scale)
        yield "shifts", _to_array(model.shift)
    yield "head", _to_array(model.head.weight).T
    yield "head_bias", _to_array(model.head.bias)


def _reorder_gates(weights: torch.Tensor) -> np.ndarray:
    """Turn torch's order of gates (in, forget, cell, out) into ONNX's (in, out, forget, cell)."""
    gate_in, forget, cell, out = np.split(_to_array(weights), 4)
    return np.concatenate([gate_in, out, forget, cell])


def _to_array(tensor: torch.Tensor) -> np.ndarray:
    array: np.ndarray = tensor.detach().cpu().numpy()
    return array
