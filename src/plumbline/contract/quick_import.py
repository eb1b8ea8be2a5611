"""Libraries are imported without a look for garbage in them.

Python would look again and again at all that is loaded so far, of which nothing is garbage: that is
a quarter of the time that the import of torch and transformers takes.
"""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def pause_collection() -> Iterator[None]:
    """Pause garbage collection while the block imports, and exempt all objects alive at its end.

    These are what it has imported, and little else: cycles among them are not freed until the
    process ends.
    """
    was_on = gc.isenabled()
    num_modules = len(sys.modules)
    gc.disable()
    try:
        yield
    finally:
        if len(sys.modules) > num_modules:
            gc.freeze()
        if was_on:
            gc.enable()
