"""Write the pages of docs/reference that follow from the code: `make docs`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from typer.main import get_command

from plumbline.cli import app

FOLDER = Path(__file__).with_name("reference")
HEAD = """# Commands and their options

`plumbline COMMAND --help` prints the same. This page is generated: `make docs` writes it.
"""
EXIT_CODES = """
## Exit codes

* `0`: done; of `report --verdict`: promote; of `drift`: stable; of `drift --due`: due.
* `1`: something is wrong; the message says what, where, and what to do.
* `2`: `params.yaml`, an option or an argument is wrong; nothing was started.
* `10`: of `report --verdict`: keep, the champion stays; of `drift --due`: not due.
* `20`: the verdict is refuse, and nothing was registered.
* `30`, `31`, `32`: of `drift`: drift, watch, too few rows.

Where next: [what each gate asks](evidence.md), [every key of params.yaml](params.md).
"""


def write_commands() -> str:
    """Return the page of all commands, each with its arguments and options."""
    sections = [HEAD]
    for name, command in list_commands(get_command(app), "plumbline"):
        context = typer.Context(command, info_name=name)
        records = [param.get_help_record(context) for param in command.params]
        options = [f"* `{left}`: {right}" for left, right in filter(None, records)]
        what = " ".join((command.help or "").split())
        texts = [f"## {name}", what, *quote_example(command.epilog or ""), "\n".join(options)]
        sections.append("\n\n".join(filter(None, texts)) + "\n")
    return "\n".join(sections) + EXIT_CODES


def list_commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield the visible commands, those of groups too, in the order of `plumbline --help`."""
    for key, inner in getattr(command, "commands", {}).items():
        if not inner.hidden:
            yield from list_commands(inner, f"{name} {key}")
    if not hasattr(command, "commands"):
        yield name, command


def quote_example(epilog: str) -> Iterator[str]:
    """Yield the example of a command as a block of code."""
    lines = [line for line in epilog.splitlines() if line and not line.startswith("Example")]
    if lines:
        yield "\n".join(f"    {line}" for line in lines)


PAGES = {"commands": write_commands}

if __name__ == "__main__":
    for page, write in PAGES.items():
        FOLDER.joinpath(f"{page}.md").write_text(write(), encoding="utf-8")
