"""Request training for a champion that became worse, or that gets other requests than before."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Literal

from plumbline.contract.params import Drift
from plumbline.registry import promotion
from plumbline.registry.alerts import send_alert
from plumbline.registry.journal import Entry
from plumbline.registry.reader.verified_cache import CachedVersion

SHOWN_BY = {"drift": "rows", "worse": "days"}


def request_training(
    champion: CachedVersion,
    verdict: Literal["drift", "worse"],
    evidence: str,
    reason: str,
    limits: Drift,
    now: datetime,
) -> tuple[Entry | None, str]:
    """Write a request into the journal and send an alert; None, and why, where it has to wait.

    `evidence` is the digest of what shows it, which requests training once.
    """
    name, own = champion.name, (champion.version, champion.bundle, evidence)
    history = promotion.read_history(name)
    limit = find_limit_reached(history, limits, now)
    if ("retrain", evidence) in [(entry.action, entry.evidence) for entry in history]:
        limit = f"training was already requested for these {SHOWN_BY[verdict]}"
    if limit:
        return None, limit
    entry = promotion.record_finding(name, "retrain", *own, reason)
    send_alert(entry, verdict)
    return entry, ""


def find_limit_reached(history: Sequence[Entry], limits: Drift, now: datetime) -> str:
    """Which limit is reached, empty for none; a request from the future counts as of now."""
    requested = [datetime.fromisoformat(e.at) for e in history if e.action == "retrain"]
    today = [time for time in requested if time > now - timedelta(days=1)]
    if len(today) >= limits.retrain.per_day:
        return f"training was requested {len(today)} times within a day, the most allowed"
    return ""
