"""`plumbline adopt`: accept a champion that somebody chose in MLflow."""

from plumbline.cli.champion import announce_decision
from plumbline.terminal.options import ModelName, RequiredReason

EXAMPLE = 'plumbline adopt ticket-router --reason "moved in the UI; better on refunds"'


def adopt(name: ModelName, reason: RequiredReason) -> None:
    """Record a champion of NAME that was set in MLflow, if it passes every check of `promote`.

    Otherwise nothing is changed, and the message says why.
    """
    from plumbline.registry import adoption

    announce_decision(adoption.adopt(name, reason))
