"""The form `int8-row`: the activations of each token are rounded on a scale of their own.

The scale is computed at run time, from the numbers of that token alone, so a text is answered alike
alone and in company. It is closer to fp32 than fixed scales are, and slower: each product reads its
activations three times.
"""

from typing import Any

import numpy as np

from plumbline.tasks.text_classification.models.int8.products import Product, find_products
from plumbline.tasks.text_classification.models.int8.rewriting import (
    ORT,
    GraphWriter,
    replace_nodes,
)
from plumbline.tasks.text_classification.models.int8.rounding import round_weights

LARGEST = np.float32(127)
ZERO_POINT = np.uint8(128)
LEAST = np.float32(1e-30)  # in place of the scale of a row of zeros


def round_rows(model: Any) -> None:
    """Replace the products in `model`, an onnx.ModelProto, by int8 ones."""
    writers = {}
    for number, (states, products) in enumerate(find_products(model.graph).items()):
        writer = GraphWriter(f"row.{number}")
        _write_products(writer, states, products)
        writers[products[0].place] = writer
    replace_nodes(model, writers)


def _write_products(writer: GraphWriter, states: str, products: list[Product]) -> None:
    axis = writer.add_constant("axis", np.array([-1]))
    one = writer.add_constant("one", np.float32(1))
    zero_point = writer.add_constant("zero_point", ZERO_POINT)
    magnitudes = writer.add_node("Abs", [states])
    largest = writer.add_node("ReduceMax", [magnitudes, axis], keepdims=1)
    positive = writer.add_node("Max", [largest, writer.add_constant("least", LEAST)])
    scale = writer.add_node("Mul", [positive, writer.add_constant("step", 1 / LARGEST)])
    steps = writer.add_node("Div", [states, scale])
    rounded = writer.add_node("QuantizeLinear", [steps, one, zero_point])
    for product in products:
        weights, scales = round_weights(product.weights)
        inputs = [rounded, writer.add_constant("weights", weights), one]
        inputs += [writer.add_constant("scales", scales), zero_point]
        sums = writer.add_node("MatMulIntegerToFloat", inputs, domain=ORT)
        if product.bias is None:
            writer.add_node("Mul", [sums, scale], product.output)
        else:
            scaled = writer.add_node("Mul", [sums, scale])
            bias = writer.add_constant("bias", product.bias)
            writer.add_node("Add", [scaled, bias], product.output)
