"""What a run needs, and whether what it left agrees: what is wrong, and what to do next.

Nothing is repaired here, and no registry or journal is made.
"""

from collections.abc import Callable, Iterator
from functools import partial

from plumbline.contract.errors import PlumblineError
from plumbline.diagnostics.doctor import environment
from plumbline.diagnostics.doctor.outputs import check_outputs
from plumbline.diagnostics.doctor.registry import check_registry
from plumbline.diagnostics.result import DiagnosticResult, report_error
from plumbline.process.system_errors import explain_system_error

Check = Callable[[], Iterator[DiagnosticResult]]
AGAIN = "fix that, then run `plumbline doctor` again"


def examine(*, full: bool) -> list[DiagnosticResult]:
    """Run all checks; one fault hides no other.

    `full` reads every byte of the outputs, of DVC's cache and of the versions in the registry.
    """
    checks: dict[str, Check] = {
        "packages": environment.check_packages,
        "git": environment.check_git,
        "params.yaml": environment.check_params,
        "disk": environment.check_disk,
        "device": environment.check_device,
        "outputs": partial(check_outputs, full=full),
        "registry": partial(check_registry, full=full),
    }
    found: list[DiagnosticResult] = []
    for what, check in checks.items():
        found += _run_check(what, check)
    return found


def _run_check(what: str, check: Check) -> Iterator[DiagnosticResult]:
    """Run a check; where it fails itself, such as in the user's own task, that is its fault."""
    try:
        yield from check()
    except PlumblineError as error:
        yield report_error(what, error, AGAIN)
    except Exception as error:  # noqa: BLE001  what a library or the user's own code raises
        message = explain_system_error(error) or f"{type(error).__name__}: {error}"
        yield DiagnosticResult(what, False, message, AGAIN)
