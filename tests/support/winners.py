"""A line that evaluate chose, ready to be registered, and what a registry then has."""

from tests.support.evidence import write_evidence

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.params import Params
from plumbline.contract.task import Task
from plumbline.entrypoint import run_tracked
from plumbline.process.files import write_json
from plumbline.registry import model_versions


def evaluate_line(params: Params, task: Task, slope: float) -> None:
    """Leave what evaluate leaves: a sealed winner, its golden rows, the evidence for it."""
    folder = layout.locate_bundle("closed")
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "weights.json", {"slope": slope, "intercept": 1.0})
    bundle.seal(folder, task, "closed")
    golden = {"inputs": {"x": [0.0, 1.0]}, "params": {}, "outputs": {"y": [1.0, 1.0 + slope]}}
    write_json(layout.GOLDEN, golden)
    write_evidence(params, task)


def register(params: Params, task: Task) -> None:
    """Register as the stage does, with its run in MLflow."""
    run_tracked("register", params, task)


def list_versions() -> set[str]:
    """List the versions in the registry."""
    found = model_versions.connect_registry().search_model_versions("name = 'line'")
    return {str(version.version) for version in found}


def find_running() -> list[str]:
    """List the runs that are said to go on."""
    client = model_versions.connect_registry()
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    runs = client.search_runs(experiments, "attributes.status = 'RUNNING'")
    return [run.info.run_name for run in runs]
