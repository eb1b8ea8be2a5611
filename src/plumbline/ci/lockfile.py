"""Merging dvc.lock: each stage is taken from the side that changed it.

A stage that both sides changed differently is left out and runs again. `make setup` sets
`python -m plumbline.ci.lockfile BASE OURS THEIRS` as git's merge driver (gitattributes(5)).
"""

import io
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plumbline.contract.errors import PlumblineError
from plumbline.process.files import write_aside

SCHEMA = "2.0"


def merge_locks(base: Path, ours: Path, theirs: Path) -> list[str]:
    """Write the merge of three versions of dvc.lock into `ours`; the stages that must run again.

    Raises PlumblineError where one of them is not a dvc.lock, and then changes nothing.
    """
    from ruamel.yaml import YAML

    before = _read_stages(base, "the common")
    our = _read_stages(ours, "our")
    their = _read_stages(theirs, "their")
    names = dict.fromkeys([*our, *their])
    # DVC's cache has a conflicting stage if it ever ran like this; else it runs.
    sides = {name: (our.get(name), their.get(name)) for name in names}
    conflicting = [n for n, (a, b) in sides.items() if a != b and before.get(n) not in (a, b)]
    merged = {name: b if a == before.get(name) else a for name, (a, b) in sides.items()}
    stages = {name: stage for name, stage in merged.items() if stage and name not in conflicting}
    text = io.StringIO()
    YAML().dump({"schema": SCHEMA, "stages": stages}, text)
    with write_aside(ours) as aside:
        aside.write_text(text.getvalue(), encoding="utf-8")
    return conflicting


def _read_stages(path: Path, whose: str) -> Mapping[str, Any]:
    """The stages in a file; none in an empty one, which git gives for a side without it."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        lock = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
        stages: dict[str, Any] = (lock["stages"] or {}) if lock else {}
    except (OSError, ValueError, YAMLError, LookupError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise PlumblineError(f"{whose} dvc.lock cannot be read ({reason}); not merged") from None
    return stages


if __name__ == "__main__":
    try:
        conflicting = merge_locks(*map(Path, sys.argv[1:]))
    except PlumblineError as error:
        sys.exit(f"plumbline: {error}")
    if conflicting:
        sys.stderr.write(
            "dvc.lock: changed on both sides, so `dvc repro` checks them again: "
            f"{', '.join(conflicting)}\n"
        )
