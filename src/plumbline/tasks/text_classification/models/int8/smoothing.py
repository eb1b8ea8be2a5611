"""Moves what is hard to round from states to weights, channel by channel.

A few channels of an encoder's states are many times larger than the others, and one scale for all
leaves these few steps. Dividing a channel of the states, and multiplying its row of the weights, by
one factor changes no product (SmoothQuant: Xiao et al. 2023, arXiv:2211.10438). Where the states
come out of a LayerNorm, its own scale and shift take the division.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from plumbline.tasks.text_classification.models.int8.products import (
    Constants,
    Product,
    find_products,
    read_constant,
)
from plumbline.tasks.text_classification.models.int8.rewriting import GraphWriter, replace_nodes
from plumbline.tasks.text_classification.models.int8.states import measure_bounds
from plumbline.tasks.text_classification.predictor import EncodedText

STRENGTH = 0.5  # 0: only weights stay as they are; 1: all channels of the states get equally large


def smooth_graph(model: Any, texts: Sequence[EncodedText]) -> None:
    """Smooth all states in `model`, an onnx.ModelProto in fp32, that come out of a LayerNorm.

    Its answers stay as they are. `texts` show how large the channels are.
    """
    products = find_products(model.graph)
    norms = {name: node for name, node in _find_norms(model.graph).items() if name in products}
    bounds = measure_bounds(model, list(norms), texts)
    constants = {weight.name: weight for weight in model.graph.initializer}
    writers = {}
    for number, (states, node) in enumerate(norms.items()):
        low, high = bounds[states]
        largest = np.maximum(np.abs(low), np.abs(high))
        factors = choose_factors(largest, [product.weights for product in products[states]])
        writer = GraphWriter(f"smooth.{number}")
        smoothed = _write_norm(writer, node, constants, factors)
        _write_products(writer, smoothed, products[states], factors)
        writers[states] = writer
    replace_nodes(model, writers)


def choose_factors(largest: np.ndarray, weights: Sequence[np.ndarray]) -> np.ndarray:
    """Return what each channel of the states is divided by, shape (width,), float32.

    `largest` (width,) is the largest magnitude of each channel, `weights` are those of all products
    of these states, (width, outputs) each. Factors are powers of two, which change no digit of a
    number, and which a last bit that differs on another machine nearly never changes.
    """
    rows = np.max([np.abs(one).max(axis=1) for one in weights], axis=0)
    used = (largest > 0) & (rows > 0)
    logs = np.zeros(len(largest))
    logs[used] = STRENGTH * np.log2(largest[used]) - (1 - STRENGTH) * np.log2(rows[used])
    if used.any():
        logs[used] -= logs[used].mean()
    factors: np.ndarray = np.exp2(np.rint(logs)).astype(np.float32)
    return factors


def _find_norms(graph: Any) -> dict[str, Any]:
    """Map the output of each LayerNorm over the last axis, of constant scale, to its operator."""
    constants = {weight.name: weight for weight in graph.initializer}
    norms = {}
    for node in graph.node:
        is_last = all(one.i == -1 for one in node.attribute if one.name == "axis")
        if node.op_type == "LayerNormalization" and is_last:
            values = [read_constant(constants, name, 1) for name in node.input[1:]]
            if all(value is not None for value in values):
                norms[node.output[0]] = node
    return norms


def _write_norm(writer: GraphWriter, node: Any, constants: Constants, factors: np.ndarray) -> str:
    """Write the LayerNorm with divided channels; return the name of its output.

    What reads the states besides the products gets them multiplied again.
    """
    inputs = [node.input[0]]
    for name in node.input[1:]:
        value = read_constant(constants, name, 1)
        inputs.append(writer.add_constant("norm", value / factors))
    attributes = {one.name: one.f for one in node.attribute if one.name == "epsilon"}
    smoothed = writer.add_node("LayerNormalization", inputs, **attributes)
    writer.add_node("Mul", [smoothed, writer.add_constant("factors", factors)], node.output[0])
    return smoothed


def _write_products(
    writer: GraphWriter, smoothed: str, products: Sequence[Product], factors: np.ndarray
) -> None:
    for product in products:
        weights = writer.add_constant("weights", product.weights * factors[:, None])
        if product.bias is None:
            writer.add_node("MatMul", [smoothed, weights], product.output)
        else:
            sums = writer.add_node("MatMul", [smoothed, weights])
            bias = writer.add_constant("bias", product.bias)
            writer.add_node("Add", [sums, bias], product.output)
