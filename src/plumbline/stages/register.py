"""register: the winner stands in the registry as a PyFunc with its evidence, or the refusal stands on record."""

from typing import Any

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.errors import BundleError, EvidenceError, RefusedError, RegistryError
from plumbline.contract.lineage import lineage
from plumbline.contract.params import Params
from plumbline.contract.task import Task
from plumbline.evidence import document
from plumbline.registry import model_versions, promotion
from plumbline.registry.package import packaging
from plumbline.tracking import mlflow_runs


def register(params: Params, task: Task) -> None:
    """Act on the verdict in reports/evidence.json and write reports/registration.json; repeated, it changes nothing."""
    evidence, name = document.read(params), params.registry.model
    if evidence["verdict"] == "error":
        raise EvidenceError(f"no verdict was reached: {evidence['summary']}")
    if evidence["verdict"] == "refuse":
        _refuse(params, evidence)
    folder = layout.bundle(evidence["winner"])
    client = model_versions.client()
    version = model_versions.find(client, name, bundle.digest(folder))
    if version is None:
        version = _add(client, params, task, evidence)
    else:
        _renew(client, version, evidence)
    number = str(version.version)
    if evidence["verdict"] == "promote":
        client.set_registered_model_alias(name, model_versions.CHALLENGER, number)
        if params.registry.first_champion:
            promotion.first(name, number)
    else:
        promotion.note(
            name, "keep", number, evidence["digests"]["bundle"], _digest(), evidence["summary"]
        )
    _record(params, evidence, number)


def _renew(client: Any, version: Any, evidence: dict[str, Any]) -> None:
    """Give a version that is evaluated once more its new evidence; it is no challenger if that speaks against it."""
    from mlflow.exceptions import MlflowException

    if version.tags[model_versions.EVIDENCE_TAG] == _digest():
        return
    try:
        with promotion.undecided(version) as free:
            if free:
                _log_story(client, version.run_id)
                client.set_model_version_tag(
                    version.name, version.version, model_versions.EVIDENCE_TAG, _digest()
                )
        holder = model_versions.holder(client, version.name, model_versions.CHALLENGER)
        if evidence["verdict"] != "promote" and holder and holder.version == version.version:
            client.delete_registered_model_alias(version.name, model_versions.CHALLENGER)
    except (MlflowException, OSError) as error:
        raise RegistryError(
            f"registering failed ({mlflow_runs.first_line(error)}); run `dvc repro` to try again"
        ) from None


def _log_story(client: Any, run: str) -> None:
    """Put what a person needs to judge a version, and to make it again, beside it."""
    for path in (
        layout.EVIDENCE,
        layout.METRICS,
        layout.REPORT,
        layout.PARAMS,
        layout.MANIFEST,
        layout.REFERENCE,
    ):
        client.log_artifact(run, str(path))


def _refuse(params: Params, evidence: dict[str, Any]) -> None:
    """Put the refusal on record, then raise it: a journal that is away does not turn it into anything else."""
    _record(params, evidence, None)
    failed = [gate for gate in evidence["gates"] if gate["status"] == "fail"]
    reasons = [f"{gate['name']}: {gate['reason']}" for gate in failed]
    name, digest = params.registry.model, evidence["digests"]["bundle"]
    try:
        promotion.note(name, "refuse", "", digest, _digest(), evidence["summary"])
        client = model_versions.client()
        if version := model_versions.find(client, name, digest):
            _renew(client, version, evidence)
    except RegistryError as error:
        reasons.append(f"not on record everywhere: {error}")
    raise RefusedError(
        "\n  ".join(
            ["refused, nothing was registered", *reasons, f"the whole story: {layout.REPORT}"]
        )
    )


def _digest() -> str:
    return layout.digest(layout.EVIDENCE)


def _add(client: Any, params: Params, task: Task, evidence: dict[str, Any]) -> Any:
    """Log the package under a run of its own, prove that it answers as measured, and only then make it a version."""
    from mlflow.exceptions import MlflowException

    winner, name = evidence["winner"], params.registry.model
    tags = {
        model_versions.BUNDLE_TAG: evidence["digests"]["bundle"],
        model_versions.EVIDENCE_TAG: _digest(),
    }
    tags |= {f"plumbline.{key}": value for key, value in lineage().items()}
    try:
        run = client.create_run(
            mlflow_runs.experiment(client, name), run_name=f"register {winner}", tags=tags
        )
        info = packaging.log_model(layout.bundle(winner), layout.GOLDEN, task, run.info.run_id)
        if problems := packaging.rehearse(info.model_uri, layout.GOLDEN, task).problems:
            raise BundleError(
                f"what the registry's store gives back is not what was measured: {'; '.join(problems)}"
            )
        _log_story(client, run.info.run_id)
        return model_versions.add(
            client, name, info, tags | {"plumbline.candidate": winner, "plumbline.task": task.name}
        )
    except (MlflowException, OSError) as error:
        raise RegistryError(
            f"registering failed ({mlflow_runs.first_line(error)}); run `dvc repro` to try again"
        ) from None


def _record(params: Params, evidence: dict[str, Any], version: str | None) -> None:
    layout.write_json(
        layout.REGISTRATION,
        {
            "model": params.registry.model,
            "version": version,
            "winner": evidence["winner"],
            "verdict": evidence["verdict"],
            "evidence": _digest(),
        },
    )
