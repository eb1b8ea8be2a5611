"""YAML 1.2, as DVC reads it, without what hides a mistake or an attack."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.contract.errors import ParamsError

if TYPE_CHECKING:
    from ruamel.yaml import YAML

MAX_BYTES = 5_000_000
MAX_DEPTH = 20


def load_yaml(path: Path) -> Any:
    """Parse a YAML file.

    Raises ParamsError for a file that is too large or not valid, and for duplicate keys, aliases,
    tags and deep nesting.
    """
    return parse_yaml(_read_text(path), path)


def parse_yaml(text: str, path: Path) -> Any:
    """Parse the text of the YAML file at `path`; raises ParamsError as `load_yaml` does."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        _refuse_tricks(path, YAML(typ="safe", pure=True).parse(text))
        return YAML(typ="safe", pure=True).load(text)
    except YAMLError as error:
        raise ParamsError(f"{path}: {_describe_error(error)}") from None
    except (ValueError, OverflowError, RecursionError) as error:
        raise ParamsError(f"{path}: a value cannot be read: {error}") from None


def format_value(value: Any) -> str:
    """Return a value as it is written after its key, on one line: with quotes where it needs them.

    So a message can say what to set, whatever the value is.
    """
    from ruamel.yaml import YAML

    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.width = MAX_BYTES
    stream = io.StringIO()
    yaml.dump({"key": value}, stream)
    return stream.getvalue().strip().removeprefix("key: ")


def open_editor() -> "YAML":
    """Open a reader and writer that keeps comments, quotes and null, as DVC's own edits do."""
    from ruamel.yaml import YAML

    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = MAX_BYTES
    yaml.representer.add_representer(
        type(None), lambda writer, _: writer.represent_scalar("tag:yaml.org,2002:null", "null")
    )
    return yaml


def _read_text(path: Path) -> str:
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ParamsError(
            f"{path}: cannot be read ({error.strerror}); run from the top of the repository"
        ) from None
    if len(raw) > MAX_BYTES:
        raise ParamsError(f"{path}: {len(raw):,} bytes; such a file stays below {MAX_BYTES:,}")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ParamsError(f"{path}: not UTF-8 at byte {error.start}") from None


def _refuse_tricks(path: Path, events: Iterator[Any]) -> None:
    depth = 0
    for event in events:
        kind = type(event).__name__
        line = event.start_mark.line + 1
        if kind == "AliasEvent":
            raise ParamsError(
                f"{path}:{line}: aliases (*{event.anchor}) are not allowed; write the value out"
            )
        if getattr(event, "tag", None):
            raise ParamsError(
                f"{path}:{line}: tags ({event.tag}) are not allowed; write a plain value"
            )
        depth += kind.endswith("StartEvent") - kind.endswith("EndEvent")
        if depth > MAX_DEPTH:
            raise ParamsError(f"{path}:{line}: nested more than {MAX_DEPTH} deep")


def _describe_error(error: Any) -> str:
    mark = getattr(error, "problem_mark", None)
    line = f"line {mark.line + 1}: " if mark else ""
    return line + " ".join(str(getattr(error, "problem", None) or error).split())
