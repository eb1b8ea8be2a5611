"""register: put the winner into the registry with its evidence, or record the refusal."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from plumbline import bundle
from plumbline.bundle import signatures
from plumbline.contract import experiment, layout
from plumbline.contract.errors import BundleError, EvidenceError, RefusedError, RegistryError
from plumbline.contract.params import Params
from plumbline.contract.steps import announce
from plumbline.contract.task import Task
from plumbline.evidence import document
from plumbline.evidence.evidence_check import verify_evidence
from plumbline.evidence.gates.remedies import list_failures
from plumbline.evidence.withholding import withhold_figures
from plumbline.process.files import digest_path
from plumbline.process.lineage import collect_lineage
from plumbline.process.visible_text import show_line
from plumbline.registry import (
    model_versions,
    promotion,
    registration_file,
    registrations,
    signing,
)
from plumbline.registry.abandoned_registrations import remove_abandoned_registrations
from plumbline.registry.package import packaging, rehearsal
from plumbline.registry.reader import addresses
from plumbline.registry.run_records import log_records
from plumbline.registry.unfinished_registration import UnfinishedRegistration
from plumbline.reporting import version_page
from plumbline.reporting.model_card import render_card
from plumbline.sources.shown_params import read_shown_params
from plumbline.tracking import delivery, mlflow_client, run_log, store_errors

# What a person needs to judge a version, with its params to make it again.
RECORDS = (layout.EVIDENCE, layout.METRICS, layout.REPORT, layout.MANIFEST, layout.DRIFT_REFERENCE)


def register(params: Params, task: Task[Params]) -> None:
    """Act on the verdict in reports/evidence.json and write reports/registration.json.

    Repeated, it changes nothing. Raises RefusedError for a refusal, and EvidenceError without a
    verdict or where another one follows. Inside an experiment of DVC nothing is registered.
    """
    experiment.set_marker(present=False)
    if experiment.is_trial_run(params):
        evidence = document.read_evidence(params)
        number = registration_file.find_earlier_version(params.registry.model, evidence)
        registration_file.write_registration(params.registry.model, evidence, number)
        print("register: inside an experiment of DVC nothing is registered")  # noqa: T201
        return
    with run_log.track_run(params, "register") as log:
        _follow_verdict(params, task, log)


def _follow_verdict(params: Params, task: Task[Params], log: run_log.RunLog) -> None:
    evidence = document.read_evidence(params)
    log.set_tag("plumbline.verdict", evidence["verdict"])
    match evidence["verdict"]:
        case "error":
            raise EvidenceError(f"no verdict was reached: {evidence['summary']}")
        case "refuse":
            _refuse(params, task, evidence)
        case _:
            _register_verified(params, task, evidence, log)


def _register_verified(
    params: Params, task: Task[Params], evidence: dict[str, Any], log: run_log.RunLog
) -> None:
    """Register the winner, once the verdict, promote or keep, follows from the evidence again."""
    verify_evidence(evidence, params, task)
    key = signing.find_private_key()
    if key is not None:
        signatures.check_private_key(key)  # before there is a version, which would be unsigned
    name = params.registry.model
    announce(f"brings {evidence['winner']} into the registry")
    with _explain_failures():
        number = _register_winner(params, task, evidence, log)
    registration_file.write_registration(name, evidence, number)
    log.set_tag("plumbline.version", number)
    log.set_pass_facts({"plumbline.version": number, "plumbline.model": name}, {})


def _register_winner(
    params: Params, task: Task[Params], evidence: dict[str, Any], log: run_log.RunLog
) -> str:
    """Find or add the version, and give it the role that the verdict says; return its number."""
    name = params.registry.model
    folder = document.locate_shipped(evidence, evidence["winner"])
    client = model_versions.connect_registry()
    version = registrations.find_registered_version(name, bundle.digest(folder))
    is_new = False
    if version is None:
        version, is_new = _add_version(client, params, task, evidence, log)
    if is_new or _renew_evidence(client, version, evidence):
        _record_registration(version, evidence)
    number = str(version.version)
    if evidence["verdict"] == "promote":
        client.set_registered_model_alias(name, addresses.CHALLENGER, number)
        if params.registry.first_champion:
            promotion.bootstrap_champion(name, number)
    else:
        promotion.record_verdict(
            name,
            "keep",
            number,
            evidence["digests"]["bundle"],
            _digest_evidence(),
            evidence["summary"],
        )
    remove_abandoned_registrations(client, name)
    return number


def _record_registration(version: Any, evidence: dict[str, Any]) -> None:
    """Write into the journal what may be promoted: this version, bundle and evidence.

    Where PLUMBLINE_PRIVATE_KEY names a key, both are signed with it.
    """
    promotion.record_registration(
        version.name,
        str(version.version),
        evidence["digests"]["bundle"],
        _digest_evidence(),
        evidence["summary"],
    )
    key = signing.find_private_key()
    if key is not None:
        signing.sign(version.name, str(version.version), key)


def _renew_evidence(client: Any, version: Any, evidence: dict[str, Any]) -> bool:
    """Give a version that was evaluated again its new evidence, unless it ever was champion.

    It is not a challenger any longer if the evidence is against it. Returns whether it has this
    evidence because of this evaluation.
    """
    with _explain_failures():
        with promotion.check_never_promoted(version.name, str(version.version)) as free:
            if free:
                version_page.tag_model(client, version)
            if free and version.tags.get(addresses.EVIDENCE_TAG) != _digest_evidence():
                _log_records(client, version.run_id)
                version_page.renew_page(client, version, evidence)
                client.set_model_version_tag(
                    version.name, version.version, addresses.EVIDENCE_TAG, _digest_evidence()
                )
        holder = model_versions.find_alias_holder(client, version.name, addresses.CHALLENGER)
        if evidence["verdict"] != "promote" and holder and holder.version == version.version:
            client.delete_registered_model_alias(version.name, addresses.CHALLENGER)
    return free


def _log_records(client: Any, run: str) -> None:
    """Log beside a version what a person needs to judge it, and to make it again."""
    with tempfile.TemporaryDirectory(prefix="plumbline-") as private:
        params = Path(private) / layout.PARAMS.name
        params.write_bytes(read_shown_params(layout.PARAMS))
        log_records(client, run, (*RECORDS, params))


def _refuse(params: Params, task: Task[Params], evidence: dict[str, Any]) -> NoReturn:
    """Record the refusal, then raise it, also where the journal is unreachable.

    A recorded refusal blocks this bundle; raises EvidenceError if the refusal cannot be derived.
    """
    failures = list_failures(withhold_figures(evidence))
    reasons = [show_line(line) for failure in failures for line in failure.lines]
    try:
        verify_evidence(evidence, params, task)
        _record_refusal(params.registry.model, evidence)
    except RegistryError as error:
        reasons.append(f"not on record everywhere: {error}")
    registration_file.write_registration(params.registry.model, evidence, None)
    lines = ["refused, nothing was registered", *reasons, f"full report: {layout.REPORT}"]
    raise RefusedError("\n  ".join(lines))


def _record_refusal(name: str, evidence: dict[str, Any]) -> None:
    """Write it into the journal, and beside a version of the bundle that is registered already."""
    digest = evidence["digests"]["bundle"]
    promotion.record_verdict(name, "refuse", "", digest, _digest_evidence(), evidence["summary"])
    client = model_versions.connect_registry()
    version = registrations.find_registered_version(name, digest)
    if version:
        _renew_evidence(client, version, evidence)


def _digest_evidence() -> str:
    return digest_path(layout.EVIDENCE)


def _add_version(
    client: Any,
    params: Params,
    task: Task[Params],
    evidence: dict[str, Any],
    log: run_log.RunLog,
) -> tuple[Any, bool]:
    """Log the package under its own run, test that it answers as measured, then add the version.

    Return the version, and whether it is this one: another checkout may have registered the bundle
    meanwhile.
    """
    winner = evidence["winner"]
    name = params.registry.model
    tags = {
        addresses.BUNDLE_TAG: evidence["digests"]["bundle"],
        addresses.EVIDENCE_TAG: _digest_evidence(),
    }
    for key, value in collect_lineage().items():
        if key != "dvc_lock":  # DVC writes it after this stage: see the run
            tags[f"plumbline.{key}"] = value
    run_id = _begin_run(client, name, winner, log)
    for key, value in tags.items():
        client.set_tag(run_id, key, value)
    folder = document.locate_shipped(evidence, winner)
    bundle.check_code(folder, task)
    announce("writes the package, and runs it alone on every held-out row")
    info = packaging.log_model(folder, layout.GOLDEN, task, run_id)
    version_page.add_card(client, info.model_id, evidence)
    digest = evidence["digests"]["bundle"]
    problems = rehearsal.verify_package(info.model_uri, layout.GOLDEN, task, digest).problems
    if problems:
        raise BundleError(
            "the package that the registry's store returns does not answer as measured: "
            + "; ".join(problems)
        )
    _log_records(client, run_id)
    tags |= {"plumbline.candidate": winner, "plumbline.task": task.name}
    tags |= {version_page.VERDICT_TAG: evidence["verdict"]}
    version_page.link_metrics(client, run_id, info.model_id, evidence)
    version, is_new = _add_once(client, name, info, tags, evidence)
    log.log_dataset(task.name, "training")
    return version, is_new


def _add_once(
    client: Any, name: str, info: Any, tags: dict[str, str], evidence: dict[str, Any]
) -> tuple[Any, bool]:
    """Add the version, and return it with whether it was added; else the package is discarded."""
    registration = UnfinishedRegistration(
        name,
        evidence["digests"]["bundle"],
        _digest_evidence(),
        evidence["summary"],
        info.model_id,
    )
    version, is_new = registrations.register_version(
        registration,
        lambda: model_versions.add_version(client, name, info, tags, render_card(evidence)),
    )
    if is_new:
        version_page.tag_model(client, version)
    else:
        _discard_package(client, info)
    return version, is_new


def _discard_package(client: Any, info: Any) -> None:
    """Remove a package that became no version, so that nothing takes it for one of a crash."""
    client.delete_logged_model(info.model_id)
    client.delete_tag(info.run_id, addresses.BUNDLE_TAG)


def _begin_run(client: Any, name: str, winner: str, log: run_log.RunLog) -> str:
    """Return the id of this stage's run, which keeps what belongs to the version."""
    if log.spooled is not None:
        return delivery.assign_run_id(client, log.spooled)
    experiment_id = mlflow_client.get_or_create_experiment(client, name)
    with mlflow_client.send_once():
        return str(client.create_run(experiment_id, run_name=f"register {winner}").info.run_id)


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
