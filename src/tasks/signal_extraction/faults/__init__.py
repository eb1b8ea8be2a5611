"""What `plumbline selftest` plants in an extractor, and the small pipeline it does so in."""

from tasks.signal_extraction.faults.catalogue import list_faults
from tasks.signal_extraction.faults.fixture import (
    read_fixture,
    read_weak_fixture,
    sample_examples,
)

__all__ = ["list_faults", "read_fixture", "read_weak_fixture", "sample_examples"]
