"""An int8 form of an exported graph, by ONNX Runtime's own quantiser."""

from pathlib import Path
from typing import Any

LAYERS = ["MatMul", "Gather"]  # the products, and the table of word vectors
PREPARED = {
    "onnx.quant.pre_process": "onnxruntime.quant"
}  # else it advises what export has done already


def quantise(model: Any, path: Path) -> None:
    """Write `model`, an onnx.ModelProto in fp32, to `path` with int8 in its layers and word vectors.

    Weights are rounded once, each output of a layer on a scale of its own, to 7 bits: two products with activations
    of 8 then fit into the 16 bits in which CPUs without VNNI add them up, so that every machine gives the same answer.
    Activations are rounded as they come, on one scale for a whole call. The predictor therefore asks with one text at
    a time: no answer hangs on who else asks.
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
        extra_options={
            "DefaultTensorType": onnx.TensorProto.FLOAT
        },  # of what comes out of ONNX Runtime's own operators
    )
