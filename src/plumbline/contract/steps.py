"""What a stage does next, in a line, so that a person who watches it is not left alone for long.

The same functions run in commands, which say nothing of it.
"""

import logging
import sys

log = logging.getLogger(__name__)


def announce(step: str) -> None:
    """Say what begins now, where a stage shows it."""
    log.info("%s", step)


def show_steps(stage: str) -> None:
    """From now on print what is announced, after the name of the stage."""
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(logging.Formatter(f"{stage}: %(message)s"))
    log.handlers = [handler]
    log.setLevel(logging.INFO)
    log.propagate = False
