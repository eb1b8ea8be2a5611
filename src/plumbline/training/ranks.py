"""Which of torchrun's processes this is; without torchrun there is one."""

import os


def world_size() -> int:
    """The number of processes that train together."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def local_world() -> int:
    """The number of them on this machine."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", "1"))


def num_nodes() -> int:
    """The number of machines."""
    return world_size() // local_world()


def rank() -> int:
    """This process among all."""
    return int(os.environ.get("RANK", "0"))


def is_main() -> bool:
    """Whether this process writes files."""
    return rank() == 0
