"""The processes that DVC starts for stages."""

import signal
from contextlib import suppress


def terminate_stages() -> bool:
    """Send SIGTERM to the stage that DVC runs in this process; return whether there is one.

    The shell between them gets none: it would end, and the stage with it, before that has written
    its checkpoint.
    """
    import psutil

    stages = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if "python" in process.name():
                process.send_signal(signal.SIGTERM)
                stages.append(process)
    return bool(stages)
