"""Writes operators into a graph in the place of others."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from plumbline.tasks.text_classification.models.graph_cleaning import (
    remove_unused_nodes,
    replace_items,
)

ORT = "com.microsoft"  # the domain of ONNX Runtime's own operators


class GraphWriter:
    """Collects operators and constants that are to take the place of others.

    Their names begin with `prefix`.
    """

    def __init__(self, prefix: str) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._prefix = prefix

    def add_constant(self, kind: str, value: Any) -> str:
        """Add a constant; return its name."""
        from onnx import numpy_helper

        name = f"{self._prefix}.{kind}.{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def add_node(
        self, kind: str, inputs: list[str], output: str = "", domain: str = "", **attributes: Any
    ) -> str:
        """Add an operator; return the name of its output."""
        from onnx import helper

        output = output or f"{self._prefix}.{kind}.{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], domain=domain, **attributes))
        return output


def replace_nodes(model: Any, writers: Mapping[str, GraphWriter]) -> None:
    """Put what each writer collected in the place of an operator: the one with this output.

    An operator whose output a writer writes is dropped, as is what no output depends on any more.
    """
    from onnx import helper

    graph = model.graph
    written = {name for writer in writers.values() for node in writer.nodes for name in node.output}
    nodes = []
    for node in graph.node:
        writer = writers.get(node.output[0])
        if writer:
            nodes.extend(writer.nodes)
        if node.output[0] not in written:
            nodes.append(node)
    replace_items(graph.node, nodes)
    for writer in writers.values():
        graph.initializer.extend(writer.constants)
    remove_unused_nodes(graph)
    if ORT not in {opset.domain for opset in model.opset_import}:
        model.opset_import.append(helper.make_opsetid(ORT, 1))
