"""Registry and journal in PostgreSQL: the same decisions and race, also if the server stops."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import ProgrammingError
from tests.support.checkouts import ROOT
from tests.support.effort import choose_effort
from tests.support.postgres import Server, started
from tests.support.racing import (
    NAME,
    add_version,
    empty_journal,
    make_first_champion,
    race,
    read_champion_alias,
    read_decisions,
)

from plumbline.contract.errors import JournalError, RegistryError
from plumbline.registry import journal, journal_lock, ledger, model_versions, promotion
from plumbline.registry.journal import Decision
from plumbline.registry.model_versions import build_description
from plumbline.registry.reader import find_version

NUM_REGISTERED = 3  # entries before the first decision
pytestmark = [pytest.mark.slow, pytest.mark.service]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with started() as made:
        yield made


@pytest.fixture(scope="module")
def versions(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder to work in; the registry in the server holds three versions."""
    root = tmp_path_factory.mktemp("postgres")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        patch.setenv("MLFLOW_TRACKING_URI", server.uri)
        for slope in (1, 2, 3):
            add_version(root, slope)
    return root


@pytest.fixture
def here(server: Server, versions: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    """That folder as the cwd, version 1 champion by the last entry of the journal."""
    monkeypatch.chdir(versions)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server.uri)
    server.execute("DROP TABLE IF EXISTS plumbline_journal, plumbline_looks")
    assert empty_journal() == NUM_REGISTERED
    make_first_champion("1")
    return server


def test_of_many_who_promote_at_once_one_wins(here: Server) -> None:
    race(rounds=choose_effort(25, 100))


def test_looks(here: Server) -> None:
    sketch = ledger.build_sketch(f"row {number}" for number in range(1000))
    uses = [ledger.SplitUse(question, "split", "20 uses", sketch=sketch) for question in "aba"]
    assert [ledger.record_look(NAME, use).number for use in uses] == [1, 2, 1]
    assert ledger.read_uses() == uses[:2]


def test_a_long_card_fits_into_a_description(here: Server) -> None:
    """A column of PostgreSQL holds 5,000 characters of it; one of SQLite holds anything."""
    client = model_versions.connect_registry()
    client.update_model_version(NAME, "2", build_description("| a | row |\n" * 1000))
    description = client.get_model_version(NAME, "2").description
    assert description.startswith("| a | row |\n")


def test_a_lost_connection_takes_the_lock_and_the_pen(
    here: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process cut off between reading and writing writes nothing: another may have decided."""
    append = journal.Journal.append

    def cut_off(book: journal.Journal, decision: Decision) -> Any:
        here.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_locks "
            "WHERE locktype = 'advisory' AND pid <> pg_backend_pid()"
        )
        return append(book, decision)

    with monkeypatch.context() as patch:
        patch.setattr(journal.Journal, "append", cut_off)
        with pytest.raises(JournalError, match="journal cannot be used"):
            promotion.promote(NAME, "2", expect="1", reason="")
    assert read_champion_alias() == "1"
    assert len(read_decisions()) == 1
    assert promotion.promote(NAME, "2", expect="1", reason="again").number == 5


def test_who_waits_for_the_lock_is_told_who_holds_it(
    here: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_lock, "TIMEOUT_S", 0.3)
    with (
        journal.lock_journal(),
        pytest.raises(JournalError, match=rf"held by pid {os.getpid()} on .*, since 20"),
        journal.lock_journal(),
    ):
        pass


def test_a_server_that_is_unreachable_changes_nothing_and_is_reported_at_once(here: Server) -> None:
    attempts: list[Callable[[], object]] = [
        lambda: promotion.promote(NAME, "2", expect="1", reason=""),
        lambda: promotion.roll_back(NAME, None, ""),
        lambda: find_version(f"models:/{NAME}@champion"),
    ]
    here.stop()
    try:
        for attempt in attempts:
            with pytest.raises(RegistryError, match=r"cannot be (used|read)"):
                attempt()
    finally:
        here.start()
    assert read_champion_alias() == "1"
    assert promotion.promote(NAME, "2", expect="1", reason="").number == 5


def test_the_role_of_a_canary_adds_entries_and_changes_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """docker/postgres.sh makes the roles; a server with a canary records returns with one."""
    decision = Decision("line", "return", "2", "", "ab" * 32, "", "a test")
    with started() as server:
        make_roles(server)

        def find_uri(role: str) -> str:
            return f"postgresql+psycopg2://{role}@/plumbline?host={server.folder}"

        def append(role: str) -> None:
            monkeypatch.setenv("PLUMBLINE_JOURNAL_URI", find_uri(role))
            with journal.lock_journal() as book:
                book.append(decision)

        append("plumbline")
        append("canary")
        with pytest.raises(JournalError, match="permission denied"):
            append("reader")
        server.uri = find_uri("canary")
        for statement in (
            "UPDATE plumbline_journal SET version = '3'",
            "DELETE FROM plumbline_journal",
            "TRUNCATE plumbline_journal",
            "CREATE TABLE mine (number integer)",
        ):
            with pytest.raises(ProgrammingError, match="permission denied"):
                server.execute(statement)
        with journal.read_journal() as book:
            assert [entry.number for entry in book.read_entries()] == [1, 2]


def make_roles(server: Server) -> None:
    """Run docker/postgres.sh as the image of PostgreSQL does; there the owner has another name."""
    here = ("-h", server.folder)
    server.run("createuser", *here, "-U", "plumbline", "--superuser", "mlflow")
    server.run("createdb", *here, "-U", "mlflow", "mlflow")
    rename = "ALTER ROLE plumbline RENAME TO owner"
    server.run("psql", *here, "-U", "mlflow", "-d", "mlflow", "-c", rename)
    names = {"POSTGRES_USER": "mlflow", "POSTGRES_DB": "mlflow", "PGHOST": str(server.folder)}
    passwords = {f"{role}_PASSWORD": "a" for role in ("DECIDER", "READER", "CANARY")}
    path = f"{server.programs}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(
        ["bash", str(ROOT / "docker/postgres.sh")],
        env={**os.environ, **names, **passwords, "PATH": path},
        check=True,
    )
