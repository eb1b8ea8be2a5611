"""params.yaml as it may be shown and kept beside a version: no address in it has a secret."""

import hashlib
import io
import re
from pathlib import Path
from typing import Any

from plumbline.contract.yaml_file import load_yaml, parse_yaml
from plumbline.sources.addresses import hide_secrets, hide_secrets_in_text

COMMENT = re.compile(r"#.*")  # or what follows a # in a value: there the same is hidden


def hide_secrets_in_values(value: Any) -> Any:
    """Return plain values, nested in any way, with every address in them as it may be shown.

    Keys too: data.sha256 has addresses as keys.
    """
    if isinstance(value, dict):
        return {hide_secrets_in_values(key): hide_secrets_in_values(v) for key, v in value.items()}
    if isinstance(value, list):
        return [hide_secrets_in_values(each) for each in value]
    return hide_secrets(value) if isinstance(value, str) else value


def read_shown_params(path: Path) -> bytes:
    """Return the bytes of a params.yaml without secrets; those of the file where it has none.

    Comments and order are kept where an address is written as it is. Raises ParamsError for a file
    that is not valid.
    """
    values = load_yaml(path)
    raw = path.read_bytes()
    text = raw.decode("utf-8")
    for address in _list_secret_texts(values):
        text = text.replace(address, hide_secrets(address))
    text = COMMENT.sub(lambda match: hide_secrets_in_text(match.group()), text)
    shown = hide_secrets_in_values(values)
    is_changed = text.encode() != raw or shown != values
    if is_changed and parse_yaml(text, path) != shown:  # an address written with escapes
        text = _dump(shown)
    return text.encode()


def digest_shown_params(path: Path) -> str:
    """Return the SHA-256 of `read_shown_params`."""
    return hashlib.sha256(read_shown_params(path)).hexdigest()


def _list_secret_texts(value: Any) -> list[str]:
    """List the strings in plain values that are shown differently, the longest first."""
    texts: list[str] = []
    if isinstance(value, dict):
        for key, inner in value.items():
            texts += [*_list_secret_texts(key), *_list_secret_texts(inner)]
    elif isinstance(value, list):
        for inner in value:
            texts += _list_secret_texts(inner)
    elif isinstance(value, str) and hide_secrets(value) != value:
        texts.append(value)
    return sorted(texts, key=len, reverse=True)


def _dump(values: Any) -> str:
    from ruamel.yaml import YAML

    writer = YAML(typ="safe", pure=True)
    writer.default_flow_style = False
    written = io.StringIO()
    writer.dump(values, written)
    return written.getvalue()
