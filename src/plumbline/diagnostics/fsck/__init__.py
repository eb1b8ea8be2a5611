"""Whether git, dvc.lock, the DVC cache, MLflow's runs, the registry and the journal still tell one story."""

from collections.abc import Callable, Iterator

from plumbline.contract import layout
from plumbline.contract.errors import PlumblineError
from plumbline.diagnostics.finding import Finding
from plumbline.diagnostics.fsck import decisions, store, versions
from plumbline.diagnostics.fsck.outputs import outputs
from plumbline.diagnostics.fsck.store import Store
from plumbline.tracking import mlflow_runs


def examine() -> list[Finding]:
    """Look at everything; one fault hides no other."""
    found = outputs()
    try:
        opened = store.opened()
    except PlumblineError as error:
        remedy = "start the server, or unset MLFLOW_TRACKING_URI to use mlruns/mlflow.db; then look again"
        away = Finding("registry", False, f"{error}; runs and decisions were not looked at", remedy)
        return [*found, *decisions.unreadable(), away]
    if opened is None:
        return [
            *found,
            *decisions.unreadable(),
            Finding("registry", True, "nothing was registered here yet"),
        ]
    counts = f"{len(opened.versions)}, each with its bundle, evidence, run and commit"
    return [
        *found,
        *_faults(
            "registration",
            versions.registration,
            opened,
            f"{layout.REGISTRATION} is what the registry says",
        ),
        *_faults("versions", versions.versions, opened, counts),
        *_faults("runs", versions.runs, opened, "none is left over"),
        *_faults("journal", decisions.chain, opened, f"{len(opened.entries)} entries, unbroken"),
        *_faults("champion", decisions.champions, opened, "each is the one that the journal names"),
        *_faults(
            "champion.json", decisions.pins, opened, "names no other champion than the journal"
        ),
    ]


def _faults(
    what: str, look: Callable[[Store], Iterator[Finding]], opened: Store, praise: str
) -> list[Finding]:
    """What a look finds, or one finding that all is well; a look that fails is a fault itself."""
    from mlflow.exceptions import MlflowException

    try:
        return list(look(opened)) or [Finding(what, True, praise)]
    except (MlflowException, PlumblineError) as error:
        return [Finding(what, False, mlflow_runs.first_line(error), "mend that, then look again")]
