"""What reads the bodies of requests: strict, and in a time that grows with their length only."""

import time

import pytest

from plumbline.contract.task import Field, Signature
from plumbline.serving import inputs, strict_json, tensors
from plumbline.serving.refusals import Refusal

MIB = 1 << 20
LINE = Signature(inputs=(Field("x", "double"),), outputs=(Field("y", "double"),))
TENSOR = b'{"inputs": [{"name": "x", "datatype": %s, "shape": %s, "data": [1]}]}'


@pytest.mark.parametrize(
    "raw",
    [
        b"[]" * 40
        + b'"'
        + b'\\"' * MIB,  # a text that never ends, with a quote at every second place
        b"[" + b"[]," * MIB + b"[]]",
        b"[" + b"{}," * MIB + b"{}]",
        b"[" + b'{"a":1},' * (MIB // 2) + b"{}]",
        b'["[",' + b'"",' * MIB + b"[" * 40,
    ],
)
def test_no_body_takes_long_to_refuse(raw: bytes) -> None:
    start = time.process_time()
    with pytest.raises(Refusal):
        strict_json.loads(raw)
    assert time.process_time() - start < 2


def test_a_shape_of_many_sizes_is_not_multiplied_out() -> None:
    shape = b"[" + b"2147483647," * 300_000 + b"1]"
    start = time.process_time()
    with pytest.raises(Refusal, match="shape"):
        tensors.read(TENSOR % (b'"FP64"', shape), "application/json", LINE, 1024)
    assert time.process_time() - start < 2


@pytest.mark.parametrize("datatype", [b"[]", b"{}", b"null", b'"FP65"', b"1"])
def test_a_datatype_is_one_of_a_few_words(datatype: bytes) -> None:
    with pytest.raises(Refusal, match="datatype"):
        tensors.read(TENSOR % (datatype, b"[1]"), "application/json", LINE, 1024)


def test_csv_is_read_no_further_than_rows_are_allowed() -> None:
    start = time.process_time()
    with pytest.raises(Refusal) as refused:
        inputs.read(b"x\n" + b"1\n" * 1_990_000, "text/csv", LINE, 1024)
    assert refused.value.status == 413
    assert time.process_time() - start < 0.5


@pytest.mark.parametrize("text", ["1_0", "٣", "0x10", "nan", "inf", "1e999", "", "1,"])
def test_a_number_in_csv_is_written_in_digits(text: str) -> None:
    with pytest.raises(Refusal):
        inputs.read(f"x\n{text}\n".encode(), "text/csv", LINE, 1024)


def test_a_long_field_in_csv_is_no_fault_of_its_quotes() -> None:
    text = Signature(inputs=(Field("text", "string"),), outputs=())
    asked = inputs.read(b"text\n" + b"a" * 1_000_000 + b"\n", "text/csv", text, 1024)
    assert len(asked.columns["text"][0]) == 1_000_000


@pytest.mark.parametrize(
    "text", [b'"\\ud800"', b'"\\udc00\\ud800"', b'{"\\udfff": 1}', b'"\\uD83D \\uDE00"']
)
def test_half_a_character_is_no_text(text: bytes) -> None:
    with pytest.raises(Refusal, match="half a character"):
        strict_json.loads(text)


def test_whole_characters_are() -> None:
    assert strict_json.loads(b'["\\ud83d\\ude00", "\\\\ud800", "\\u0000"]') == [
        "\U0001f600",
        "\\ud800",
        "\0",
    ]


@pytest.mark.parametrize("depth", [32, 33])
def test_the_depth_that_is_allowed(depth: int) -> None:
    raw = b"[" * depth + b'"[{"' + b"]" * depth
    if depth > strict_json.MAX_DEPTH:
        with pytest.raises(Refusal, match="nested more than"):
            strict_json.loads(raw)
    else:
        strict_json.loads(raw)
