"""What `plumbline init` asks at a terminal where the command line does not say it."""

import sys
from pathlib import Path

import typer

from plumbline.contract.errors import ParamsError
from plumbline.terminal.console import print_lines

NAME = "my-model"


def require_terminal(example: str) -> None:
    """Raise ParamsError where nobody can answer."""
    if not sys.stdin.isatty():
        raise ParamsError(f"name the folder to make, and the file of data: {example}")


def ask_folder() -> Path:
    """Ask for the folder to make."""
    return Path(typer.prompt("Name of the new folder", default=NAME))


def ask_data() -> Path:
    """Ask for the file of data, until there is one."""

    def require_file(answer: str) -> Path:
        path = Path(answer).expanduser()
        if not path.is_file():
            raise typer.BadParameter(f"{path}: no such file")
        return path

    asked: Path = typer.prompt("File of texts and labels", value_proc=require_file)
    return asked


def ask_columns(
    data: Path, text: str | None, labels: list[str], separator: str | None
) -> tuple[str, list[str], str | None]:
    """Show the columns of a file, and ask for those that are not given; guesses are defaults.

    Returns the columns of texts and labels, and what separates labels in a cell: "" for nothing.
    Raises DataError for a file that cannot be used.
    """
    from plumbline.init.columns import guess_labels, guess_text, read_columns

    columns = read_columns(data)
    names = list(columns.profiles)
    print_lines(f"{data} has these columns:\n  {columns.describe(names)}")
    guess = labels or guess_labels(columns, text)
    if text is None:
        default = guess_text(columns.list_possible_texts(guess))
        text = _ask_column("texts", names, default)
    if not labels:
        labels = _ask_labels([name for name in names if name != text], guess)
    if separator is None:
        separator = _ask_separator([columns.profiles[name].separator for name in labels])
    return text, labels, separator


def _ask_labels(names: list[str], guess: list[str]) -> list[str]:
    if len(guess) > 1:
        question = f"Is each of {', '.join(guess)} a label that rows have (1) or not (0)?"
        if typer.confirm(question, default=True):
            return guess
    return [_ask_column("labels", names, guess[0] if len(guess) == 1 else None)]


def _ask_separator(found: list[str | None]) -> str | None:
    """Ask whether cells hold several labels, where a single column of them looks like it."""
    if len(found) > 1 or found[0] is None:
        return None
    question = f"Do cells hold several labels, as lists or with {found[0]!r} between them?"
    return found[0] if typer.confirm(question, default=True) else ""


def _ask_column(role: str, names: list[str], guess: str | None) -> str:
    def require_name(answer: str) -> str:
        if answer not in names:
            raise typer.BadParameter(f"{answer}: no such column; found: {', '.join(names)}")
        return answer

    default = guess if guess in names else None
    asked: str = typer.prompt(f"Column of the {role}", default=default, value_proc=require_name)
    return asked
