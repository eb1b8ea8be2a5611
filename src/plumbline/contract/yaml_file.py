"""YAML 1.2, as DVC reads it, without what hides a mistake or an attack."""

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.contract.errors import ParamsError

if TYPE_CHECKING:
    from ruamel.yaml import YAML

LONGEST_LINE = 5_000_000  # characters: none is broken


def load_yaml(path: Path) -> Any:
    """Parse a YAML file.

    Raises ParamsError for a file that is not valid, and for duplicate keys and aliases.
    """
    return parse_yaml(_read_text(path), path)


def parse_yaml(text: str, path: Path) -> Any:
    """Parse the text of the YAML file at `path`; raises ParamsError as `load_yaml` does."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        for event in YAML(typ="safe", pure=True).parse(text):
            if type(event).__name__ == "AliasEvent":
                raise ParamsError(
                    f"{path}:{event.start_mark.line + 1}: aliases (*{event.anchor}) are not "
                    "allowed; write the value out"
                )
        return YAML(typ="safe", pure=True).load(text)
    except YAMLError as error:
        raise ParamsError(f"{path}: {_describe_error(error)}") from None
    except (ValueError, LookupError, OverflowError, RecursionError) as error:
        raise ParamsError(f"{path}: a value cannot be read: {error}") from None


def format_value(value: Any) -> str:
    """Return a value as it is written after its key, on one line: quoted where it needs it."""
    return dump_yaml({"key": value}).strip().removeprefix("key: ")


def dump_yaml(values: Any) -> str:
    """Return plain values as YAML, with sorted keys and no comments."""
    from ruamel.yaml import YAML

    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.width = LONGEST_LINE
    stream = io.StringIO()
    yaml.dump(values, stream)
    return stream.getvalue()


def open_editor() -> "YAML":
    """Open a reader and writer that keeps comments, quotes and null, as DVC's own edits do."""
    from ruamel.yaml import YAML

    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = LONGEST_LINE
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
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ParamsError(f"{path}: not UTF-8 at byte {error.start}") from None


def _describe_error(error: Any) -> str:
    mark = getattr(error, "problem_mark", None)
    line = f"line {mark.line + 1}: " if mark else ""
    problem = str(getattr(error, "problem", None) or error).partition(" with value ")[0]
    return line + " ".join(problem.split())
