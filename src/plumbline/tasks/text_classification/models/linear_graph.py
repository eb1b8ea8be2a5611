"""The ONNX graph of linear models, in ONNX's own text: five operators each.

PyTorch's exporter takes ten CPU seconds for the same, most of it for its table of operators.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

HEADER = """<ir_version: 10, opset_import: ["": 20]>
linear (int64[rows, tokens] {ids}, float[rows, tokens] {values}) => (float[{shape}] logits) {{
columns = Unsqueeze ({values}, last)
"""
MEMBER = """rows{n} = Gather (table{n}, {ids})
weighted{n} = Mul (rows{n}, columns)
sums{n} = ReduceSum <keepdims = 0> (weighted{n}, first)
{logits} = Add (sums{n}, bias{n})
"""


def build_linear_graph(
    names: tuple[str, str], weights: Sequence[tuple[np.ndarray, np.ndarray]], *, is_ensemble: bool
) -> Any:
    """Return an onnx.ModelProto that computes the logits (rows, classes) of a linear model.

    `weights` are the table (grams, classes) and the bias (classes,) of each member; the logits of
    an ensemble are (rows, members, classes).
    """
    from onnx import numpy_helper, parser

    ids, values = names
    num_classes = len(weights[0][1])
    shape = f"rows, {len(weights)}, {num_classes}" if is_ensemble else f"rows, {num_classes}"
    text = HEADER.format(ids=ids, values=values, shape=shape)
    constants = {"first": np.array([1]), "last": np.array([2])}
    for number, (table, bias) in enumerate(weights):
        constants |= {f"table{number}": table, f"bias{number}": bias}
        logits = f"logits{number}" if is_ensemble else "logits"
        text += MEMBER.format(n=number, ids=ids, logits=logits)
        if is_ensemble:
            text += f"member{number} = Unsqueeze ({logits}, first)\n"
    if is_ensemble:
        members = ", ".join(f"member{number}" for number in range(len(weights)))
        text += f"logits = Concat <axis = 1> ({members})\n"
    model = parser.parse_model(text + "}")
    for name, value in constants.items():
        model.graph.initializer.append(numpy_helper.from_array(value, name))
    return model
