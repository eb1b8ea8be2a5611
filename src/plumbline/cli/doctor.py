"""`plumbline doctor`: check what a run needs."""

from plumbline.cli.console import print_results

EXAMPLE = "plumbline doctor"


def run_doctor() -> None:
    """Check what a run needs: packages, params, DVC, registry, disk, device.

    Prints a remedy for each fault. Exit code 0 if all is well, else 1.
    """
    from plumbline.diagnostics import doctor

    print_results(doctor.examine())
