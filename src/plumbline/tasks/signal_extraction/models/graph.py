"""A trained network as an ONNX graph, put together from its weights: operators that ONNX Runtime has as they are.

Shapes: R rows, each asking for one frequency; T samples, K frequencies, D layers, H hidden units.
"""

from typing import Any

import numpy as np
import torch

from plumbline.tasks.signal_extraction.models.networks import Conditioned, Film, Heads, Network

OPSET, IR = 20, 9


class _Graph:
    """Nodes and weights, as they come."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.weights: list[Any] = []

    def constant(self, name: str, value: np.ndarray) -> str:
        from onnx import numpy_helper

        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def add(self, operator: str, inputs: list[str], *outputs: str, **attributes: Any) -> str:
        from onnx import helper

        self.nodes.append(helper.make_node(operator, inputs, list(outputs), **attributes))
        return outputs[0]


def graph(model: Network) -> Any:
    """An onnx.ModelProto: signal [R, T], frequency (one-hot) [R, K], hidden and cell [D, R, H] -> component [R, T] and
    the states after it.
    """
    from onnx import TensorProto, checker, helper

    made = _Graph()
    for name, axes in (("last", [2]), ("second", [1]), ("first", [0])):
        made.constant(name, np.array(axes))
    made.add("Transpose", ["signal"], "turned", perm=[1, 0])
    made.add("Unsqueeze", ["turned", "last"], "samples")  # [T, R, 1]
    inputs = "samples"
    if isinstance(model, Conditioned):
        made.add("Mul", ["samples", made.constant("zero", np.zeros(1, np.float32))], "zeros")
        made.add("Unsqueeze", ["frequency", "first"], "asked")
        made.add("Add", ["zeros", "asked"], "asked_always")  # [T, R, K]
        inputs = made.add("Concat", ["samples", "asked_always"], "inputs", axis=2)
    states = _lstm(made, model.lstm, inputs)
    if isinstance(model, Film):
        states = _film(made, model, states)
    made.add("MatMul", [states, made.constant("head", _array(model.head.weight).T)], "weighed")
    made.add("Add", ["weighed", made.constant("head_bias", _array(model.head.bias))], "answers")
    if isinstance(model, Heads):
        made.add("Mul", ["answers", "frequency"], "asked_answers")  # [T, R, K], all but one 0
        made.add("ReduceSum", ["asked_answers", "last"], "answers_turned", keepdims=0)
    else:
        made.add("Squeeze", ["answers", "last"], "answers_turned")
    made.add("Transpose", ["answers_turned"], "component", perm=[1, 0])

    def put(name: str, *shape: Any) -> Any:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    state = (model.lstm.num_layers, "rows", model.lstm.hidden_size)
    taken = [put("signal", "rows", "samples"), put("frequency", "rows", model.num_frequencies)]
    taken += [put("hidden", *state), put("cell", *state)]
    given = [
        put("component", "rows", "samples"),
        put("hidden_after", *state),
        put("cell_after", *state),
    ]
    whole = helper.make_graph(made.nodes, "signal_extraction", taken, given, made.weights)
    proto = helper.make_model(whole, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR)
    checker.check_model(proto, full_check=True)
    return proto


def _lstm(made: _Graph, lstm: torch.nn.LSTM, inputs: str) -> str:
    """All layers, one operator each; the states [T, R, H] of the last."""
    ends: dict[str, list[str]] = {"hidden": [], "cell": []}
    for layer in range(lstm.num_layers):
        weights = [_gates(getattr(lstm, f"{kind}_l{layer}")) for kind in ("weight_ih", "weight_hh")]
        biases = [_gates(getattr(lstm, f"{kind}_l{layer}")) for kind in ("bias_ih", "bias_hh")]
        names = [
            made.constant(f"{kind}{layer}", value[None])
            for kind, value in zip("WR", weights, strict=True)
        ]
        names.append(made.constant(f"B{layer}", np.concatenate(biases)[None]))
        at, after = (
            made.constant(f"from{layer}", np.array([layer])),
            made.constant(f"to{layer}", np.array([layer + 1])),
        )
        before = [made.add("Slice", [kind, at, after, "first"], f"{kind}{layer}") for kind in ends]
        out = [f"states{layer}", f"hidden_after{layer}", f"cell_after{layer}"]
        made.add("LSTM", [inputs, *names, "", *before], *out, hidden_size=lstm.hidden_size)
        inputs = made.add(
            "Squeeze", [out[0], "second"], f"output{layer}"
        )  # [T, 1, R, H] -> [T, R, H]
        for kind, end in zip(ends, out[1:], strict=True):
            ends[kind].append(end)
    for kind, layers in ends.items():
        made.add("Concat", layers, f"{kind}_after", axis=0)
    return inputs


def _film(made: _Graph, model: Film, states: str) -> str:
    """The units [T, R, H] after they were scaled and shifted."""
    made.add("MatMul", [states, made.constant("mix", _array(model.mix.weight).T)], "mixed_plain")
    made.add("Add", ["mixed_plain", made.constant("mix_bias", _array(model.mix.bias))], "mixed")
    for name, table in (("scale", model.scale), ("shift", model.shift)):
        made.add("MatMul", ["frequency", made.constant(f"{name}s", _array(table))], name)  # [R, H]
    made.add("Mul", ["mixed", "scale"], "scaled")
    made.add("Add", ["scaled", "shift"], "shifted")
    return made.add("Relu", ["shifted"], "units")


def _gates(weights: torch.Tensor) -> np.ndarray:
    """From torch's order of gates (in, forget, cell, out) to that of ONNX (in, out, forget, cell)."""
    put, forget, cell, out = np.split(_array(weights), 4)
    return np.concatenate([put, out, forget, cell])


def _array(tensor: torch.Tensor) -> np.ndarray:
    found: np.ndarray = tensor.detach().cpu().numpy()
    return found
