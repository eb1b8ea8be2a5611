"""Faults in registry and journal, by accident or by somebody who can write one of them."""

import contextlib
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

from plumbline.contract import layout
from plumbline.process.files import digest_path, read_json, write_json
from plumbline.registry import champion_pin, model_versions, promotion
from plumbline.registry.reader import addresses
from plumbline_selftest.gate_faults import plant_nothing
from plumbline_selftest.protocol import Command, Fault, FaultSite

STORE, JOURNAL = Path("mlruns/mlflow.db"), Path("mlruns/journal.db")
FIRST, SECOND = "1", "2"  # versions; the second is champion where `load` runs


def _execute(database: Path, statement: str, *values: Any) -> None:
    with contextlib.closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(statement, values)


def _pin_lost_champion(site: FaultSite) -> None:
    """Let git name a champion of which the journal knows nothing, as another branch can."""
    name = site.params.registry.model
    pin = promotion.pin_champion(name)
    if pin:
        champion_pin.write_pin(name, replace(pin, version="7"))


def _delete_model(site: FaultSite) -> None:
    """Lose the registry, while the journal still names its versions."""
    model_versions.connect_registry().delete_registered_model(site.params.registry.model)


def _rewrite_evidence(site: FaultSite) -> None:
    """Exchange the evidence of a registered version, and its tag, through MLflow.

    It gets a run of its own: the files of its run are shared with other plants.
    """
    evidence = read_json(layout.EVIDENCE)
    write_json(layout.EVIDENCE, evidence | {"summary": "it may be promoted."})
    name = site.params.registry.model
    client = model_versions.connect_registry()
    run = client.create_run(client.get_experiment_by_name(name).experiment_id)
    client.log_artifact(run.info.run_id, str(layout.EVIDENCE))
    statement = "UPDATE model_versions SET run_id = ? WHERE name = ? AND version = ?"
    _execute(STORE, statement, run.info.run_id, name, int(SECOND))
    digest = digest_path(layout.EVIDENCE)
    client.set_model_version_tag(name, SECOND, addresses.EVIDENCE_TAG, digest)


def _cut_journal(site: FaultSite) -> None:
    """Lose the last entry, as a journal that was restored from a backup has."""
    _execute(JOURNAL, "DELETE FROM plumbline_journal WHERE action = 'registered' AND version = '2'")


def _exchange_champion(site: FaultSite) -> None:
    """Give the champion the files, the run and the tags of the version before it."""
    name = site.params.registry.model
    client = model_versions.connect_registry()
    tags = client.get_model_version(name, FIRST).tags
    statement = (
        "UPDATE model_versions SET (source, storage_location, run_id) = "
        "(SELECT source, storage_location, run_id FROM model_versions "
        "WHERE name = ? AND version = ?) WHERE name = ? AND version = ?"
    )
    _execute(STORE, statement, name, int(FIRST), name, int(SECOND))
    for key, value in tags.items():
        client.set_model_version_tag(name, SECOND, key, value)


def _move_alias(site: FaultSite) -> None:
    """Make another version champion by MLflow's own page or client."""
    client = model_versions.connect_registry()
    client.set_registered_model_alias(site.params.registry.model, addresses.CHAMPION, FIRST)


def _declare_sound(name: str, command: Command) -> Fault:
    return Fault(name, "none", "pass", plant_nothing, before=command)


FAULTS = (
    _declare_sound("nothing: a promotion", "promote"),
    _declare_sound("nothing: a rollback", "rollback"),
    _declare_sound("nothing: a champion is loaded", "load"),
    Fault(
        "a champion in champion.json that no decision made",
        "does not contain that entry",
        "error",
        _pin_lost_champion,
    ),
    Fault(
        "a registry that lost the model",
        "knows no model of that name",
        "error",
        _delete_model,
        before="register",
    ),
    Fault(
        "evidence exchanged in MLflow",
        "is not that of journal",
        "error",
        _rewrite_evidence,
        before="promote",
    ),
    Fault(
        "the end of the journal cut off",
        "ends before entry",
        "error",
        _cut_journal,
        before="promote",
    ),
    Fault(
        "a champion with other files",
        "not what journal entry",
        "error",
        _exchange_champion,
        before="load",
    ),
    Fault(
        "an alias moved outside plumbline",
        "the journal of decisions made",
        "error",
        _move_alias,
        before="load",
    ),
)
