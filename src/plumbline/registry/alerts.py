"""Alerts: a tag on a version, which the webhooks of an MLflow server send on."""

import logging
from http.client import HTTPException

from plumbline.contract.errors import RegistryError
from plumbline.registry.journal import Entry
from plumbline.registry.reader.rest import RestStore
from plumbline.registry.reader.stores import connect_store
from plumbline.tracking import store_errors

log = logging.getLogger(__name__)
ALERT_TAG = "plumbline.alert"
MAX_TEXT = 1000  # characters


def send_alert(entry: Entry, verdict: str) -> None:
    """Tag the version of `entry` with `verdict`, the reason and the entry's number.

    Without a server of MLflow nobody would send it, so nothing is done. A failure is logged: the
    journal, where `entry` is already, is the record.
    """
    end = f"; journal entry {entry.number}"
    text = f"{verdict}: {entry.reason}"[: MAX_TEXT - len(end)] + end
    try:
        store = connect_store()
        if isinstance(store, RestStore):
            store.tag_version(entry.model, entry.version, ALERT_TAG, text)
    except (RegistryError, OSError, HTTPException, ValueError) as error:
        reason = store_errors.shorten_error(error) or type(error).__name__
        log.warning("no alert of journal entry %d was sent: %s", entry.number, reason)
