"""When dvc.lock is as DVC leaves it: DVC writes it after the last stage, which cannot see that."""

import hashlib
import time
from pathlib import Path
from typing import Any

from plumbline.contract import layout

LOCK_TIMEOUT_S = 60  # in which DVC writes dvc.lock after the last stage


def is_lock_final(root: Path, closed_ms: int) -> bool:
    """Whether dvc.lock names the present reports/registration.json, or was long enough waited for.

    After `closed_ms`, the end of the pass, DVC writes it within a second.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    if time.time() * 1000 - closed_ms > LOCK_TIMEOUT_S * 1000:
        return True
    registration = root / layout.REGISTRATION
    try:
        stages = YAML(typ="safe").load(root / "dvc.lock")["stages"]
        (output,) = stages["register"]["outs"]
        written = hashlib.md5(registration.read_bytes(), usedforsecurity=False).hexdigest()
    except (OSError, YAMLError, KeyError, TypeError, ValueError):
        return False
    evidence = [dep for dep in stages["register"]["deps"] if dep["path"] == str(layout.EVIDENCE)]
    return output.get("md5") == written and all(_has_digest(root, dep) for dep in evidence)


def _has_digest(root: Path, dep: dict[str, Any]) -> bool:
    content = (root / dep["path"]).read_bytes()
    return bool(hashlib.md5(content, usedforsecurity=False).hexdigest() == dep.get("md5"))
