"""What of MLflow's database plumbline reads, and whether it notices that a bit of it flipped."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.support.faults.site import Site

from plumbline.contract.errors import PlumblineError
from plumbline.registry import lost_models
from plumbline.registry.journal_head import HEAD_TAG, INTENT_TAG
from plumbline.registry.reader import find_version, open_version
from plumbline.registry.reader.addresses import (
    BUNDLE_TAG,
    EVIDENCE_TAG,
    GOLDEN_TAG,
    parse_address,
)
from plumbline.registry.reader.connection import connect_store
from plumbline.registry.reader.sqlite_files import open_to_read

# Returns "caught", "harmless" where all that is read is as before, "shown" where only what MLflow
# shows to people has changed, or "silent".
Check = Callable[[], str]
DATABASE = Path("mlruns/mlflow.db")
DECISIVE = (BUNDLE_TAG, EVIDENCE_TAG, GOLDEN_TAG)  # the tags of a version that a decision reads


def list_registry(site: Site, model: str) -> Iterator[tuple[Path, Check]]:
    """List the database of the checkout that is the current folder, with one version of a model."""
    addresses = (f"models:/{model}@champion", f"models:/{model}/1")
    facts, rows = _read_facts(addresses), _read_rows()

    def check() -> str:
        try:
            if _read_facts(addresses) == facts:
                return "harmless" if _read_rows() == rows else "shown"
            for address in addresses:
                with open_version(address, "predict"):
                    pass
        except PlumblineError:
            return "caught"
        return "silent" if site.run("plumbline", "doctor", "--full").returncode == 0 else "caught"

    yield DATABASE, check


def _read_facts(addresses: Sequence[str]) -> list[Any]:
    """Read what decides which version is served, promoted or compared with."""
    lost_models.require_local_models()
    facts: list[Any] = []
    for address in addresses:
        version = find_version(address, require_journal=True)
        tags = {tag: version.tags[tag] for tag in DECISIVE}
        facts.append(replace(version, tags=tags))
    for tag in (HEAD_TAG, INTENT_TAG):
        facts.append(connect_store().read_model_tag(parse_address(addresses[0]), tag))
    return facts


def _read_rows() -> list[str]:
    """Read all rows of all tables, or the error that this gives."""
    try:
        with closing(open_to_read(DATABASE)) as connection:
            return list(connection.iterdump())
    except sqlite3.Error as error:
        return [str(error)]
