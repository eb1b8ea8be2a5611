"""`plumbline drill`: a rehearsal of a model's life."""

import time

from plumbline.terminal.console import print_lines
from plumbline.terminal.options import DEFAULT_TASK, TaskName

EXAMPLE = "plumbline drill"


def run_drill(task: TaskName = DEFAULT_TASK) -> None:
    """Rehearse a model's life, from training to rollback, in a clone below .plumbline/.

    Takes minutes. Your checkout, registry and journal are not touched.
    """
    from plumbline_selftest import drill

    start = time.monotonic()
    drill.run(task, print_lines)
    seconds = time.monotonic() - start
    print_lines(
        f"\nthe drill is over: {len(drill.STEPS)} steps in {seconds:.0f} s; "
        f"look around in {drill.FOLDER}"
    )
