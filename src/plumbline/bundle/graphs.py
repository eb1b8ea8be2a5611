"""What an ONNX file refers to, read from its protobuf by itself: loading the library to ask would be too late.

A graph of standard operators can compute and no more. What it must not do is name data outside its file, or operators
that some other library would have to bring.
"""

import os
from io import BufferedReader

DOMAINS = {"", "ai.onnx", "ai.onnx.ml", "com.microsoft"}  # what ONNX Runtime brings along
REFUSED = {
    "EPContext",
    "PythonOp",
    "PythonOpGrad",
    "ATen",
}  # of com.microsoft: these load libraries or other files
MAX_DEPTH = 40  # messages in messages
MAX_FIELDS = 5_000_000
MAX_TEXT = 1000
WINDOW = 1 << 16
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5

# message -> all its fields as of ONNX 1.23, and those that are followed, with the message that they hold
FIELDS = {
    "ModelProto": {1, 2, 3, 4, 5, 6, 7, 8, 14, 20, 25, 26},
    "OperatorSetIdProto": {1, 2},
    "GraphProto": {1, 2, 5, 10, 11, 12, 13, 14, 15, 16},
    "NodeProto": {1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
    "AttributeProto": {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 20, 21, 22, 23},
    "TensorProto": {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16},
    "SparseTensorProto": {1, 2, 3},
    "TrainingInfoProto": {1, 2, 3, 4},
    "FunctionProto": {1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14},
}
FOLLOWED = {
    ("ModelProto", 7): "GraphProto",
    ("ModelProto", 8): "OperatorSetIdProto",
    ("ModelProto", 20): "TrainingInfoProto",
    ("ModelProto", 25): "FunctionProto",
    ("GraphProto", 1): "NodeProto",
    ("GraphProto", 5): "TensorProto",
    ("GraphProto", 15): "SparseTensorProto",
    ("NodeProto", 5): "AttributeProto",
    ("AttributeProto", 5): "TensorProto",
    ("AttributeProto", 6): "GraphProto",
    ("AttributeProto", 10): "TensorProto",
    ("AttributeProto", 11): "GraphProto",
    ("AttributeProto", 22): "SparseTensorProto",
    ("AttributeProto", 23): "SparseTensorProto",
    ("SparseTensorProto", 1): "TensorProto",
    ("SparseTensorProto", 2): "TensorProto",
    ("TrainingInfoProto", 1): "GraphProto",
    ("TrainingInfoProto", 2): "GraphProto",
    ("FunctionProto", 7): "NodeProto",
    ("FunctionProto", 9): "OperatorSetIdProto",
    ("FunctionProto", 11): "AttributeProto",
}
DOMAIN = {("OperatorSetIdProto", 1), ("NodeProto", 7), ("FunctionProto", 10)}
OPERATOR, EXTERNAL_DATA, DATA_LOCATION, GRAPH = (
    ("NodeProto", 4),
    ("TensorProto", 13),
    ("TensorProto", 14),
    7,
)


def check(file: BufferedReader) -> None:
    """ValueError where the open file is no ONNX model, or refers to anything outside itself."""
    length = os.fstat(file.fileno()).st_size
    walk = _Walk(file)
    walk.message("ModelProto", length, 0)
    if not walk.has_graph:
        raise ValueError("no ONNX model (there is no graph in it)")


class _Walk:
    """One pass over the messages of a file; tensors' values are stepped over, not read."""

    def __init__(self, file: BufferedReader) -> None:
        self._file, self._at, self._start, self._window = file, 0, 0, b""
        self._fields = 0
        self.has_graph = False

    def message(self, kind: str, end: int, depth: int) -> None:
        """Check the message of this kind that reaches from here to `end`."""
        if depth > MAX_DEPTH:
            raise ValueError("no ONNX model (messages nested too deep)")
        while self._at < end:
            self._fields += 1
            tag = self._varint(end)
            number, wire = tag >> 3, tag & 7
            if number not in FIELDS[kind] or self._fields > MAX_FIELDS:
                raise ValueError(f"no ONNX model (field {number} in a {kind})")
            self._field((kind, number), wire, end, depth)

    def _field(self, field: tuple[str, int], wire: int, end: int, depth: int) -> None:
        inner = FOLLOWED.get(field)
        if (inner or field in DOMAIN or field in (OPERATOR, EXTERNAL_DATA)) and wire != BYTES:
            raise ValueError(
                f"no ONNX model (wire type {wire} for field {field[1]} in a {field[0]})"
            )
        if wire == VARINT:
            if self._varint(end) and field == DATA_LOCATION:
                raise ValueError(
                    "keeps tensors in another file (external data); export it with its weights inside"
                )
        elif wire == BYTES:
            until = self._varint(end) + self._at
            if until > end:
                raise ValueError("no ONNX model (it is cut off)")
            if field in (EXTERNAL_DATA, DATA_LOCATION):
                raise ValueError(
                    "keeps tensors in another file (external data); export it with its weights inside"
                )
            if inner:
                self.has_graph |= field == ("ModelProto", GRAPH)
                self.message(inner, until, depth + 1)
            elif field in DOMAIN or field == OPERATOR:
                self._text(field, until)
            self._at = until
        elif wire in (FIXED32, FIXED64):
            self._at += 4 if wire == FIXED32 else 8
            if self._at > end:
                raise ValueError("no ONNX model (it is cut off)")
        else:
            raise ValueError(f"no ONNX model (wire type {wire})")

    def _text(self, field: tuple[str, int], until: int) -> None:
        if until - self._at > MAX_TEXT:
            raise ValueError("no ONNX model (a name of unreasonable length)")
        text = bytes(self._byte() for _ in range(until - self._at)).decode("utf-8")
        if field == OPERATOR and text in REFUSED:
            raise ValueError(f"uses the operator {text}, which loads other files")
        if field in DOMAIN and text not in DOMAINS:
            raise ValueError(f"uses operators of {text!r}, which ONNX Runtime does not bring along")

    def _varint(self, end: int) -> int:
        value = shift = 0
        while True:
            if self._at >= end or shift > 63:
                raise ValueError("no ONNX model (it is cut off)")
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return value

    def _byte(self) -> int:
        place = self._at - self._start
        if not 0 <= place < len(self._window):
            self._window, self._start, place = (
                os.pread(self._file.fileno(), WINDOW, self._at),
                self._at,
                0,
            )
            if not self._window:
                raise ValueError("no ONNX model (it is cut off)")
        self._at += 1
        return self._window[place]
