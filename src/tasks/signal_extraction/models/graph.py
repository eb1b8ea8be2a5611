"""A trained network as an ONNX graph, built from its weights with operators of ONNX Runtime.

Shapes: R rows, each asking for one frequency; T samples, K frequencies, D layers, H hidden units.
"""

from typing import Any

import numpy as np
import torch

from tasks.signal_extraction.models.networks import (
    FilmLstm,
    Network,
    StatefulLstm,
    WindowLstm,
)

OPSET, IR = 20, 9


class _GraphBuilder:
    """Nodes and weights, in the order in which they are added."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.weights: list[Any] = []

    def add_constant(self, name: str, value: np.ndarray) -> str:
        from onnx import numpy_helper

        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def add_node(self, operator: str, inputs: list[str], *outputs: str, **attributes: Any) -> str:
        """Add an operator and return the name of its first output."""
        from onnx import helper

        self.nodes.append(helper.make_node(operator, inputs, list(outputs), **attributes))
        return outputs[0]


def build_graph(model: Network) -> Any:
    """Return an onnx.ModelProto.

    Inputs: signal [R, T], frequency (one-hot) [R, K], hidden and cell [D, R, H]. Outputs:
    component [R, T] and the states after it.
    """
    from onnx import TensorProto, checker, helper

    builder = _GraphBuilder()
    for name, axes in (("last", [2]), ("second", [1]), ("first", [0])):
        builder.add_constant(name, np.array(axes))
    builder.add_node("Transpose", ["signal"], "turned", perm=[1, 0])
    builder.add_node("Unsqueeze", ["turned", "last"], "samples")  # [T, R, 1]
    inputs = "samples"
    if isinstance(model, StatefulLstm):
        builder.add_node(
            "Mul", ["samples", builder.add_constant("zero", np.zeros(1, np.float32))], "zeros"
        )
        builder.add_node("Unsqueeze", ["frequency", "first"], "asked")
        builder.add_node("Add", ["zeros", "asked"], "asked_always")  # [T, R, K]
        inputs = builder.add_node("Concat", ["samples", "asked_always"], "inputs", axis=2)
    states = _add_lstm(builder, model.lstm, inputs)
    if isinstance(model, FilmLstm):
        states = _add_film(builder, model, states)
    builder.add_node(
        "MatMul", [states, builder.add_constant("head", _to_array(model.head.weight).T)], "weighed"
    )
    builder.add_node(
        "Add", ["weighed", builder.add_constant("head_bias", _to_array(model.head.bias))], "answers"
    )
    if isinstance(model, WindowLstm):
        builder.add_node(
            "Mul", ["answers", "frequency"], "asked_answers"
        )  # [T, R, K], all but one 0
        builder.add_node("ReduceSum", ["asked_answers", "last"], "answers_turned", keepdims=0)
    else:
        builder.add_node("Squeeze", ["answers", "last"], "answers_turned")
    builder.add_node("Transpose", ["answers_turned"], "component", perm=[1, 0])

    def declare(name: str, *shape: Any) -> Any:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    state = (model.lstm.num_layers, "rows", model.lstm.hidden_size)
    inputs_declared = [
        declare("signal", "rows", "samples"),
        declare("frequency", "rows", model.num_frequencies),
    ]
    inputs_declared += [declare("hidden", *state), declare("cell", *state)]
    outputs_declared = [
        declare("component", "rows", "samples"),
        declare("hidden_after", *state),
        declare("cell_after", *state),
    ]
    whole = helper.make_graph(
        builder.nodes, "signal_extraction", inputs_declared, outputs_declared, builder.weights
    )
    proto = helper.make_model(whole, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR)
    checker.check_model(proto, full_check=True)
    return proto


def _add_lstm(builder: _GraphBuilder, lstm: torch.nn.LSTM, inputs: str) -> str:
    """Add all layers, one operator each; return the states [T, R, H] of the last."""
    ends: dict[str, list[str]] = {"hidden": [], "cell": []}
    for layer in range(lstm.num_layers):
        weights = [
            _reorder_gates(getattr(lstm, f"{kind}_l{layer}")) for kind in ("weight_ih", "weight_hh")
        ]
        biases = [
            _reorder_gates(getattr(lstm, f"{kind}_l{layer}")) for kind in ("bias_ih", "bias_hh")
        ]
        names = [
            builder.add_constant(f"{kind}{layer}", value[None])
            for kind, value in zip("WR", weights, strict=True)
        ]
        names.append(builder.add_constant(f"B{layer}", np.concatenate(biases)[None]))
        at = builder.add_constant(f"from{layer}", np.array([layer]))
        after = builder.add_constant(f"to{layer}", np.array([layer + 1]))
        before = [
            builder.add_node("Slice", [kind, at, after, "first"], f"{kind}{layer}") for kind in ends
        ]
        out = [f"states{layer}", f"hidden_after{layer}", f"cell_after{layer}"]
        builder.add_node("LSTM", [inputs, *names, "", *before], *out, hidden_size=lstm.hidden_size)
        # [T, 1, R, H] -> [T, R, H]
        inputs = builder.add_node("Squeeze", [out[0], "second"], f"output{layer}")
        for kind, end in zip(ends, out[1:], strict=True):
            ends[kind].append(end)
    for kind, layers in ends.items():
        builder.add_node("Concat", layers, f"{kind}_after", axis=0)
    return inputs


def _add_film(builder: _GraphBuilder, model: FilmLstm, states: str) -> str:
    """Add the layer whose units [T, R, H] are scaled and shifted; return its output."""
    builder.add_node(
        "MatMul",
        [states, builder.add_constant("mix", _to_array(model.mix.weight).T)],
        "mixed_plain",
    )
    builder.add_node(
        "Add", ["mixed_plain", builder.add_constant("mix_bias", _to_array(model.mix.bias))], "mixed"
    )
    for name, table in (("scale", model.scale), ("shift", model.shift)):
        builder.add_node(
            "MatMul", ["frequency", builder.add_constant(f"{name}s", _to_array(table))], name
        )  # [R, H]
    builder.add_node("Mul", ["mixed", "scale"], "scaled")
    builder.add_node("Add", ["scaled", "shift"], "shifted")
    return builder.add_node("Relu", ["shifted"], "units")


def _reorder_gates(weights: torch.Tensor) -> np.ndarray:
    """Turn torch's order of gates (in, forget, cell, out) into ONNX's (in, out, forget, cell)."""
    gate_in, forget, cell, out = np.split(_to_array(weights), 4)
    return np.concatenate([gate_in, out, forget, cell])


def _to_array(tensor: torch.Tensor) -> np.ndarray:
    array: np.ndarray = tensor.detach().cpu().numpy()
    return array
