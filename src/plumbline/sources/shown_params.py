"""params.yaml as it may be shown and kept beside a version: no address in it has a secret."""

import hashlib
import re
from pathlib import Path
from typing import Any

from plumbline.contract.yaml_file import dump_yaml, load_yaml
from plumbline.sources.addresses import hide_secrets, hide_secrets_in_text

COMMENT = re.compile(r"#.*")  # or what follows a # in a value


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
    """Return the bytes of a params.yaml; where it has a secret, its values alone, without that.

    Raises ParamsError for a file that is not valid.
    """
    values = load_yaml(path)
    raw = path.read_bytes()
    comments = "\n".join(COMMENT.findall(raw.decode("utf-8")))
    shown = hide_secrets_in_values(values)
    if shown == values and hide_secrets_in_text(comments) == comments:
        return raw
    return dump_yaml(shown).encode()


def digest_shown_params(path: Path) -> str:
    """Return the SHA-256 of `read_shown_params`."""
    return hashlib.sha256(read_shown_params(path)).hexdigest()
