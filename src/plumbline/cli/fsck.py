"""`plumbline fsck`: check that all stores agree."""

from plumbline.terminal.console import print_results
from plumbline.terminal.options import AsJson

EXAMPLE = "plumbline fsck"


def run_fsck(as_json: AsJson = False) -> None:
    """Compare git, dvc.lock, the DVC cache, MLflow, the registry and the journal.

    Changes nothing and prints a remedy for each fault. Exit code 0 if all agree, else 1.
    """
    from plumbline.diagnostics import fsck

    print_results(fsck.examine(), as_json=as_json)
