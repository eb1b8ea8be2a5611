"""Writes an int8 form of an exported graph, by its name."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from plumbline.tasks.text_classification.models.int8.dynamic_form import write_dynamic_form
from plumbline.tasks.text_classification.models.int8.row_form import round_rows
from plumbline.tasks.text_classification.models.int8.static_form import round_statically
from plumbline.tasks.text_classification.models.int8.tables import round_tables
from plumbline.tasks.text_classification.predictor import EncodedText

STATIC, ROW, DYNAMIC = "int8-static", "int8-row", "int8-dynamic"
INT8_FORMS = (STATIC, ROW, DYNAMIC)  # the fastest first


def write_int8_form(form: str, model: Any, texts: Sequence[EncodedText], path: Path) -> None:
    """Write `model`, an onnx.ModelProto in fp32, to `path` as the form of this name.

    `texts`, of the train split, show the form `int8-static` which numbers it has to cover. The same
    graph and texts give the same bytes on one machine.
    """
    import onnx

    if form == DYNAMIC:
        write_dynamic_form(model, path)
        return
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    if form == STATIC:
        round_statically(copy, texts)
    else:
        round_rows(copy)
    round_tables(copy)
    path.write_bytes(copy.SerializeToString(deterministic=True))
