"""Write values of a candidate into params.yaml: comments, order and all other characters stay."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plumbline.contract import layout
from plumbline.contract.errors import ParamsError
from plumbline.process.files import write_aside

PLAIN = re.compile(r"[A-Za-z0-9./][\w./:@+-]*")  # a value that YAML reads as this very text
WHOLE_MANTISSA = re.compile(r"^(-?\d+)e")


def edit_candidate(path: Path, candidate: str, values: Mapping[str, Any], anchor: str = "") -> None:
    """Write `values` into a candidate of the file at `path`.

    A key that is missing is added before the key `anchor`. ParamsError where there is none, or
    where the file would then say anything else than these values.
    """
    text = path.read_bytes().decode("utf-8")  # with its own line ends
    edited = _edit(text, candidate, values, anchor)
    with write_aside(path) as aside:
        aside.write_bytes(edited.encode("utf-8"))


def format_scalar(value: Any) -> str:
    """Format a value as YAML reads it, 1e-05 as 1.0e-05: without the point it is text for some."""
    if isinstance(value, str):
        return value if PLAIN.fullmatch(value) else json.dumps(value)
    return WHOLE_MANTISSA.sub(r"\1.0e", json.dumps(value))


def _edit(text: str, candidate: str, values: Mapping[str, Any], anchor: str) -> str:
    from ruamel.yaml.error import YAMLError

    expected = _parse(text)
    edited = text
    for key, value in values.items():
        is_new = key not in expected["candidates"][candidate]
        expected["candidates"][candidate][key] = value
        if is_new and anchor:
            edited = _insert_value(edited, ("candidates", candidate), anchor, key, value)
        else:
            edited = _replace_value(edited, ("candidates", candidate, key), value)
    try:
        is_as_expected = _parse(edited) == expected
    except YAMLError:
        is_as_expected = False
    if not is_as_expected:
        lines = ", ".join(f"`{key}: {format_scalar(value)}`" for key, value in values.items())
        raise ParamsError(
            f"{layout.PARAMS}: candidates.{candidate} is written in a way that cannot be edited "
            f"here; nothing was changed. Write there: {lines}"
        )
    return edited


def _parse(text: str) -> Any:
    from ruamel.yaml import YAML

    return YAML(typ="safe", pure=True).load(text)


def _find_node(text: str, keys: tuple[str, ...]) -> tuple[Any, Any]:
    """Return the nodes of the last of `keys` and of its value."""
    from ruamel.yaml import YAML

    name, node = None, YAML(pure=True).compose(text)
    for key in keys:
        inside = {child.value: (child, value) for child, value in node.value}
        if key not in inside:
            raise ParamsError(f"{layout.PARAMS}: {'.'.join(keys)}: missing; add `{key}: null`")
        name, node = inside[key]
    return name, node


def _insert_value(text: str, keys: tuple[str, ...], anchor: str, key: str, value: Any) -> str:
    """Write a new key before the key `anchor` of the same mapping."""
    _, mapping = _find_node(text, keys)
    name, _ = _find_node(text, (*keys, anchor))
    start = name.start_mark.index
    between = ", " if mapping.flow_style else f"\n{' ' * name.start_mark.column}"
    return f"{text[:start]}{key}: {format_scalar(value)}{between}{text[start:]}"


def _replace_value(text: str, keys: tuple[str, ...], value: Any) -> str:
    """Replace one scalar of a YAML text, or write it where the key's value is blank."""
    name, node = _find_node(text, keys)
    shown = format_scalar(value)
    start, end = node.start_mark.index, node.end_mark.index
    if start == end:  # blank: the node's place is anywhere between its key and the next one
        colon = re.compile(r"\s*:").match(text, name.end_mark.index)
        start = end = colon.end() if colon else name.end_mark.index
        shown = f" {shown}" if colon else f": {shown}"
    end = start + len(text[start:end].rstrip())  # that of a block includes its last line break
    return text[:start] + shown + text[end:]
