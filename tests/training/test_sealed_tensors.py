"""A file of tensors is what was written, or it is refused."""

from pathlib import Path

import pytest
import torch
from safetensors import SafetensorError

from plumbline.training.sealed_tensors import load_tensors, save_tensors

TENSORS = {
    "weights": torch.arange(12, dtype=torch.float32).reshape(3, 4),
    "step": torch.tensor(7),
    "half": torch.tensor([1.5, -2.0], dtype=torch.bfloat16),
    "empty": torch.zeros(0, 3),
}


def test_what_was_written_is_read(tmp_path: Path) -> None:
    save_tensors(TENSORS, tmp_path / "file", '{"epoch": 1}')
    tensors, facts = load_tensors(tmp_path / "file")
    assert facts == '{"epoch": 1}'
    assert tensors.keys() == TENSORS.keys()
    for name, tensor in tensors.items():
        assert tensor.dtype == TENSORS[name].dtype
        assert torch.equal(tensor, TENSORS[name])


def test_every_flipped_bit_is_found(tmp_path: Path) -> None:
    path = tmp_path / "file"
    save_tensors(TENSORS, path, '{"epoch": 1}')
    content = path.read_bytes()
    harmless = []
    for position in range(len(content)):
        flipped = bytearray(content)
        flipped[position] ^= 1 << position % 8
        path.write_bytes(flipped)
        try:
            tensors, facts = load_tensors(path)
        except (SafetensorError, ValueError, LookupError):
            continue
        harmless.append(position)
        assert facts == '{"epoch": 1}'
        assert all(torch.equal(tensors[name], TENSORS[name]) for name in TENSORS)
    assert len(harmless) < 8  # blanks that pad the header


def test_a_file_without_a_digest_is_refused(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    save_file(TENSORS, tmp_path / "file", metadata={"facts": ""})
    with pytest.raises(LookupError):
        load_tensors(tmp_path / "file")
