"""The head of the journal: its last entry, as the registry recorded it beside the entry's model.

A chain of hashes does not show that its end is missing; the head does. An entry is sealed over all
entries before it, of whichever model: the newest head of all models is that of the whole journal.
"""

from collections.abc import Mapping

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


def find_missing_entry(entries: list[Entry], heads: Mapping[str, str]) -> str | None:
    """Return the number of the first entry that some model's head names and the journal lacks.

    `entries` are those of the whole journal, `heads` what the registry recorded of each model.
    """
    missing = [find_missing_tail(entries, head) for head in heads.values()]
    numbers = [number for number in missing if number is not None]
    return min(numbers, key=_sort_number, default=None)


def _sort_number(number: str) -> tuple[int, str]:
    """Sort by length first: a head that somebody edited may hold anything."""
    return len(number), number
