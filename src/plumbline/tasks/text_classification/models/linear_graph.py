"""The ONNX graph of linear models, written operator by operator: five of them each.

PyTorch's exporter takes ten CPU seconds for the same, most of it for its table of operators.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

OPSET, IR_VERSION = 20, 10


class GraphWriter:
    """Collects operators and constants, whose names begin with `prefix`."""

    def __init__(self, prefix: str) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._prefix = prefix

    def add_constant(self, kind: str, value: np.ndarray) -> str:
        """Add a constant; return its name."""
        from onnx import numpy_helper

        name = f"{self._prefix}.{kind}.{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(value, name))
        return name

    def add_node(self, kind: str, inputs: list[str], output: str = "", **attributes: Any) -> str:
        """Add an operator; return the name of its output."""
        from onnx import helper

        output = output or f"{self._prefix}.{kind}.{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], domain="", **attributes))
        return output


def build_linear_graph(
    names: tuple[str, str], weights: Sequence[tuple[np.ndarray, np.ndarray]], *, is_ensemble: bool
) -> Any:
    """Return an onnx.ModelProto that computes the logits (rows, classes) of a linear model.

    `weights` are the table (grams, classes) and the bias (classes,) of each member; the logits of
    an ensemble are (rows, members, classes).
    """
    from onnx import TensorProto, helper

    writer = GraphWriter("linear")
    ids, values = names
    tokens = writer.add_constant("tokens", np.array([1]))
    last = writer.add_constant("last", np.array([2]))
    columns = writer.add_node("Unsqueeze", [values, last])
    members = []
    for number, (table, bias) in enumerate(weights):
        rows = writer.add_node("Gather", [writer.add_constant(f"table.{number}", table), ids])
        weighted = writer.add_node("Mul", [rows, columns])
        sums = writer.add_node("ReduceSum", [weighted, tokens], keepdims=0)
        inputs = [sums, writer.add_constant(f"bias.{number}", bias)]
        if not is_ensemble:
            writer.add_node("Add", inputs, "logits")
        else:
            logits = writer.add_node("Add", inputs)
            members.append(writer.add_node("Unsqueeze", [logits, tokens]))
    if is_ensemble:
        writer.add_node("Concat", members, "logits", axis=1)
    num_classes = len(weights[0][1])
    shape: list[str | int | None] = ["rows", num_classes]
    if is_ensemble:
        shape.insert(1, len(weights))
    graph = helper.make_graph(
        writer.nodes,
        "linear",
        [
            helper.make_tensor_value_info(ids, TensorProto.INT64, ["rows", "tokens"]),
            helper.make_tensor_value_info(values, TensorProto.FLOAT, ["rows", "tokens"]),
        ],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, shape)],
        writer.constants,
    )
    return helper.make_model(
        graph, ir_version=IR_VERSION, opset_imports=[helper.make_opsetid("", OPSET)]
    )
