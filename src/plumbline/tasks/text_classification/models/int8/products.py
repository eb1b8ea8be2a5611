"""The products of a graph that int8 forms compute: states times a constant matrix of weights."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Constants = Mapping[str, Any]  # onnx.TensorProto by name


@dataclass(frozen=True)
class Product:
    """A product with the bias that is added to it."""

    states: str  # the name of its input (rows, tokens, width)
    weights: np.ndarray  # (width, outputs), float32
    bias: np.ndarray | None  # (outputs,), float32
    place: str  # the output of the operator that multiplies
    output: str  # with the bias; `place` where one operator does both


def find_products(graph: Any) -> dict[str, list[Product]]:
    """Map the name of each value that is multiplied by weights to its products, in graph order.

    `graph` is an onnx.GraphProto. The head, whose weights are transposed, stays in fp32.
    """
    constants = {weight.name: weight for weight in graph.initializer}
    readers = _list_readers(graph)
    products: dict[str, list[Product]] = {}
    for node in graph.node:
        product = None
        if node.op_type == "MatMul":
            product = _read_matmul(node, constants, readers)
        elif node.op_type == "Gemm":
            product = _read_gemm(node, constants)
        if product is not None and product.states not in constants:
            products.setdefault(product.states, []).append(product)
    return products


def read_constant(constants: Constants, name: str, num_axes: int) -> np.ndarray | None:
    """Return the numbers of a constant; None for what is none, or not fp32 of so many axes."""
    from onnx import numpy_helper

    constant = constants.get(name)
    if constant is None or len(constant.dims) != num_axes:
        return None
    values: np.ndarray = numpy_helper.to_array(constant)
    return values if values.dtype == np.float32 else None


def _list_readers(graph: Any) -> dict[str, list[Any]]:
    """Map each value to the operators that read it; an output of the graph has None among them."""
    readers: dict[str, list[Any]] = {value.name: [None] for value in graph.output}
    for node in graph.node:
        for name in node.input:
            readers.setdefault(name, []).append(node)
    return readers


def _read_matmul(
    node: Any, constants: Constants, readers: Mapping[str, Sequence[Any]]
) -> Product | None:
    states, place = node.input[0], node.output[0]
    weights = read_constant(constants, node.input[1], 2)
    if weights is None:
        return None
    reader, *others = readers.get(place, [None])
    if reader is not None and reader.op_type == "Add" and not others:
        for name in reader.input:
            bias = read_constant(constants, name, 1)
            if bias is not None and len(bias) == weights.shape[1]:
                return Product(states, weights, bias, place, reader.output[0])
    return Product(states, weights, None, place, place)


def _read_gemm(node: Any, constants: Constants) -> Product | None:
    """Read a layer as GPT-2 has it: states times weights plus bias in one operator."""
    from onnx import helper

    plain = {"alpha": 1.0, "beta": 1.0, "transA": 0, "transB": 0}
    for attribute in node.attribute:
        if helper.get_attribute_value(attribute) != plain[attribute.name]:
            return None
    weights = read_constant(constants, node.input[1], 2)
    bias = read_constant(constants, node.input[2], 1) if len(node.input) == 3 else None
    if weights is None or (bias is None and len(node.input) == 3):
        return None
    return Product(node.input[0], weights, bias, node.output[0], node.output[0])
