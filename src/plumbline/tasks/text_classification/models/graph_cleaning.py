"""Cleans an exported ONNX graph of source paths and of operators that do nothing."""

from collections.abc import Iterator
from typing import Any


def clean_graph(model: Any) -> None:
    """Remove source paths, so that the digest is the model's, and redundant reshapes."""
    for item in _iterate_described_parts(model):
        del item.metadata_props[:]
        item.doc_string = ""
    _drop_redundant_reshapes(model.graph)
    del model.graph.value_info[:]  # ONNX Runtime computes the shapes itself


def remove_unused_nodes(graph: Any) -> None:
    """Remove nodes and weights that no output depends on."""
    needed = {value.name for value in graph.output}
    kept = []
    for node in reversed(graph.node):
        if needed.intersection(node.output):
            kept.append(node)
            needed.update(node.input)
    replace_items(graph.node, kept[::-1])
    replace_items(
        graph.initializer, [weight for weight in graph.initializer if weight.name in needed]
    )


def replace_items(items: Any, others: list[Any]) -> None:
    """Put `others` in the place of all `items` of a repeated field."""
    del items[:]
    items.extend(others)


def _iterate_described_parts(model: Any) -> Iterator[Any]:
    """Yield every part of a model that can have metadata."""
    yield model
    for part in [model.graph, *model.functions]:
        yield part
        yield from part.node
    yield from [*model.graph.input, *model.graph.output, *model.graph.value_info]


def _drop_redundant_reshapes(graph: Any) -> None:
    """Connect past reshapes to the shape that a value has already.

    PyTorch's attention splits rows of states into heads and joins them again; the operator that
    replaces it does so itself.
    """
    sizes = {value.name: _read_sizes(value) for value in [*graph.value_info, *graph.input]}
    replacements = _find_reshape_sources(graph, sizes)
    for node in graph.node:
        replace_items(node.input, [replacements.get(name, name) for name in node.input])
    remove_unused_nodes(graph)


def _find_reshape_sources(graph: Any, sizes: dict[str, tuple[Any, ...]]) -> dict[str, str]:
    """Map each reshaped value to the value that it equals, in content and in shape."""
    sources = {}
    for node in graph.node:
        if node.op_type == "Reshape":
            sources[node.output[0]] = node.input[0]
    replacements = {}
    for name in sources:
        source = name
        while source in sources:
            source = sources[source]
        if sizes.get(source) and sizes[source] == sizes.get(name):
            replacements[name] = source
    return replacements


def _read_sizes(value: Any) -> tuple[Any, ...]:
    """Return sizes and names of sizes; an empty tuple if one is not known."""
    dimensions = value.type.tensor_type.shape.dim
    sizes = tuple(size.dim_value or size.dim_param for size in dimensions)
    return sizes if all(sizes) else ()
