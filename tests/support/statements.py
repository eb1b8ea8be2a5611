"""Something that happens just before the k-th statement or commit of a database."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Engine, event

EVENTS = ("before_cursor_execute", "commit")  # of all engines of this process


class Fault:
    """Calls `cause` before the `number`-th statement or commit, once."""

    def __init__(self, number: int, cause: Callable[[], None]) -> None:
        self.number, self.cause = number, cause
        self.num_seen = 0

    @property
    def is_met(self) -> bool:
        return self.num_seen >= self.number

    def count(self, *details: Any) -> None:
        """Count one; what `cause` itself asks of a database comes after its number."""
        self.num_seen += 1
        if self.num_seen == self.number:
            self.cause()


@contextmanager
def cause_before(number: int, cause: Callable[[], None]) -> Iterator[Fault]:
    """Let `cause` happen before the `number`-th statement or commit of this block."""
    fault = Fault(number, cause)
    for name in EVENTS:
        event.listen(Engine, name, fault.count)
    try:
        yield fault
    finally:
        for name in EVENTS:
            event.remove(Engine, name, fault.count)
