"""register: the winner stands in the registry as a PyFunc with its evidence, or the refusal stands on record."""

from typing import Any

from plumbline import bundle, layout, packaging, promotion, registry, tracking
from plumbline.contract import Task
from plumbline.errors import BundleError, RefusedError, RegistryError
from plumbline.lineage import lineage
from plumbline.params import Params


def register(params: Params, task: Task) -> None:
    """Act on the verdict in reports/evidence.json and write reports/registration.json; repeated, it changes nothing."""
    evidence = layout.read_json(layout.EVIDENCE)
    if evidence["verdict"] == "refuse":
        _record(params, evidence, None)
        failed = [gate for gate in evidence["gates"] if gate["status"] == "fail"]
        reasons = "\n".join(f"  {gate['name']}: {gate['reason']}" for gate in failed)
        raise RefusedError(f"refused, nothing was registered\n{reasons}\n  the whole story: {layout.REPORT}")
    folder = layout.bundle(evidence["winner"])
    if bundle.digest(folder) != evidence["digests"]["bundle"]:
        raise BundleError(f"{folder}: not the bundle that was evaluated; run `dvc repro`")
    client = registry.client()
    name = params.registry.model
    version = registry.find(client, name, bundle.digest(folder)) or _add(client, params, task, evidence)
    number = str(version.version)
    client.set_registered_model_alias(name, registry.CHALLENGER, number)
    if params.registry.first_champion:
        promotion.first(name, number)
    _record(params, evidence, number)


def _add(client: Any, params: Params, task: Task, evidence: dict[str, Any]) -> Any:
    """Log the package under a run of its own, prove that it answers as measured, and only then make it a version."""
    from mlflow.exceptions import MlflowException

    winner, name = evidence["winner"], params.registry.model
    tags = {registry.BUNDLE_TAG: evidence["digests"]["bundle"], "plumbline.evidence": layout.digest(layout.EVIDENCE)}
    tags |= {f"plumbline.{key}": value for key, value in lineage().items()}
    try:
        run = client.create_run(tracking.experiment(client, name), run_name=f"register {winner}", tags=tags)
        info = packaging.log_model(layout.bundle(winner), layout.GOLDEN, task, run.info.run_id)
        packaging.replay(info.model_uri, layout.GOLDEN)
        for path in (layout.EVIDENCE, layout.METRICS, layout.REPORT):
            client.log_artifact(run.info.run_id, str(path))
        return registry.add(client, name, info, tags | {"plumbline.candidate": winner})
    except (MlflowException, OSError) as error:
        raise RegistryError(
            f"registering failed ({tracking.first_line(error)}); run `dvc repro` to try again"
        ) from None


def _record(params: Params, evidence: dict[str, Any], version: str | None) -> None:
    layout.write_json(
        layout.REGISTRATION,
        {
            "model": params.registry.model,
            "version": version,
            "winner": evidence["winner"],
            "verdict": evidence["verdict"],
            "evidence": layout.digest(layout.EVIDENCE),
        },
    )
