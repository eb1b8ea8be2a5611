"""Which of the processes that train together this is; torchrun and others say so by variables."""

import os


def get_world_size() -> int:
    """Return the number of processes that train together."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def get_rank() -> int:
    """Return the number of this process among all, from 0."""
    return int(os.environ.get("RANK", "0"))


def get_local_rank() -> int:
    """Return the number of this process among those on this machine, from 0."""
    return int(os.environ.get("LOCAL_RANK", "0"))


def is_main() -> bool:
    """Whether this process writes files."""
    return get_rank() == 0
