"""Flipped bits, as a disk or memory that fails leaves them."""

import os
from pathlib import Path

from ruamel.yaml import YAML

from plumbline.diagnostics.fsck.recorded_outputs import hash_output


def flip(path: Path) -> None:
    """Flip a bit in the middle of a file; mode, size and the time of its last write stay."""
    status = path.stat()
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.chmod(0o644)
    path.write_bytes(content)
    path.chmod(status.st_mode)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def list_outputs(checkout: Path) -> dict[str, str]:
    """Return the digest of each output that dvc.lock names, as it is on disk."""
    return {name: hash_output(checkout / name) for name in _read_outputs(checkout)}


def find_object(checkout: Path, name: str) -> Path:
    """Return the object of an output, or of a file in one, in DVC's cache."""
    digest = hash_output(checkout / name)
    return checkout / ".dvc/cache/files/md5" / digest[:2] / digest[2:]


def _read_outputs(checkout: Path) -> list[str]:
    stages = YAML(typ="safe").load((checkout / "dvc.lock").read_text())["stages"]
    return sorted(out["path"] for stage in stages.values() for out in stage["outs"])
