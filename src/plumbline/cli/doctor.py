"""`plumbline doctor`: check what a run needs."""

from plumbline.terminal.console import print_results
from plumbline.terminal.options import AsJson

EXAMPLE = "plumbline doctor"


def run_doctor(as_json: AsJson = False) -> None:
    """Check what a run needs: packages, params, DVC, registry, disk, device.

    Writes nothing, and prints a remedy for each fault. Exit code 0 if all is well, else 1.
    """
    from plumbline.diagnostics import doctor

    print_results(doctor.examine(), as_json=as_json)
