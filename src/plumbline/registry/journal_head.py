"""The head of the journal: the last entry, as the registry recorded it beside the model.

A chain of hashes does not show that its end is missing; the head does.
"""

from plumbline.registry.journal import Entry

HEAD_TAG = "plumbline.journal"


def format_head(entry: Entry) -> str:
    """Return the number and seal of an entry, as the registry records them."""
    return f"{entry.number}:{entry.seal}"


def find_missing_tail(entries: list[Entry], head: str | None) -> str | None:
    """Return the number of the last entry that the registry recorded, if the journal lacks it.

    None where nothing is missing, or where the registry recorded no entry.
    """
    if head is None:
        return None
    for entry in entries:
        if format_head(entry) == head:
            return None
    return head.partition(":")[0]
