"""Check what an ONNX file refers to, from its protobuf alone: to load it first is too late.

A graph of standard operators can compute and no more. It must not name data outside its file, or
operators that another library would have to bring.
"""

import os
from io import BufferedReader

DOMAINS = {"", "ai.onnx", "ai.onnx.ml", "com.microsoft"}  # what ONNX Runtime brings along
# Of com.microsoft: these load libraries or other files.
REFUSED = {"EPContext", "PythonOp", "PythonOpGrad", "ATen"}
MAX_DEPTH = 40  # messages in messages
MAX_FIELDS = 5_000_000
MAX_TEXT = 1000
WINDOW = 1 << 16
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5  # wire types

# message -> all its fields as of ONNX 1.23; below, the fields that hold another message
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
OPERATOR = ("NodeProto", 4)
EXTERNAL_DATA = ("TensorProto", 13)
DATA_LOCATION = ("TensorProto", 14)
GRAPH = ("ModelProto", 7)


def check_graph(file: BufferedReader) -> None:
    """ValueError where the open file is not an ONNX model, or refers to anything outside itself."""
    length = os.fstat(file.fileno()).st_size
    walk = _GraphWalk(file)
    walk.check_message("ModelProto", length, 0)
    if not walk.has_graph:
        raise _build_model_error("there is no graph in it")


class _GraphWalk:
    """One pass over the messages of a file; tensors' values are stepped over, not read."""

    def __init__(self, file: BufferedReader) -> None:
        self._file = file
        self._at = 0  # in the file
        self._window = b""
        self._start = 0  # of the window, in the file
        self._num_fields = 0
        self.has_graph = False

    def check_message(self, kind: str, end: int, depth: int) -> None:
        """Check the message of this kind that reaches from here to `end`."""
        if depth > MAX_DEPTH:
            raise _build_model_error("messages nested too deep")
        while self._at < end:
            self._num_fields += 1
            tag = self._read_varint(end)
            number, wire = tag >> 3, tag & 7
            if number not in FIELDS[kind] or self._num_fields > MAX_FIELDS:
                raise _build_model_error(f"field {number} in a {kind}")
            self._check_field((kind, number), wire, end, depth)

    def _check_field(self, field: tuple[str, int], wire: int, end: int, depth: int) -> None:
        is_looked_into = field in FOLLOWED or field in DOMAIN or field in (OPERATOR, EXTERNAL_DATA)
        if is_looked_into and wire != BYTES:
            raise _build_model_error(f"wire type {wire} for field {field[1]} in a {field[0]}")
        if wire == VARINT:
            if self._read_varint(end) and field == DATA_LOCATION:
                raise _build_external_error()
        elif wire == BYTES:
            self._check_bytes(field, end, depth)
        elif wire == FIXED32:
            self._skip(4, end)
        elif wire == FIXED64:
            self._skip(8, end)
        else:
            raise _build_model_error(f"wire type {wire}")

    def _check_bytes(self, field: tuple[str, int], end: int, depth: int) -> None:
        until = self._read_varint(end) + self._at
        if until > end:
            raise _build_model_error("it is truncated")
        if field in (EXTERNAL_DATA, DATA_LOCATION):
            raise _build_external_error()
        if field in FOLLOWED:
            self.has_graph |= field == GRAPH
            self.check_message(FOLLOWED[field], until, depth + 1)
        elif field in DOMAIN or field == OPERATOR:
            self._check_text(field, until)
        self._at = until

    def _check_text(self, field: tuple[str, int], until: int) -> None:
        length = until - self._at
        if length > MAX_TEXT:
            raise _build_model_error("a name that is too long")
        text = bytes(self._read_byte() for _ in range(length)).decode("utf-8")
        if field == OPERATOR and text in REFUSED:
            raise ValueError(f"uses the operator {text}, which loads other files")
        if field in DOMAIN and text not in DOMAINS:
            raise ValueError(f"uses operators of {text!r}, which ONNX Runtime does not include")

    def _skip(self, num_bytes: int, end: int) -> None:
        self._at += num_bytes
        if self._at > end:
            raise _build_model_error("it is truncated")

    def _read_varint(self, end: int) -> int:
        value = 0
        shift = 0
        while True:
            if self._at >= end or shift > 63:
                raise _build_model_error("it is truncated")
            byte = self._read_byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return value

    def _read_byte(self) -> int:
        index = self._at - self._start
        if not 0 <= index < len(self._window):
            self._window = os.pread(self._file.fileno(), WINDOW, self._at)
            self._start = self._at
            index = 0
            if not self._window:
                raise _build_model_error("it is truncated")
        self._at += 1
        return self._window[index]


def _build_model_error(reason: str) -> ValueError:
    return ValueError(f"not a valid ONNX model ({reason})")


def _build_external_error() -> ValueError:
    return ValueError(
        "keeps tensors in another file (external data); export it with its weights inside"
    )
