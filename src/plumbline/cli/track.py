"""`plumbline track`: bring to MLflow what stages logged while it was unreachable."""

from plumbline.contract.errors import RegistryError
from plumbline.terminal.console import print_json, print_plain
from plumbline.terminal.options import AsJson

EXAMPLE = "plumbline track"


def track(as_json: AsJson = False) -> None:
    """Bring the runs that wait in .plumbline/tracking to MLflow, and close those of dead processes.

    `plumbline run` does so itself; this is for a tracking server that was away.
    """
    from plumbline.tracking import delivery

    report = delivery.deliver()
    if report.num_waiting:
        raise RegistryError(report.describe())
    if as_json:
        print_json({"num_runs": report.num_runs, "num_waiting": report.num_waiting})
        return
    runs = "1 run" if report.num_runs == 1 else f"{report.num_runs} runs"
    print_plain(f"brought {runs} to MLflow; nothing waits")
