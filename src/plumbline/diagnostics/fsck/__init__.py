"""Whether git, dvc.lock, the DVC cache, MLflow's runs, the registry and the journal agree."""

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor

from plumbline.contract import layout
from plumbline.contract.errors import PlumblineError
from plumbline.diagnostics.fsck import decisions, versions
from plumbline.diagnostics.fsck.dvc_outputs import check_outputs
from plumbline.diagnostics.fsck.evaluation import check_bundles, check_evidence
from plumbline.diagnostics.fsck.registry_state import RegistryState, load_state
from plumbline.diagnostics.result import DiagnosticResult
from plumbline.registry.lost_models import REMEDY, describe_loss, find_local_losses
from plumbline.tracking import store_errors


def examine() -> list[DiagnosticResult]:
    """Run all checks; one fault hides no other.

    A second process looks at the files of DVC meanwhile: the imports of DVC and of MLflow take the
    most time, about as much each.
    """
    with ProcessPoolExecutor(1) as second:
        files = second.submit(_check_files)
        decided = _check_registry()
        return [*files.result(), *decided]


def _check_files() -> list[DiagnosticResult]:
    return [*check_outputs(), *check_bundles(), check_evidence()]


def _check_registry() -> list[DiagnosticResult]:
    try:
        lost = [
            DiagnosticResult("registry", False, describe_loss(name, last), REMEDY)
            for name, last in find_local_losses().items()
        ]
        if lost:
            return [*decisions.check_pin_file(), *lost]
        state = load_state()
    except PlumblineError as error:
        message = f"{error}; runs and decisions were not checked"
        remedy = (
            "start the server, or unset MLFLOW_TRACKING_URI to use mlruns/mlflow.db; "
            "then run fsck again"
        )
        unreachable = DiagnosticResult("registry", False, message, remedy)
        return [*decisions.check_pin_file(), unreachable]
    if state is None:
        empty = DiagnosticResult("registry", True, "nothing was registered here yet")
        return [*decisions.check_pin_file(), empty]
    return _check_state(state)


def _check_state(state: RegistryState) -> list[DiagnosticResult]:
    """The checks that need the registry, each with the text for when all is well."""
    checks: list[tuple[str, Callable[[RegistryState], Iterator[DiagnosticResult]], str]] = [
        (
            "registration",
            versions.check_registration,
            f"{layout.REGISTRATION} agrees with the registry",
        ),
        (
            "versions",
            versions.check_versions,
            f"{len(state.versions)}, each with its bundle, evidence, run and commit",
        ),
        ("runs", versions.check_runs, "none was left behind"),
        ("journal", decisions.check_chain, f"{len(state.entries)} entries, hash chain intact"),
        ("champion", decisions.check_champions, "each is the one that the journal names"),
        ("champion.json", decisions.check_pins, "names the same champions as the journal"),
    ]
    results = []
    for what, check, success in checks:
        results += _run_check(what, check, state, success)
    return results


def _run_check(
    what: str,
    check: Callable[[RegistryState], Iterator[DiagnosticResult]],
    state: RegistryState,
    success: str,
) -> list[DiagnosticResult]:
    """The faults a check finds, or one result with `success`; a check that fails is a fault."""
    from mlflow.exceptions import MlflowException

    try:
        return list(check(state)) or [DiagnosticResult(what, True, success)]
    except (MlflowException, PlumblineError) as error:
        reason = store_errors.shorten_error(error)
        return [DiagnosticResult(what, False, reason, "fix that, then run fsck again")]
