"""The form `int8` of a graph, a quarter of the size: ONNX Runtime's own dynamic quantiser.

Activations are rounded at run time, on one scale for the whole call. The predictor therefore sends
one text a call: an answer does not depend on the other texts of a request.
"""

from pathlib import Path
from typing import Any

INT8 = "int8"
LAYERS = ["MatMul", "Gather"]  # the products, and the table of word vectors
# A mark that the graph is prepared; without it the quantiser advises what export has done already.
PREPARED = {"onnx.quant.pre_process": "onnxruntime.quant"}


def write_int8_form(model: Any, path: Path) -> None:
    """Write `model`, an onnx.ModelProto in fp32, to `path` in int8.

    Weights are rounded once, each output of a layer on its own scale, to 7 bits: two products with
    activations of 8 bits fit into the 16 bits in which CPUs without VNNI add them up, so that every
    machine gives the same answer.
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
