"""The smallest limit on addresses (`ulimit -v`) under which the libraries of a stage work."""

import resource

from plumbline.contract.errors import ParamsError

# Below it Arrow waits for ever for threads that it could not start, and others abort.
MIN_BYTES = 3 << 30  # on two cores; each more takes some for its threads


def require_address_space() -> None:
    """Raise ParamsError where this process may use fewer addresses than libraries need."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < MIN_BYTES:
        raise ParamsError(
            f"the limit on addresses (`ulimit -v`) is {limit >> 20} MiB; a stage "
            f"reserves {MIN_BYTES >> 20} MiB of them at its start, most of which never become "
            "memory that is used. Raise it, or limit memory that is used, by a container or "
            "`systemd-run -p MemoryMax=`"
        )
