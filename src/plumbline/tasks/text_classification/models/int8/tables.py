"""Rounds tables of word vectors to 8 bits, each vector on a scale of its own."""

from typing import Any

import numpy as np

from plumbline.tasks.text_classification.models.int8.products import read_constant
from plumbline.tasks.text_classification.models.int8.rewriting import GraphWriter, replace_nodes

LARGEST = 127


def round_tables(model: Any) -> None:
    """Replace each look-up in a table of `model`, an onnx.ModelProto in fp32, by one in int8."""
    constants = {weight.name: weight for weight in model.graph.initializer}
    writers = {}
    for number, node in enumerate(model.graph.node):
        is_of_rows = node.op_type == "Gather" and all(one.i == 0 for one in node.attribute)
        table = read_constant(constants, node.input[0], 2) if is_of_rows else None
        if table is not None:
            writer = GraphWriter(f"table.{number}")
            _write_look_up(writer, table, node.input[1], node.output[0])
            writers[node.output[0]] = writer
    replace_nodes(model, writers)


def _write_look_up(writer: GraphWriter, table: np.ndarray, ids: str, output: str) -> None:
    from onnx import TensorProto

    largest = np.abs(table).max(axis=1, keepdims=True)
    scales = np.where(largest > 0, largest, 1.0).astype(np.float32) / np.float32(LARGEST)
    numbers = np.rint(table / scales).astype(np.int8)
    rows = writer.add_node("Gather", [writer.add_constant("rows", numbers), ids])
    row_scales = writer.add_node("Gather", [writer.add_constant("scales", scales), ids])
    floats = writer.add_node("Cast", [rows], to=TensorProto.FLOAT)
    writer.add_node("Mul", [floats, row_scales], output)
