"""`plumbline adopt`: accept a champion that somebody chose in MLflow."""

from plumbline.cli.champion import announce_decision
from plumbline.cli.options import ModelName, Reason

EXAMPLE = 'plumbline adopt ticket-router --reason "moved in the UI; better on refunds"'


def adopt(name: ModelName, reason: Reason = "") -> None:
    """Put a move of the alias champion of NAME in MLflow through every check of `promote`.

    What passes is journaled; else nothing is changed, and the message says why. Requires --reason.
    """
    from plumbline.registry import adoption

    announce_decision(adoption.adopt(name, reason))
