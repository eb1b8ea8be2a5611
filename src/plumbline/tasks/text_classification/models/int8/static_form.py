"""The form `int8-static`: activations are rounded on scales that are fixed at export.

No scale depends on the texts of a call, so a text is answered alike alone and in company.
"""

from collections.abc import Sequence
from typing import Any

from plumbline.tasks.text_classification.models.int8.products import Product, find_products
from plumbline.tasks.text_classification.models.int8.ranges import (
    ActivationRange,
    Histogram,
    choose_range,
)
from plumbline.tasks.text_classification.models.int8.rewriting import (
    ORT,
    GraphWriter,
    replace_nodes,
)
from plumbline.tasks.text_classification.models.int8.rounding import round_weights
from plumbline.tasks.text_classification.models.int8.smoothing import smooth_graph
from plumbline.tasks.text_classification.models.int8.states import (
    iterate_states,
    measure_bounds,
)
from plumbline.tasks.text_classification.predictor import EncodedText


def round_statically(model: Any, texts: Sequence[EncodedText]) -> None:
    """Replace the products in `model`, an onnx.ModelProto in fp32, by int8 ones.

    `texts`, of the train split, show which numbers 8 bits have to cover.
    """
    smooth_graph(model, texts)
    products = find_products(model.graph)
    ranges = _choose_ranges(model, list(products), texts)
    writers = {}
    for number, (states, users) in enumerate(products.items()):
        writer = GraphWriter(f"static.{number}")
        _write_products(writer, states, users, ranges[states])
        writers[users[0].place] = writer
    replace_nodes(model, writers)


def _choose_ranges(
    model: Any, names: Sequence[str], texts: Sequence[EncodedText]
) -> dict[str, ActivationRange]:
    bounds = measure_bounds(model, names, texts)
    histograms = {
        name: Histogram(float(low.min()), float(high.max())) for name, (low, high) in bounds.items()
    }
    for states in iterate_states(model, names, texts):
        for name, values in states.items():
            histograms[name].add(values)
    return {name: choose_range(histogram) for name, histogram in histograms.items()}


def _write_products(
    writer: GraphWriter, states: str, products: Sequence[Product], chosen: ActivationRange
) -> None:
    scale = writer.add_constant("scale", chosen.scale)
    zero_point = writer.add_constant("zero_point", chosen.zero_point)
    rounded = writer.add_node("QuantizeLinear", [states, scale, zero_point])
    for product in products:
        weights, scales = round_weights(product.weights)
        inputs = [rounded, writer.add_constant("weights", weights), scale]
        inputs += [writer.add_constant("scales", scales), zero_point]
        if product.bias is not None:
            inputs += ["", writer.add_constant("bias", product.bias)]
        writer.add_node("MatMulIntegerToFloat", inputs, product.output, ORT)
