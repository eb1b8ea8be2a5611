"""Which champion an evaluation compares with: that of champion.json, else the present one."""

from plumbline.registry import champion_pin
from plumbline.registry.journal import Entry
from plumbline.registry.reconciliation import lock_decisions, reconcile


def find_compared_champion(name: str) -> Entry | None:
    """Find the decision that made the champion to compare with; None where there is none.

    A move that a crash cut off is finished before champion.json is read. JournalError where the
    journal does not contain the decision that champion.json names.
    """
    with lock_decisions() as (client, book):
        present = reconcile(client, book, name)
        pins = champion_pin.read_pins()
        if name not in pins:
            return present
        pin = pins[name]
        if pin is None:
            return None
        return champion_pin.require_decision(name, pin, book.read_entries())
