"""Faults in registry and journal, planted by somebody who can write one of them, or both."""

import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plumbline.contract import layout
from plumbline.process.files import digest_path, read_json, write_json
from plumbline.registry import journal, journal_head, ledger, model_versions, promotion
from plumbline.registry.journal import Decision
from plumbline.registry.reader import addresses
from plumbline_selftest.protocol import Fault, FaultSite

if TYPE_CHECKING:
    from mlflow import MlflowClient

STORE, JOURNAL = Path("mlruns/mlflow.db"), Path("mlruns/journal.db")
CHAMPION, CHALLENGER = "1", "2"


def _plant_nothing(site: FaultSite) -> None:
    promotion.read_history(site.params.registry.model)


def _execute(database: Path, statement: str, *values: Any) -> None:
    with contextlib.closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(statement, values)


def _log_elsewhere(client: "MlflowClient", name: str, number: str, evidence: Path) -> None:
    """Give a version a run of its own with this evidence: the files of its run are shared."""
    experiment = client.get_experiment_by_name(name)
    run = client.create_run(experiment.experiment_id)
    client.log_artifact(run.info.run_id, str(evidence))
    statement = "UPDATE model_versions SET run_id = ? WHERE name = ? AND version = ?"
    _execute(STORE, statement, run.info.run_id, name, int(number))
    client.set_model_version_tag(name, number, addresses.EVIDENCE_TAG, digest_path(evidence))


def _rewrite_evidence(site: FaultSite) -> None:
    """Exchange the evidence of a registered version, and its tag, through MLflow."""
    evidence = read_json(layout.EVIDENCE)
    write_json(layout.EVIDENCE, evidence | {"summary": "it may be promoted."})
    client = model_versions.connect_registry()
    _log_elsewhere(client, site.params.registry.model, CHALLENGER, layout.EVIDENCE)


def _keep_refused(site: FaultSite) -> None:
    """Let the journal refuse the registered bundle; MLflow goes on saying that it may be promoted.

    The journal says what `register` writes; its files are left, since other plants share them.
    """
    bundle = read_json(layout.EVIDENCE)["digests"]["bundle"]
    name = site.params.registry.model
    promotion.record_verdict(name, "refuse", "", bundle, "0" * 64, "leakage failed.")


def _make_version_by_hand(site: FaultSite) -> None:
    """Remove the registered version and make one of that number from another's files."""
    name = site.params.registry.model
    client = model_versions.connect_registry()
    one = client.get_model_version(name, CHAMPION)
    for table in ("registered_model_aliases", "model_version_tags", "model_versions"):
        statement = f"DELETE FROM {table} WHERE name = ? AND version = ?"  # noqa: S608  names of this line
        _execute(STORE, statement, name, int(CHALLENGER))
    client.create_model_version(name, one.source, one.run_id, one.tags, model_id=one.model_id)


def _exchange_version(changed: str, other: str) -> Callable[[FaultSite], None]:
    """Return what gives one version the files, the run and the tags of another."""

    def plant(site: FaultSite) -> None:
        name = site.params.registry.model
        tags = model_versions.connect_registry().get_model_version(name, other).tags
        statement = (
            "UPDATE model_versions SET (source, storage_location, run_id) = "
            "(SELECT source, storage_location, run_id FROM model_versions "
            "WHERE name = ? AND version = ?) WHERE name = ? AND version = ?"
        )
        _execute(STORE, statement, name, int(other), name, int(changed))
        client = model_versions.connect_registry()
        for key, value in tags.items():
            client.set_model_version_tag(name, changed, key, value)

    return plant


def _cut_journal(site: FaultSite) -> None:
    _execute(JOURNAL, "DELETE FROM plumbline_journal WHERE action = 'registered' AND version = '2'")


def _cut_journal_and_head(site: FaultSite) -> None:
    """Promote, then let journal and registry forget it; champion.json in git does not."""
    name = site.params.registry.model
    last = promotion.read_history(name)[-1]
    site.run("promote")
    _execute(JOURNAL, "DELETE FROM plumbline_journal WHERE number > ?", last.number)
    client = model_versions.connect_registry()
    client.set_registered_model_alias(name, addresses.CHAMPION, CHAMPION)
    client.set_registered_model_tag(name, journal_head.HEAD_TAG, journal_head.format_head(last))


def _cut_looks(site: FaultSite) -> None:
    """Look at the test split under a name that the registry does not know, and forget it."""
    first = ledger.read_uses(site.params.registry.model)[0]
    ledger.record_look(
        "aside", ledger.SplitUse(question="aside", split=first.split, plan=first.plan)
    )
    _execute(JOURNAL, "DELETE FROM plumbline_journal WHERE model = 'aside'")


def _use_up_renamed_split(site: FaultSite) -> None:
    """Spend the planned looks on the same rows under other names."""
    first = ledger.read_uses(site.params.registry.model)[0]
    for number in range(site.params.evaluation.planned_looks):
        question = f"question {number}"
        ledger.record_look(
            "aside",
            ledger.SplitUse(
                question=question, split="renamed", plan=first.plan, sketch=first.sketch
            ),
        )


def _append_promotion(site: FaultSite) -> None:
    """Append a promotion to the journal, as who can write to its database alone."""
    name = site.params.registry.model
    tags = model_versions.connect_registry().get_model_version(name, CHALLENGER).tags
    digests = (tags[addresses.BUNDLE_TAG], tags[addresses.EVIDENCE_TAG])
    with journal.lock_journal() as book:
        book.append(Decision(name, "promote", CHALLENGER, CHAMPION, *digests, "selftest"))


def _build_fault(name: str, message: str, plant: Callable[[FaultSite], None]) -> Fault:
    return Fault(name, message, "error", plant, before="promote", until="promote")


FAULTS = (
    Fault("nothing: a promotion", "none", "pass", _plant_nothing, "promote", "promote"),
    Fault("nothing: a rollback", "none", "pass", _plant_nothing, "rollback", "rollback"),
    Fault("nothing: a champion is loaded", "none", "pass", _plant_nothing, "load", "load"),
    Fault("looks forgotten, under another name", "ends before entry", "error", _cut_looks),
    Fault("a worn-out test split under other names", "power", "refuse", _use_up_renamed_split),
    _build_fault("evidence exchanged in MLflow", "is not that of journal", _rewrite_evidence),
    _build_fault("a refused model rewritten in MLflow", "refused since", _keep_refused),
    _build_fault(
        "a version made by hand in MLflow", "not say that it was registered", _make_version_by_hand
    ),
    _build_fault(
        "a version with the files of another",
        "not say that it was registered",
        _exchange_version(CHALLENGER, CHAMPION),
    ),
    _build_fault(
        "a promotion appended to the journal", "was not written by plumbline", _append_promotion
    ),
    _build_fault("the end of the journal cut off", "ends before entry", _cut_journal),
    _build_fault(
        "the end of the journal cut off with its head",
        "does not contain that entry",
        _cut_journal_and_head,
    ),
    Fault(
        "a former champion with other files",
        "is not the one that journal entry",
        "error",
        _exchange_version(CHAMPION, CHALLENGER),
        before="rollback",
        until="rollback",
    ),
    Fault(
        "a champion with other files",
        "not what journal entry",
        "error",
        _exchange_version(CHALLENGER, CHAMPION),
        before="load",
        until="load",
    ),
)
