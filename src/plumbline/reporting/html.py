"""Fill the templates of pages and cards, and format the numbers, names and code in them."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.process.visible_text import show_line

if TYPE_CHECKING:
    from jinja2 import Environment

ACRONYMS = {"ece", "f1", "nll"}
MAX_CODE = 160  # characters


def render_template(template: str, values: Mapping[str, Any]) -> str:
    """Fill `template`, a file in templates/; text is escaped in HTML.

    Raises jinja2's UndefinedError for a name that `values` do not have.
    """
    return _open_templates().get_template(template).render(values)


def format_percent(share: float, places: int = 1) -> str:
    """Format 0.9374 as '93.7 %'."""
    return f"{100 * share:.{places}f} %"


def format_number(value: float | None, places: int = 3) -> str:
    """Format 1234567 as '1,234,567', 0.51237 as '0.512' and None as a dash."""
    if value is None:
        return "\N{EN DASH}"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.{places}f}"


def format_name(name: str) -> str:
    """Format 'macro_f1' as 'macro F1'."""
    return " ".join(part.upper() if part in ACRONYMS else part for part in name.split("_"))


def format_setting(value: object) -> str:
    """Format a value of params.yaml: text as it is, None as 'not set', all else as JSON."""
    if value is None:
        return "not set"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def format_code(text: object) -> str:
    """Format `text` for Markdown, in a table too: on one line and cut to MAX_CODE characters.

    It cannot be a link, a mention, HTML or a terminal's code, and a pipe does not end its cell.
    """
    line = " ".join(show_line(str(text)).replace("`", "'").split())
    if len(line) > MAX_CODE:
        line = line[: MAX_CODE - 1] + "…"
    return f"`{line}`".replace("|", "\\|") if line else ""


def mark_commands(text: str) -> str:
    """Show in HTML what is between backquotes, a command or a key of params, as such."""
    from markupsafe import Markup, escape

    parts = [escape(part) for part in text.split("`")]
    parts[1::2] = [Markup("<code>{}</code>").format(part) for part in parts[1::2]]
    return Markup().join(parts)


def format_size(num_bytes: float) -> str:
    """Format 23456789 as '23.5 MB'."""
    for unit in ("B", "kB", "MB"):
        if num_bytes < 1000:
            return f"{num_bytes:.0f} B" if unit == "B" else f"{num_bytes:.1f} {unit}"
        num_bytes /= 1000
    return f"{num_bytes:.1f} GB"


@cache
def _open_templates() -> "Environment":
    """Open templates/; what a process has compiled of it is kept there."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

    pages = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=select_autoescape(),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.filters |= {
        "percent": format_percent,
        "size": format_size,
        "digits": format_number,
        "words": format_name,
        "value": format_setting,
        "code": format_code,
        "commands": mark_commands,
    }
    return pages
