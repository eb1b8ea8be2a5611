"""Tensors in a file that carry their digest, so that a flipped bit is found when they are read."""

import hashlib
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file


def save_tensors(tensors: dict[str, torch.Tensor], path: Path, facts: str = "") -> None:
    """Write tensors as safetensors, with a text of `facts` and a digest of both."""
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    save_file(plain, path, metadata={"facts": facts, "digest": _compute_digest(plain, facts)})


def load_tensors(path: Path) -> tuple[dict[str, torch.Tensor], str]:
    """Read what `save_tensors` wrote.

    Raises ValueError for a digest mismatch, and what safetensors raises for a damaged header.
    """
    with safe_open(path, "pt") as file:
        metadata = file.metadata()
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
    expected, actual = metadata["digest"], _compute_digest(tensors, metadata["facts"])
    if actual != expected:
        raise ValueError(f"{path}: digest mismatch: expected {expected[:12]}, found {actual[:12]}")
    return tensors, metadata["facts"]


def _compute_digest(tensors: dict[str, torch.Tensor], facts: str) -> str:
    """Return the SHA-256 of names, types, shapes and bytes, whatever their order in the file."""
    total = hashlib.sha256(facts.encode())
    for name, tensor in sorted(tensors.items()):
        total.update(f"\0{name}\0{tensor.dtype}\0{list(tensor.shape)}\0".encode())
        total.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return total.hexdigest()
