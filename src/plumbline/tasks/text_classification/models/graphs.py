"""Tidies an exported ONNX graph: nothing of the machine that wrote it, and no operator that does nothing."""

from collections.abc import Iterator
from typing import Any


def tidy(model: Any) -> None:
    """Take out source paths, so that the digest is the model's, and reshapes to the shape that is there already."""
    for item in _described(model):
        del item.metadata_props[:]
        item.doc_string = ""
    _drop_idle_reshapes(model.graph)
    del model.graph.value_info[:]  # ONNX Runtime works them out itself


def _prune(graph: Any) -> None:
    """Take out nodes and weights on which no output rests."""
    needed, kept = {put.name for put in graph.output}, []
    for node in reversed(graph.node):
        if needed.intersection(node.output):
            kept.append(node)
            needed.update(node.input)
    _replace(graph.node, kept[::-1])
    _replace(graph.initializer, [weight for weight in graph.initializer if weight.name in needed])


def _replace(items: Any, others: list[Any]) -> None:
    """Put `others` in the place of all `items` of a repeated field."""
    del items[:]
    items.extend(others)


def _described(model: Any) -> Iterator[Any]:
    yield model
    for part in [model.graph, *model.functions]:
        yield part
        yield from part.node
    yield from [*model.graph.input, *model.graph.output, *model.graph.value_info]


def _drop_idle_reshapes(graph: Any) -> None:
    """Attention splits rows of states into heads and joins them again; its operator does so itself."""
    shapes = {put.name: _shape(put) for put in [*graph.value_info, *graph.input]}
    before = {node.output[0]: node.input[0] for node in graph.node if node.op_type == "Reshape"}
    same = {name: name for node in graph.node for name in node.input}
    for name in before:
        source = before[name]
        while source in before:
            source = before[source]
        if shapes.get(source) and shapes[source] == shapes.get(name):
            same[name] = source
    for node in graph.node:
        _replace(node.input, [same[name] for name in node.input])
    _prune(graph)


def _shape(put: Any) -> tuple[Any, ...]:
    """Sizes and names of sizes; nothing where one is not known."""
    sizes = tuple(size.dim_value or size.dim_param for size in put.type.tensor_type.shape.dim)
    return sizes if all(sizes) else ()
