"""An int8 form of an exported graph in which a row's answer does not hang on the rows beside it.

Weights are quantised once, each output of a layer on a scale of its own, and activations as they come, each token on a
scale of its own (ZeroQuant, Yao et al. 2022, arXiv:2206.01861). ONNX Runtime's quantize_dynamic knows one scale for
all of a batch: an answer then differs by who else asks, and is not the one that was measured.

Shapes: T tokens of all rows, K inputs and N outputs of a layer.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from plumbline.tasks.text_classification.models.graphs import prune, replace

MIDDLE, REACH = 128, 127  # of activations, as uint8: CPUs multiply it with int8
# Weights keep to 7 bits: two products of 255 and 64 still fit into the 16 bits in which CPUs without VNNI add them up,
# so that every machine gives the same answer.
WEIGHT_REACH = 64
VECTOR_REACH = 127  # word vectors are looked up, not multiplied
MANY_ROWS = 1000  # a table smaller than this is not worth it
TINY = 1e-8  # the largest activation of a token that is all zeros
AS_VECTOR = [-1]


def quantised(model: Any) -> Any:
    """A copy of `model`, an onnx.ModelProto in fp32, whose layers and word vectors are int8."""
    import onnx

    made = onnx.ModelProto()
    made.CopyFrom(model)
    graph = _Graph(made.graph)
    replace(made.graph.node, [node for old in list(made.graph.node) for node in graph.rewritten(old)])
    prune(made.graph)
    if all(used.domain != "com.microsoft" for used in made.opset_import):
        made.opset_import.append(onnx.helper.make_opsetid("com.microsoft", 1))
    return made


class _Graph:
    """A graph as it is rewritten node by node, with what is already there of it in int8."""

    def __init__(self, graph: Any) -> None:
        from onnx import numpy_helper

        self._graph = graph
        self._weights = {weight.name: numpy_helper.to_array(weight) for weight in graph.initializer}
        self._constants: set[str] = set()
        self._tokens: dict[str, tuple[str, str]] = {}  # activation -> its int8 form, its scales

    def rewritten(self, node: Any) -> Iterator[Any]:
        """The nodes that take the place of `node`."""
        weight = self._weights.get(node.input[1] if node.op_type == "MatMul" else node.input[0] if node.input else "")
        if weight is not None and weight.ndim == 2 and node.op_type == "MatMul":
            yield from self._layer(node, weight)
        elif weight is not None and weight.ndim == 2 and node.op_type == "Gather" and len(weight) >= MANY_ROWS:
            yield from self._lookup(node, weight)
        else:
            yield node

    def _layer(self, node: Any, weight: np.ndarray) -> Iterator[Any]:
        """x @ W: (whole numbers of x) @ (whole numbers of W), times the scales of W [N] and of x [T, 1]."""
        (source, name), (output,) = node.input, node.output
        if source not in self._tokens:
            yield from self._by_token(source, len(weight))
        whole, scales = self._tokens[source]
        numbers, spread = _whole(weight, 0, WEIGHT_REACH)
        inputs = [
            whole,
            self._constant(f"{name}.int8", numbers),
            self._constant("int8.one", np.float32(1)),
            self._constant(f"{name}.scale", spread.ravel()),
            self._constant("int8.middle", np.uint8(MIDDLE)),
        ]
        yield _node("MatMulIntegerToFloat", inputs, f"{output}.unscaled", domain="com.microsoft")
        yield _node("Mul", [f"{output}.unscaled", scales], output)

    def _by_token(self, source: str, width: int) -> Iterator[Any]:
        """`source` (..., K) as uint8 around MIDDLE, and scales (..., 1) by which each token is that much smaller."""
        own = f"{source}.tokens"
        vector = self._constant("int8.vector", np.array(AS_VECTOR))
        yield _node("Abs", [source], f"{own}.sizes")
        yield _node("ReduceMax", [f"{own}.sizes", vector], f"{own}.largest")
        yield _node("Max", [f"{own}.largest", self._constant("int8.tiny", np.float32(TINY))], f"{own}.reach")
        yield _node("Mul", [f"{own}.reach", self._constant("int8.step", np.float32(1 / REACH))], f"{own}.scales")
        # QuantizeLinear knows scales along one axis: all tokens of all rows stand along it
        rows = self._constant(f"int8.rows_of_{width}", np.array([-1, width]))
        yield _node("Reshape", [source, rows], f"{own}.rows")
        yield _node("Reshape", [f"{own}.scales", vector], f"{own}.each")
        yield _node("Shape", [f"{own}.each"], f"{own}.count")
        middle = self._constant("int8.middle", np.uint8(MIDDLE))
        yield _node("Expand", [middle, f"{own}.count"], f"{own}.middles")
        yield _node("QuantizeLinear", [f"{own}.rows", f"{own}.each", f"{own}.middles"], f"{own}.flat", axis=0)
        yield _node("Shape", [source], f"{own}.shape")
        yield _node("Reshape", [f"{own}.flat", f"{own}.shape"], own)
        self._tokens[source] = own, f"{own}.scales"

    def _lookup(self, node: Any, table: np.ndarray) -> Iterator[Any]:
        """Vectors of a table [rows, K], each row on its own scale."""
        import onnx

        (name, ids), (output,) = node.input, node.output
        numbers, scales = _whole(table, 1, VECTOR_REACH)
        yield _node("Gather", [self._constant(f"{name}.int8", numbers), ids], f"{output}.int8")
        yield _node("Gather", [self._constant(f"{name}.scale", scales), ids], f"{output}.scale")
        yield _node("Cast", [f"{output}.int8"], f"{output}.whole", to=onnx.TensorProto.FLOAT)
        yield _node("Mul", [f"{output}.whole", f"{output}.scale"], output)

    def _constant(self, name: str, value: np.ndarray | np.generic) -> str:
        from onnx import numpy_helper

        if name not in self._constants:
            self._constants.add(name)
            self._graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
        return name


def _whole(values: np.ndarray, axis: int, reach: int) -> tuple[np.ndarray, np.ndarray]:
    """`values` as int8 from -reach to reach, and the scales that give them back, equal along `axis`."""
    scales = np.maximum(np.abs(values).max(axis=axis, keepdims=True), TINY) / reach
    return np.round(values / scales).astype(np.int8), scales.astype(np.float32)


def _node(kind: str, inputs: list[str], output: str, domain: str = "", **attributes: Any) -> Any:
    import onnx

    return onnx.helper.make_node(kind, inputs, [output], domain=domain, **attributes)
