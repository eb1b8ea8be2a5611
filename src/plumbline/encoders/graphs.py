"""Graphs of ONNX Runtime: from a torch module, in int8, and how far two of them differ."""

import logging
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch

from plumbline.contract.records import ExportDifference

OPSET = 20
LAYERS = ["MatMul", "Gather"]  # the products, and the table of word vectors
# A mark that the graph is prepared; without it the quantiser advises what export has done already.
PREPARED = {"onnx.quant.pre_process": "onnxruntime.quant"}
# As a share of the largest number of a table: another machine gives other last digits of constants
# that are folded.
ROUNDING = 1e-6


def export_graph(model: torch.nn.Module, batch: dict[str, torch.Tensor], output: str) -> Any:
    """Return the graph of `model` with one `output`, as an onnx.ModelProto.

    `batch` holds what the model reads, by name, each of shape (rows, tokens): at least two of both,
    or the graph would be one for a single row.
    """
    num_rows = torch.export.Dim("rows", min=1)
    num_tokens = torch.export.Dim("tokens", min=1)
    # The exporter reports that torchvision is missing, which no text model uses.
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter's own deprecations
        program: Any = torch.onnx.export(
            model,
            kwargs=batch,
            dynamo=True,
            dynamic_shapes={name: {0: num_rows, 1: num_tokens} for name in batch},
            input_names=list(batch),
            output_names=[output],
            opset_version=OPSET,
            verbose=False,
            optimize=True,
        )
    graph = program.model_proto  # this property makes a new copy at each access
    _remove_paths(graph)
    del graph.graph.value_info[:]  # ONNX Runtime computes the shapes itself
    return graph


def _remove_paths(model: Any) -> None:
    """Remove what names source files, so that the digest is the model's."""
    parts = [model]
    for part in [model.graph, *model.functions]:
        parts += [part, *part.node]
    for part in [*parts, *model.graph.input, *model.graph.output]:
        del part.metadata_props[:]
        part.doc_string = ""


def write_int8_form(model: Any, path: Path) -> None:
    """Write `model`, an onnx.ModelProto in fp32, to `path` in int8.

    Weights are rounded once, each output of a layer on its own scale, to 7 bits: two products with
    activations of 8 bits fit into the 16 bits in which CPUs without VNNI add them up, so that every
    machine gives the same answer. Activations are rounded at run time, on one scale for the whole
    call: the predictor sends one text a call, so that an answer does not depend on other texts.
    """
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    onnx.helper.set_model_props(copy, PREPARED)
    quantize_dynamic(
        copy,
        path,
        op_types_to_quantize=LAYERS,
        per_channel=True,
        reduce_range=True,
        weight_type=QuantType.QInt8,
        # The type of the outputs of ONNX Runtime's own operators.
        extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
    )


def derive_int8(model: Any) -> Any:
    """Return the form int8 of `model`, as `write_int8_form` writes it; both onnx.ModelProto."""
    import onnx

    with tempfile.TemporaryDirectory(prefix="plumbline-") as private:
        path = Path(private) / "model.onnx"
        write_int8_form(model, path)
        return onnx.load(path)


def compare_graphs(form: str, found: Any, derived: Any) -> ExportDifference:
    """Compare all that two graphs, of type onnx.ModelProto, consist of; both lose their numbers."""
    tables, expected = _take_tables(found), _take_tables(derived)
    kinds, expected_kinds = (
        {name: (table.dtype, table.shape) for name, table in each.items()}
        for each in (tables, expected)
    )
    if kinds != expected_kinds or found != derived:
        return ExportDifference(f"{form} (nodes)", 1, 0, 0)
    shares = [0.0]
    for name, table in expected.items():
        distances = np.abs(np.subtract(tables[name], table, dtype=np.float64))
        scale = np.abs(table.astype(np.float64)).max(initial=0) or 1.0
        shares.append(distances.max(initial=0) / scale)
    return ExportDifference(form, float(np.max(shares)), ROUNDING, 0)  # of NaN NaN


def _take_tables(model: Any) -> dict[str, np.ndarray]:
    """Take the numbers out of a graph; what names its maker is cleared as well."""
    from onnx import numpy_helper

    tables = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
    del model.graph.initializer[:]
    model.producer_name = model.producer_version = ""
    return tables
