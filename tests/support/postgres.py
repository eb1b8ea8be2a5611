"""A PostgreSQL server for the tests, with a folder and a socket of its own."""

import getpass
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text


class Server:
    """A PostgreSQL of its own in a temporary folder, reached through a socket in it."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self.programs, self.folder, self.data = programs, folder, folder / "data"
        self.uri = f"postgresql+psycopg2://plumbline@/postgres?host={folder}"

    def start(self) -> None:
        settings = f"-c listen_addresses= -c unix_socket_directories={self.folder} -c fsync=off"
        self.run(
            "pg_ctl", "-w", "-D", self.data, "-l", self.folder / "log", "-o", settings, "start"
        )

    def stop(self) -> None:
        self.run("pg_ctl", "-w", "-D", self.data, "-m", "immediate", "stop")

    def run(self, program: str, *arguments: object) -> None:
        """Run one of PostgreSQL's programs, not as root: it would refuse."""
        is_root = os.geteuid() == 0
        done = subprocess.run(
            [str(self.programs / program), *map(str, arguments)],
            user=unprivileged() if is_root else None,
            extra_groups=[] if is_root else None,
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr

    def execute(self, statement: str) -> None:
        engine = create_engine(self.uri)
        with engine.begin() as connection:
            connection.execute(text(statement))
        engine.dispose()


def unprivileged() -> str:
    """Who runs the server: the caller, or instead of root the user of PostgreSQL's package."""
    import pwd

    if os.geteuid() != 0:
        return getpass.getuser()
    return next((user.pw_name for user in pwd.getpwall() if user.pw_name == "postgres"), "nobody")


def programs() -> Path | None:
    """Where initdb and pg_ctl are; Debian keeps them off the PATH."""
    places = [os.environ["PATH"], *map(str, Path("/usr/lib/postgresql").glob("*/bin"))]
    found = shutil.which("initdb", path=os.pathsep.join(places))
    return Path(found).resolve().parent if found else None


@contextmanager
def started() -> Iterator[Server]:
    """A server of its own, gone after the block; skips where there is no PostgreSQL."""
    place = programs()
    if place is None:
        pytest.skip("no PostgreSQL here: initdb is neither on PATH nor under /usr/lib/postgresql")
    folder = Path(tempfile.mkdtemp(prefix="plumbline-"))  # a socket's path must be short
    shutil.chown(folder, unprivileged())
    made = Server(place, folder)
    try:
        made.run("initdb", "-A", "trust", "-U", "plumbline", "-D", made.data)
        made.start()
        yield made
    finally:
        if (made.data / "postmaster.pid").exists():
            made.stop()
        shutil.rmtree(folder)
