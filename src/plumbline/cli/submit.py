"""`plumbline submit`: hand the training of this commit to another scheduler."""

from plumbline.ci import github
from plumbline.terminal.console import print_lines

EXAMPLE = "plumbline submit"


def submit() -> None:
    """Hand the training of this commit to another scheduler, and end without waiting for it.

    Runs the command in $PLUMBLINE_SUBMIT, with the commit in $PLUMBLINE_COMMIT. The job registers
    what it trains in the registry that both share; see `plumbline docs github`.
    """
    from plumbline.ci import submission

    commit, output = submission.submit_training()
    message = f"submitted: the training of commit {commit[:12]}"
    print_lines(f"{output}\n{message}" if output else message)
    github.annotate("notice", "submitted", output or message)
