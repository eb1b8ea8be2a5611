"""What `plumbline selftest` plants in a policy, and the small pipeline it does so in."""

from tasks.answer_consensus.faults.catalogue import list_faults
from tasks.answer_consensus.faults.fixture import (
    read_fixture,
    read_weak_fixture,
    sample_examples,
)

__all__ = ["list_faults", "read_fixture", "read_weak_fixture", "sample_examples"]
