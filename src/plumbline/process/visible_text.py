"""Text that others wrote, as a terminal and the log of a workflow may get it.

Labels, values of columns, reasons in the journal and answers of agents may hold ANSI codes, which
move the cursor or clear the screen, line ends, and commands of GitHub's runner.
"""

import io
import json
import sys

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
OLD_COMMAND = "##["  # begins a command of GitHub's runner, wherever in a line
COMMAND = "::"  # the same at the beginning of a line, after blanks too


def show_line(text: str) -> str:
    """Return `text` on one line: white space becomes blanks, else what is not printable U+FFFD."""
    line = text if text.isprintable() else "".join(_show_character(char) for char in text)
    line = line.replace(OLD_COMMAND, "## [")
    if line.lstrip().startswith(COMMAND):
        line = line.replace(COMMAND, ": :", 1)
    return line


def show_lines(text: str) -> str:
    """Return `text`, which may have several lines, with each of them as `show_line` does."""
    return "\n".join(show_line(line) for line in text.split("\n"))


def dump_visibly(value: object, indent: int | None = None) -> str:
    """Return JSON in which what is not printable is escaped: JSON itself allows C1 controls."""
    is_unicode = str(sys.stdout.encoding).lower().startswith("utf")
    text = json.dumps(value, ensure_ascii=not is_unicode, indent=indent)
    if text.isprintable():
        return text
    return "".join(_escape_character(char) for char in text)


def escape_unencodable() -> None:
    """Let stdout write what its encoding lacks as \\u4f60, as of Latin-1, in place of an error."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _show_character(char: str) -> str:
    if char.isprintable():
        return char
    return " " if char.isspace() else REPLACEMENT


def _escape_character(char: str) -> str:
    if char.isprintable() or char == "\n":  # json.dumps has escaped those of texts
        return char
    return json.dumps(char)[1:-1]
