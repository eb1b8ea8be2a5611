"""Evidence that somebody acts on or is shown: its scores and gates are derived again."""

from collections.abc import Mapping
from typing import Any

from plumbline.bundle import SEAL
from plumbline.contract import layout
from plumbline.contract.errors import RegistryError
from plumbline.contract.params import Params
from plumbline.contract.steps import announce
from plumbline.contract.task import Task
from plumbline.evidence import judgement_check, score_check
from plumbline.registry import journal
from plumbline.tracking import store_location

JUDGED = ("promote", "keep", "refuse")  # an error has neither scores nor gates


def verify_evidence(evidence: Mapping[str, Any], params: Params, task: Task[Params]) -> None:
    """Derive scores and judgement again; EvidenceError names what does not follow."""
    announce("derives the verdict again from every answer")
    score_check.verify_scores(evidence, task.metric)
    judgement_check.verify_judgement(evidence, params, task)


def verify_judged_scores(evidence: Mapping[str, Any], task: Task[Params]) -> None:
    """Count the scores of evidence with a verdict again; EvidenceError where others follow.

    This reads the answers to held-out rows alone. To ask the gates again reads all rows.
    """
    if evidence["verdict"] in JUDGED:
        score_check.verify_scores(evidence, task.metric)


def derive_where_possible(
    evidence: Mapping[str, Any], params: Params, task: Task[Params]
) -> str | None:
    """Derive again what the files and the registry here allow; EvidenceError where another follows.

    Returns why the gates could not be asked again; None where they were, and of evidence without a
    verdict. Scores are counted in any case.
    """
    if evidence["verdict"] not in JUDGED:
        return None
    score_check.verify_scores(evidence, task.metric)
    try:
        obstacle = _find_obstacle(evidence)
        if obstacle is None:
            judgement_check.verify_judgement(evidence, params, task, _read_entries)
    except RegistryError as error:
        return str(error)
    return obstacle


def _read_entries(_model: str) -> list[journal.Entry]:
    """Read the whole journal alone: without MLflow, and finishing no move that a crash cut off."""
    with journal.read_journal() as book:
        return book.read_entries()


def _find_obstacle(evidence: Mapping[str, Any]) -> str | None:
    """Say what the judgement is derived from and is not here; None where all is."""
    for name in evidence["bundles"] or ():
        seal = layout.locate_bundle(name) / SEAL
        if not seal.exists():
            return f"{seal} is not here"
    problem = store_location.find_problem()
    if problem is not None:
        return problem
    if any(map(store_location.is_missing, (store_location.find_uri(), journal.find_journal_uri()))):
        return "there is no registry and journal here, which count the looks at the test split"
    return None
