"""Flipped bits, as a disk or memory that fails leaves them, and DVC's digests of what is there."""

import hashlib
import json
import os
from pathlib import Path

from ruamel.yaml import YAML


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
    return {name: hash_output(checkout / name) for name in read_outputs(checkout)}


def find_object(checkout: Path, name: str) -> Path:
    """Return the object of an output, or of a file in one, in DVC's cache."""
    digest = hash_output(checkout / name)
    return checkout / ".dvc/cache/files/md5" / digest[:2] / digest[2:]


def read_outputs(checkout: Path) -> dict[str, str]:
    """Return the digest of each output as dvc.lock records it, by path."""
    stages = YAML(typ="safe").load((checkout / "dvc.lock").read_text())["stages"]
    return {out["path"]: out["md5"] for stage in stages.values() for out in stage["outs"]}


def hash_output(path: Path) -> str:
    """Return the digest of a file or folder, as DVC computes it; no file is one that it ignores."""
    if path.is_file():
        return hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
    files = {file.relative_to(path).as_posix(): file for file in path.rglob("*") if file.is_file()}
    listing = [{"md5": hash_output(files[name]), "relpath": name} for name in sorted(files)]
    content = json.dumps(listing, sort_keys=True).encode()
    return hashlib.md5(content, usedforsecurity=False).hexdigest() + ".dir"
