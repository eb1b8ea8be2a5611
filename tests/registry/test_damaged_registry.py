"""A registry in which a bit flipped is an error in one line, whatever SQLite reads there now."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from plumbline.contract.errors import RegistryError
from plumbline.registry import lost_models
from plumbline.registry.reader.addresses import parse_address
from plumbline.registry.reader.database import COLUMNS, DatabaseStore

CHAMPION = parse_address("models:/line@champion")
ROWS = {
    "model_versions": ("line", 1, "default", "None", None, "models:/m-1", "a run"),
    "model_version_tags": ("line", 1, "default", "plumbline.bundle", "a digest"),
    "registered_model_tags": ("line", "default", "plumbline.journal", "1:a"),
    "registered_model_aliases": ("line", "champion", "default", 1),
    "logged_models": ("m-1", "/package"),
    "runs": ("a run", "/files"),
}


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """The tables of MLflow that are read, with one version."""
    path = tmp_path / "mlflow.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        for name, row in ROWS.items():
            connection.execute(f"CREATE TABLE {name} ({', '.join(COLUMNS[name])})")
            values = ", ".join("?" * len(row))
            connection.execute(f"INSERT INTO {name} VALUES ({values})", row)  # noqa: S608  constants
    return path


def test_a_sound_registry_is_read(database: Path) -> None:
    store = DatabaseStore(f"sqlite:///{database}")
    version = store.find_version(CHAMPION)
    assert (version.number, version.package, version.run_files) == ("1", "/package", "/files")
    assert version.tags == {"plumbline.bundle": "a digest"}
    assert store.read_model_tag(CHAMPION, "plumbline.journal") == "1:a"


@pytest.mark.parametrize(
    ("table", "change"),
    [
        ("registered_model_aliases", "version = ''"),
        ("registered_model_aliases", "version = x'31'"),
        ("model_version_tags", "key = CAST(key AS BLOB)"),
        ("model_version_tags", "value = CAST(value AS BLOB)"),
        ("model_version_tags", "value = CAST(x'a862' AS TEXT)"),
        ("model_versions", "storage_location = x'2f'"),
        ("model_versions", "run_id = CAST(run_id AS BLOB)"),
        ("logged_models", "artifact_location = 7"),
        ("runs", "artifact_uri = CAST(artifact_uri AS BLOB)"),
    ],
)
def test_a_value_of_another_type_is_damage(table: str, change: str, database: Path) -> None:
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(f"UPDATE {table} SET {change}")  # noqa: S608  constants
    with pytest.raises(RegistryError, match="cannot be read"):
        DatabaseStore(f"sqlite:///{database}").find_version(CHAMPION)


def test_a_tag_of_a_model_that_is_bytes_is_damage(database: Path) -> None:
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE registered_model_tags SET value = CAST(value AS BLOB)")
    with pytest.raises(RegistryError, match="found b'1:a'"):
        DatabaseStore(f"sqlite:///{database}").read_model_tag(CHAMPION, "plumbline.journal")


def test_a_table_whose_definition_is_no_text_is_damage(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite quotes it in its error, which Python then cannot decode."""
    content = database.read_bytes()
    assert content.count(b"CREATE TABLE runs (") == 1
    database.write_bytes(content.replace(b"CREATE TABLE runs (", b"CREATE TABLE runs \xd3"))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{database}")
    with pytest.raises(RegistryError, match="cannot be read"):
        DatabaseStore(f"sqlite:///{database}").find_version(CHAMPION)
    with pytest.raises(RegistryError, match=r"cannot be read .*; restore it from a backup"):
        lost_models.require_local_models()
