"""The tutorial, typed as a reader types it: its pages in their order, in one folder."""

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.checkouts import ROOT, Checkout, make_checkout
from tests.support.installed import make_environment
from tests.support.loopback import find_free_port, wait_for_server
from tests.support.workflows.runner import Hosting, link_environment
from typer.main import get_command

from plumbline.cli import app

PAGES = sorted((ROOT / "docs/tutorial").glob("*.md"))
BLOCK = re.compile(r"(?ms)^```(bash|text)\n(.*?)^```$")
FAILURE = re.compile(r"(?m)^(refuse|drift): ")  # what such a block prints
GIT = """[user]
name = reader
email = reader@example.com
[url "{folder}/"]
insteadOf = https://github.com/YOU/
"""
LARGEST = 200_000  # bytes of a picture


def read_blocks(page: Path) -> list[tuple[str, str]]:
    """Return what a reader types (bash) and what is printed then (text), in their order."""
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def mask(text: str) -> str:
    """Let numbers and the width of columns not matter."""
    return re.sub(r"\s+", " ", re.sub(r"\d+(?:[.,]\d+)*", "0", text)).strip()


def find_unprinted(lines: list[str], printed: str) -> list[str]:
    """Return the lines that were not printed; `…` stands for anything."""
    said = "\n".join(map(mask, printed.splitlines()))
    patterns = {line: ".*".join(map(re.escape, mask(line).split("…"))) for line in lines}
    return [line for line, pattern in patterns.items() if not re.search(pattern, said)]


class Reader:
    """Types blocks in a shell; each begins in the folder in which the one before ended."""

    def __init__(self, folder: Path) -> None:
        (folder / "plumbline").mkdir()
        clone = make_checkout(folder / "plumbline")
        clone.commit("start")
        link_environment(clone.path)
        self.folder, self.place = folder, clone.path
        subprocess.run(["git", "init", "-q", "--bare", folder / "my-router.git"], check=True)
        (folder / "git").write_text(GIT.format(folder=folder))
        self.environment = clone.environment | {
            "PATH": os.environ["PATH"],
            "GIT_CONFIG_GLOBAL": str(folder / "git"),
        }
        del self.environment["PYTHONPATH"]
        self.port = str(find_free_port())
        self.server: subprocess.Popen[bytes] | None = None

    def type(self, block: str, *, fails: bool) -> str:
        """Run a block, and return what it printed."""
        if "plumbline serve " in block:
            command = [*shlex.split(block), "--port", self.port]
            self.server = subprocess.Popen(command, cwd=self.place, env=self.environment)
            wait_for_server(f"http://127.0.0.1:{self.port}/ping")
            return ""
        script = f"{block.replace(':8000/', f':{self.port}/')}\npwd > '{self.folder}/place'\n"
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", script],
            cwd=self.place,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert (done.returncode != 0) == fails, f"{block}\nexit {done.returncode}\n{done.stdout}"
        if not fails:
            self.place = Path((self.folder / "place").read_text().strip())
        own = self.folder / "my-router"
        if own.is_dir() and not (own / ".venv").exists():  # as `make setup` leaves it
            make_environment(own / ".venv", *own.glob("wheels/plumbline-*.whl"))
            (own / ".venv/ready").touch()
        return done.stdout + (self.retrain() if "git push " in block else "")

    def retrain(self) -> str:
        """Run the workflow that a push to main starts, and return what its jobs print."""
        (self.folder / "hosting").mkdir()
        origin = Checkout(self.place)
        origin.environment = self.environment
        jobs = Hosting(origin, self.folder / "hosting").run("retrain").values()
        assert {job.result for job in jobs} <= {"success", "skipped"}
        return "".join(job.log for job in jobs)


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    made = Reader(tmp_path_factory.mktemp("a reader"))
    yield made
    if made.server:
        made.server.terminate()
        made.server.wait()


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_reader_types_prints_what_the_page_shows(page: Path, reader: Reader) -> None:
    blocks = read_blocks(page)
    printed = ""
    for number, (kind, text) in enumerate(blocks):
        if kind == "bash":
            shown = "".join(
                told for kind, told in blocks[number + 1 : number + 2] if kind == "text"
            )
            printed += reader.type(text, fails=bool(FAILURE.search(shown)))
        else:
            missing = find_unprinted(text.splitlines(), printed)
            assert missing == [], f"not printed: {missing}\n{printed}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_reader_types_can_be_typed(page: Path) -> None:
    commands, makefile = get_command(app).commands, (ROOT / "Makefile").read_text()  # type: ignore[attr-defined]
    text = "".join(text for kind, text in read_blocks(page) if kind == "bash")
    subprocess.run(["bash", "-n", "-c", text], check=True)
    names, targets = (
        re.findall(rf"(?m)^{start} (\S+)", text) for start in (r"\.venv/bin/plumbline", "make")
    )
    assert set(names) <= set(commands)
    assert [target for target in targets if f"\n{target}: " not in makefile] == []


def test_pictures_are_small() -> None:
    for picture in (ROOT / "docs/images").glob("*.png"):
        assert picture.stat().st_size <= LARGEST, picture.name
