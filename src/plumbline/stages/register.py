"""register: put the winner into the registry with its evidence, or record the refusal."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from plumbline import bundle
from plumbline.bundle import signatures
from plumbline.contract import experiment, layout
from plumbline.contract.errors import EvidenceError, RefusedError, RegistryError
from plumbline.contract.params import Params
from plumbline.contract.steps import announce
from plumbline.contract.task import Task
from plumbline.evidence import document
from plumbline.evidence.gates.remedies import list_failures
from plumbline.evidence.verify import require_bundles, require_look, verify_evidence
from plumbline.evidence.withholding import withhold_figures
from plumbline.process.files import digest_path, read_json, write_json
from plumbline.process.lineage import collect_lineage
from plumbline.process.visible_text import show_line
from plumbline.registry import model_versions, promotion, signing
from plumbline.registry.desk import Desk, open_desk
from plumbline.registry.package import packaging
from plumbline.registry.reader import addresses
from plumbline.reporting import version_page
from plumbline.reporting.model_card import render_card
from plumbline.sources.shown_params import read_shown_params
from plumbline.tracking import delivery, mlflow_client, store_errors
from plumbline.tracking.dataset_facts import describe_dataset
from plumbline.tracking.records import FINISHED, OWN, RunFacts, describe_process

# What a person needs to judge a version, with its params to make it again.
RECORDS = (layout.EVIDENCE, layout.METRICS, layout.REPORT, layout.MANIFEST, layout.DRIFT_REFERENCE)


class Package(NamedTuple):
    """What MLflow logged of the winner, and the tags that its version gets."""

    info: Any
    tags: Mapping[str, str]


def register(params: Params, task: Task[Params]) -> None:
    """Act on the verdict in reports/evidence.json and write reports/registration.json.

    Repeated, it changes nothing. Raises RefusedError for a refusal, and EvidenceError without a
    verdict or where another one follows. Inside an experiment of DVC nothing is registered.
    """
    experiment.set_marker(present=False)
    if experiment.is_trial_run(params):
        _write_registration(params, document.read_evidence(params), None)
        print("register: inside an experiment of DVC nothing is registered")  # noqa: T201
        return
    evidence = document.read_evidence(params)
    match evidence["verdict"]:
        case "error":
            raise EvidenceError(f"no verdict was reached: {evidence['summary']}")
        case "refuse":
            _refuse(params, task, evidence)
        case _:
            _register_verified(params, task, evidence)


def describe_run(status: str, params: Params, task: Task[Params]) -> RunFacts | None:
    """Describe the verdict, and which version has it; what belongs to that is logged with it.

    An experiment of DVC has no such run.
    """
    if experiment.is_trial_run(params):
        return None
    facts = RunFacts()
    if status != FINISHED:
        return facts
    facts.tags["plumbline.verdict"] = read_json(layout.EVIDENCE)["verdict"]
    number = read_json(layout.REGISTRATION)["version"]
    if number:
        facts.tags["plumbline.version"] = number
        facts.pass_tags = {"plumbline.version": number, "plumbline.model": params.registry.model}
        facts.datasets.append(describe_dataset(task.name, "training"))
    return facts


def _register_verified(params: Params, task: Task[Params], evidence: dict[str, Any]) -> None:
    """Register the winner, once the verdict, promote or keep, follows from the evidence again."""
    _verify(evidence, params, task)
    require_look(evidence)
    key = signatures.find_key("PLUMBLINE_PRIVATE_KEY")
    if key is not None:
        signatures.check_private_key(key)  # before there is a version, which would be unsigned
    name = params.registry.model
    announce(f"brings {evidence['winner']} into the registry")
    with _explain_failures():
        with open_desk(name) as desk:
            earlier = desk.find_registered(evidence["digests"]["bundle"])
        package = None if earlier else _prepare_package(params, task, evidence)
        with open_desk(name) as desk:
            number = _register_winner(desk, params, evidence, package, key)
    _write_registration(params, evidence, number)


def _verify(evidence: dict[str, Any], params: Params, task: Task[Params]) -> None:
    """Judge what evaluate recorded once more; EvidenceError where another verdict follows."""
    announce("derives the verdict again from every answer")
    require_bundles(evidence, params)
    verify_evidence(evidence, params, task)


def _register_winner(
    desk: Desk, params: Params, evidence: dict[str, Any], package: Package | None, key: Path | None
) -> str:
    """Find or add the version, and give it the role that the verdict says; return its number.

    Another checkout may have registered the bundle meanwhile: then the package is not used.
    """
    digest = evidence["digests"]["bundle"]
    version = desk.find_registered(digest)
    is_new = version is None
    if version is None:
        if package is None:
            raise RegistryError(
                f"{desk.model}: the version with bundle {digest[:12]} was deleted meanwhile; "
                "run `dvc repro` to try again"
            )
        version = model_versions.add_version(
            desk.client, desk.model, package.info, package.tags, render_card(evidence)
        )
    number = str(version.version)
    if is_new or _renew_evidence(desk, version, evidence):
        _record_ruling(desk, "registered", number, evidence)
        version_page.tag_model(desk.client, version)
        if key is not None:
            signing.sign(desk.model, number, key)
    if evidence["verdict"] == "promote":
        _record_ruling(desk, "registered", number, evidence)  # a former champion, too, once refused
        desk.client.set_registered_model_alias(desk.model, addresses.CHALLENGER, number)
        if params.registry.first_champion:
            promotion.bootstrap_champion(desk, number)
    else:
        _record_ruling(desk, "keep", number, evidence)
    return number


def _renew_evidence(desk: Desk, version: Any, evidence: dict[str, Any]) -> bool:
    """Give a version that was evaluated again its new evidence, unless it ever was champion.

    It is not a challenger any longer if the evidence is against it. Returns whether this evidence
    is the version's: that of a former champion stays as it was.
    """
    client, number = desk.client, str(version.version)
    is_free = number not in [entry.version for entry in desk.entries if entry.moves]
    if is_free and version.tags.get(addresses.EVIDENCE_TAG) != _digest_evidence():
        _log_records(client, version.run_id)
        version_page.renew_page(client, version, evidence)
        client.set_model_version_tag(desk.model, number, addresses.EVIDENCE_TAG, _digest_evidence())
    holder = model_versions.find_alias_holder(client, desk.model, addresses.CHALLENGER)
    if evidence["verdict"] != "promote" and holder and str(holder.version) == number:
        client.delete_registered_model_alias(desk.model, addresses.CHALLENGER)
    return is_free


def _log_records(client: Any, run_id: str) -> None:
    """Log beside a version what a person needs to judge it, and to make it again."""
    with tempfile.TemporaryDirectory(prefix="plumbline-") as private:
        params = Path(private) / layout.PARAMS.name
        params.write_bytes(read_shown_params(layout.PARAMS))
        for path in (*RECORDS, params):
            client.log_artifact(run_id, str(path))


def _refuse(params: Params, task: Task[Params], evidence: dict[str, Any]) -> NoReturn:
    """Record the refusal, then raise it, also where the journal is unreachable.

    A recorded refusal blocks this bundle; raises EvidenceError if the refusal cannot be derived.
    """
    _verify(evidence, params, task)
    failures = list_failures(withhold_figures(evidence))
    reasons = [show_line(line) for failure in failures for line in failure.lines]
    try:
        with _explain_failures(), open_desk(params.registry.model) as desk:
            _record_ruling(desk, "refuse", "", evidence)
            if version := desk.find_registered(evidence["digests"]["bundle"]):
                _renew_evidence(desk, version, evidence)
    except RegistryError as error:
        reasons.append(f"not on record everywhere: {error}")
    _write_registration(params, evidence, None)
    lines = ["refused, nothing was registered", *reasons, f"full report: {layout.REPORT}"]
    raise RefusedError("\n  ".join(lines))


def _record_ruling(
    desk: Desk, action: promotion.Ruling, version: str, evidence: Mapping[str, Any]
) -> None:
    digest = evidence["digests"]["bundle"]
    promotion.record_ruling(desk, action, version, digest, _digest_evidence(), evidence["summary"])


def _write_registration(params: Params, evidence: Mapping[str, Any], version: str | None) -> None:
    """Write which version has this evidence; None where nothing was registered."""
    registration = {
        "model": params.registry.model,
        "version": version,
        "winner": evidence.get("winner"),
        "verdict": evidence["verdict"],
        "evidence": _digest_evidence(),
    }
    write_json(layout.REGISTRATION, registration)


def _digest_evidence() -> str:
    return digest_path(layout.EVIDENCE)


def _prepare_package(params: Params, task: Task[Params], evidence: dict[str, Any]) -> Package:
    """Log the package under its own run. No lock is held."""
    winner, digest = evidence["winner"], evidence["digests"]["bundle"]
    folder = document.locate_shipped(evidence, winner)
    bundle.check_code(folder, task)
    client = model_versions.connect_registry()
    tags = {addresses.BUNDLE_TAG: digest, addresses.EVIDENCE_TAG: _digest_evidence()}
    tags |= {f"plumbline.{key}": value for key, value in collect_lineage().items()}
    run_id = _begin_run(client, params.registry.model, winner)
    announce("writes the package into the registry's store")
    info = packaging.log_model(folder, layout.GOLDEN, task, run_id)
    version_page.add_card(client, info.model_id, evidence)
    _log_records(client, run_id)
    version_page.link_metrics(client, run_id, info.model_id, evidence)
    tags |= {"plumbline.candidate": winner, "plumbline.task": task.name}
    return Package(info, tags | {version_page.VERDICT_TAG: evidence["verdict"]})


def _begin_run(client: Any, name: str, winner: str) -> str:
    """Return the id of this stage's run, which keeps what belongs to the version."""
    record = OWN.get()
    if record is not None:
        return delivery.begin_run(client, record)
    experiment_id = mlflow_client.get_or_create_experiment(client, name)
    tags = describe_process("register", None)
    run = client.create_run(experiment_id, tags=tags, run_name=f"register {winner}")
    return str(run.info.run_id)


@contextmanager
def _explain_failures() -> Iterator[None]:
    """Turn what MLflow and its stores raise inside the block into a RegistryError."""
    try:
        yield
    except Exception as error:
        if not store_errors.is_store_error(error):
            raise
        reason = store_errors.shorten_error(error)
        raise RegistryError(
            f"registering failed ({reason}); run `dvc repro` to try again"
        ) from None
