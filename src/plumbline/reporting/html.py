"""One look for every page plumbline writes: HTML that needs no network, on a phone, in the dark and on paper."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ACRONYMS = {"ece", "f1", "nll"}
MAX_CODE = 160  # characters


def render(template: str, values: Mapping[str, Any]) -> str:
    """Fill `template`, a file of this package; in HTML text is escaped, an unknown name is an error."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    pages = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=template.endswith(".html"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.filters |= {
        "percent": percent,
        "size": size,
        "digits": digits,
        "words": words,
        "value": value,
        "code": code,
    }
    return pages.get_template(template).render(values)


def percent(share: float, places: int = 1) -> str:
    """0.9374 as '93.7 %'."""
    return f"{100 * share:.{places}f} %"


def digits(value: float, places: int = 3) -> str:
    """1234567 as '1,234,567'; 0.51237 as '0.512'."""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.{places}f}"


def words(name: str) -> str:
    """'macro_f1' as 'macro F1'."""
    return " ".join(part.upper() if part in ACRONYMS else part for part in name.split("_"))


def value(found: object) -> str:
    """A value of params.yaml: text as it is, all else as YAML would have it on one line, None as not set."""
    return (
        "not set"
        if found is None
        else found
        if isinstance(found, str)
        else json.dumps(found, ensure_ascii=False)
    )


def code(text: object) -> str:
    """`text` for Markdown, in a table too: as it is, on one line and cut; no link, mention, HTML or end of a cell."""
    line = " ".join(str(text).replace("`", "'").split())
    line = line if len(line) <= MAX_CODE else line[: MAX_CODE - 1] + "…"
    return f"`{line}`".replace("|", "\\|") if line else ""


def size(num_bytes: float) -> str:
    """23456789 as '23.5 MB'."""
    for unit in ("B", "kB", "MB"):
        if num_bytes < 1000:
            return f"{num_bytes:.0f} B" if unit == "B" else f"{num_bytes:.1f} {unit}"
        num_bytes /= 1000
    return f"{num_bytes:.1f} GB"
