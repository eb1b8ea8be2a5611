"""The form `int8-dynamic`: activations are rounded at run time, on one scale for the whole call.

The predictor therefore sends one text per call: an answer does not depend on the other texts of a
request.
"""

from pathlib import Path
from typing import Any

LAYERS = ["MatMul", "Gather"]  # the products, and the table of word vectors
# A mark that the graph is prepared; without it the quantiser advises what export has done already.
PREPARED = {"onnx.quant.pre_process": "onnxruntime.quant"}


def write_dynamic_form(model: Any, path: Path) -> None:
    """Write `model`, an onnx.ModelProto in fp32, to `path`, by ONNX Runtime's own quantiser.

    Weights are rounded once, each output of a layer on its own scale, to 7 bits, as in rounding.py.
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
