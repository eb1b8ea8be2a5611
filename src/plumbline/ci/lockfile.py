"""Merging dvc.lock: each stage as the side has it that changed it; what both changed differently runs again.

`make setup` tells git to merge the file so (gitattributes(5), merge driver).
"""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plumbline.contract import layout
from plumbline.contract.errors import PlumblineError

SCHEMA = "2.0"


def merge(base: Path, ours: Path, theirs: Path) -> list[str]:
    """Write the merge of three versions of dvc.lock into `ours`; the stages that have to run again.

    Raises PlumblineError where one of them is no dvc.lock, and then changes nothing.
    """
    from ruamel.yaml import YAML

    old, mine, others = _stages(base, "the common"), _stages(ours, "our"), _stages(theirs, "their")
    merged, again = {}, []
    for name in [*mine, *(name for name in others if name not in mine)]:
        versions = old.get(name), mine.get(name), others.get(name)
        if versions[1] != versions[2] and versions[0] not in versions[1:]:
            again.append(name)  # DVC takes it from the cache if it ever ran so, else it runs it
        elif chosen := versions[2] if versions[1] == versions[0] else versions[1]:
            merged[name] = chosen
    written, yaml = io.StringIO(), YAML()
    yaml.dump({"schema": SCHEMA, "stages": merged}, written)
    with layout.written(ours) as aside:
        aside.write_text(written.getvalue(), encoding="utf-8")
    return again


def _stages(path: Path, whose: str) -> Mapping[str, Any]:
    """The stages in a file; none in an empty one, which git gives for a side without it."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        found = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, YAMLError) as error:
        raise PlumblineError(
            f"{whose} dvc.lock cannot be read ({str(error).splitlines()[0]}); not merged"
        ) from None
    if found is None:
        return {}
    if (
        not isinstance(found, dict)
        or found.get("schema") != SCHEMA
        or not isinstance(found.get("stages"), dict)
    ):
        raise PlumblineError(f"{whose} dvc.lock is not of schema {SCHEMA}; not merged")
    return found["stages"]  # type: ignore[no-any-return]
