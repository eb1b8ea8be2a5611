"""Write values of a candidate into params.yaml: comments and order stay."""

import re
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Any

from plumbline.contract import layout
from plumbline.contract.errors import ParamsError
from plumbline.contract.yaml_file import open_editor
from plumbline.process.files import write_aside

WHOLE_MANTISSA = re.compile(r"^(-?\d+)e")


def edit_candidate(path: Path, candidate: str, values: Mapping[str, Any], anchor: str = "") -> None:
    """Write `values` into a candidate of the file at `path`.

    A key that is missing is added before the key `anchor`; ParamsError where there is none.
    """
    yaml = open_editor()
    content = yaml.load(path)
    config = content["candidates"][candidate]
    for key, value in values.items():
        if key not in config and anchor not in config:
            raise ParamsError(
                f"{layout.PARAMS}: candidates.{candidate}.{key}: missing; add `{key}: null`"
            )
        if key in config:
            config[key] = _prepare(value)
        else:
            config.insert(list(config).index(anchor), key, _prepare(value))
    with write_aside(path) as aside:
        yaml.dump(content, aside)


def format_scalar(value: Any) -> str:
    """Format a value as params.yaml has it."""
    text = StringIO()
    open_editor().dump([_prepare(value)], text)
    return text.getvalue().removeprefix("- ").strip()


def _prepare(value: Any) -> Any:
    """Write 1e-05 as 1.0e-05: without the point it is text for some readers of YAML."""
    if not isinstance(value, float):
        return value
    return open_editor().load(WHOLE_MANTISSA.sub(r"\1.0e", repr(value)))
