"""Where the commands print."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console

from plumbline.process.stop_signals import INTERRUPTED, TERMINATED, Terminated, raise_on_sigterm
from plumbline.process.visible_text import dump_visibly, show_line, show_lines

WIDE = 1000  # characters: in a file or a pipe no table is narrowed to a screen
IS_ON_SCREEN = sys.stdout.isatty() or "COLUMNS" in os.environ
out = Console(highlight=False, soft_wrap=True, width=None if IS_ON_SCREEN else WIDE)


def print_plain(text: str) -> None:
    """Print `text` on one line: brackets in it are not markup, and it steers no terminal."""
    out.print(show_line(text), markup=False)


def print_lines(text: str) -> None:
    """Print `text`, which may have several lines, as `print_plain` does."""
    out.print(show_lines(text), markup=False)


def print_json(value: Any) -> None:
    """Print facts as JSON, for another program; what steers a terminal is escaped."""
    print(dump_visibly(value, indent=2))


@contextmanager
def explain_stop(hint: str) -> Iterator[None]:
    """Let SIGTERM end the block as Ctrl-C does, with an exit code of its own and `hint`."""
    raise_on_sigterm()
    try:
        yield
    except (KeyboardInterrupt, Terminated) as error:
        print_plain(hint)
        is_terminated = isinstance(error, Terminated)
        raise typer.Exit(TERMINATED if is_terminated else INTERRUPTED) from None
