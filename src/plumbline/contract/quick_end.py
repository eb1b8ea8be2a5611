"""A process ends as soon as its work is done.

Python looks for garbage in all that is loaded when it ends: 0.17 seconds of a CPU after a light
command, 0.4 where MLflow is loaded.
"""

import gc


def skip_last_collection() -> None:
    """Let Python leave what is loaded now to the system, which frees all memory of a process."""
    gc.freeze()
