"""The selftest's exports: torch reads its operators once, and the list is the same."""

import inspect

import pytest
from torch.onnx._internal.exporter._registration import ONNXRegistry

from plumbline_selftest.warm_export import keep_operators


def test_operators_are_read_once_for_each_opset(monkeypatch: pytest.MonkeyPatch) -> None:
    read = ONNXRegistry.from_torchlib
    monkeypatch.setattr(ONNXRegistry, "from_torchlib", read)  # restored after the test
    expected = inspect.unwrap(read)(opset_version=20)  # that of a warm process is kept
    keep_operators()
    registry = ONNXRegistry().from_torchlib(opset_version=20)  # as torch.onnx.export calls it
    assert list(registry.functions) == list(expected.functions)
    assert ONNXRegistry.from_torchlib(opset_version=20) is registry
    assert ONNXRegistry.from_torchlib(opset_version=18) is not registry
