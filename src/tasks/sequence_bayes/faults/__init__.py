"""What `plumbline selftest` plants in a predictor of sequences, and where it does so."""

from tasks.sequence_bayes.faults.catalogue import list_faults
from tasks.sequence_bayes.faults.fixture import (
    read_fixture,
    read_weak_fixture,
    sample_examples,
)

__all__ = ["list_faults", "read_fixture", "read_weak_fixture", "sample_examples"]
