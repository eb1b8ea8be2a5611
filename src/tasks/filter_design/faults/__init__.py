"""What `plumbline selftest` plants in a designer of filters, and where it does so."""

from tasks.filter_design.faults.catalogue import list_faults
from tasks.filter_design.faults.fixture import (
    read_fixture,
    read_weak_fixture,
    sample_examples,
)

__all__ = ["list_faults", "read_fixture", "read_weak_fixture", "sample_examples"]
