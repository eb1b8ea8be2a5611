"""What `plumbline init` asks at a terminal where the command line does not say it."""

import sys
from pathlib import Path

import typer

from plumbline.cli.console import print_plain
from plumbline.contract.errors import ParamsError

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


def ask_columns(data: Path, text: str | None, label: str | None) -> tuple[str, str]:
    """Show the columns of a file, and ask for those that are not given; guesses are defaults.

    Raises DataError for a file that cannot be used.
    """
    from plumbline.init.columns import guess_label, guess_text, read_columns

    columns = read_columns(data)
    names = list(columns.profiles)
    print_plain(f"{data} has these columns:\n  {columns.describe(names)}")
    guess = label or guess_label(columns.list_possible_labels(text))
    if text is None:
        default = guess_text(columns.list_possible_texts(guess))
        text = _ask_column("texts", names, default)
    if label is None:
        label = _ask_column("labels", [name for name in names if name != text], guess)
    return text, label


def _ask_column(role: str, names: list[str], guess: str | None) -> str:
    def require_name(answer: str) -> str:
        if answer not in names:
            raise typer.BadParameter(f"{answer}: no such column; found: {', '.join(names)}")
        return answer

    default = guess if guess in names else None
    asked: str = typer.prompt(f"Column of the {role}", default=default, value_proc=require_name)
    return asked
