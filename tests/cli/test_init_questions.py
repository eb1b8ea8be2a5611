"""At a terminal `plumbline init` asks for what it needs; anywhere else it says what is missing."""

import os
import pty
import subprocess
from pathlib import Path

import pytest
from tests.support.checkouts import find_python, get_clean_environment
from tests.support.installed import unpack_once
from tests.support.tickets import write_set_tickets, write_tickets

from plumbline.contract.yaml_file import load_yaml

CODE = "from plumbline.cli import main; main()"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_tickets(tmp_path / "tickets.csv", 300)
    return tmp_path


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """An installed plumbline, which packs its wheel again: sooner than a checkout builds it."""
    return unpack_once(tmp_path_factory, worker_id)


def answer(folder: Path, site: Path, *lines: str, options: tuple[str, ...] = ()) -> tuple[int, str]:
    """Type lines at a terminal; return the exit code and what stood there."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [find_python(), "-c", CODE, "init", *options],
        cwd=folder,
        env={
            **get_clean_environment(),
            "PYTHONPATH": str(site),
            "TERM": "dumb",
            "NO_COLOR": "1",
        },
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    os.write(ours, "".join(f"{line}\n" for line in lines).encode())
    shown = b""
    while True:
        try:
            read = os.read(ours, 65536)
        except OSError:  # Linux: nobody has the other end
            break
        if not read:
            break
        shown += read
    os.close(ours)
    return process.wait(600), shown.decode().replace("\r\n", "\n")


def test_it_asks_for_all_and_guesses_the_columns(folder: Path, site: Path) -> None:
    code, shown = answer(folder, site, "router", "tickets.csv", "", "")
    assert code == 0, shown
    assert "Name of the new folder [my-model]: " in shown
    assert "File of texts and labels: " in shown
    assert "'queue' (3 values in 300 rows, 1.0 words each)" in shown
    assert "Column of the texts [body]: " in shown
    assert "Column of the labels [queue]: " in shown
    columns = load_yaml(folder / "router/params.yaml")["data"]["columns"]
    assert (columns["text"], columns["label"]) == ("body", "queue")


def test_it_asks_again_where_an_answer_cannot_be(folder: Path, site: Path) -> None:
    typed = ("no.csv", "tickets.csv", "words", "body", "queue")
    code, shown = answer(folder, site, *typed, options=("router",))
    assert code == 0, shown
    assert "Name of the new folder" not in shown
    assert "no.csv: no such file" in shown
    assert "words: no such column; found: id, body, queue" in shown
    assert (folder / "router/params.yaml").is_file()


@pytest.mark.parametrize(("typed", "separator"), [("", ";"), ("n", None)])
def test_it_asks_whether_cells_hold_several_labels(
    folder: Path, site: Path, typed: str, separator: str | None
) -> None:
    write_set_tickets(folder / "sets.csv", 300)
    code, shown = answer(folder, site, "router", "sets.csv", "", "", typed)
    assert code == 0, shown
    assert "Do cells hold several labels, as lists or with ';' between them? [Y/n]: " in shown
    columns = load_yaml(folder / "router/params.yaml")["data"]["columns"]
    assert columns.get("label_separator") == separator


def test_what_the_command_line_says_is_not_asked(folder: Path, site: Path) -> None:
    options = ("--data", "tickets.csv", "--label", "queue")
    code, shown = answer(folder, site, "router", "", options=options)
    assert code == 0, shown
    for question in ("File of texts", "Column of the labels"):
        assert question not in shown
    assert "Column of the texts [body]: " in shown


@pytest.mark.parametrize("given", [(), ("router",), ("--data", "tickets.csv")])
def test_nothing_is_asked_where_nobody_can_answer(folder: Path, given: tuple[str, ...]) -> None:
    done = subprocess.run(
        [find_python(), "-c", CODE, "init", *given],
        cwd=folder,
        env=get_clean_environment(),
        input="router\ntickets.csv\n\n\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert "name the folder to make, and the file of data: plumbline init my-r" in done.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["tickets.csv"]
