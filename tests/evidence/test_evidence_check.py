"""Scores and gates are derived again wherever evidence is read, as far as the files here allow."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.support.evidence import describe_gates, write_evidence

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.errors import EvidenceError
from plumbline.contract.params import Params
from plumbline.contract.task import Task
from plumbline.evidence import document
from plumbline.evidence.evidence_check import derive_where_possible
from plumbline.process.files import read_json, write_json
from plumbline.registry import journal


@pytest.fixture
def evaluated(
    line_task: tuple[Params, Task], monkeypatch: pytest.MonkeyPatch
) -> tuple[Params, Task]:
    """A folder as evaluate leaves it, with a registry and a journal that know nothing yet."""
    for name in ("MLFLOW_TRACKING_URI", "PLUMBLINE_JOURNAL_URI"):
        monkeypatch.delenv(name, raising=False)
    folder = layout.locate_bundle("closed")
    folder.mkdir(parents=True)
    (folder / "weights.json").write_text('{"slope": 2.0, "intercept": 1.0}', encoding="utf-8")
    bundle.seal(folder, line_task[1], "closed")
    write_json(layout.GOLDEN, {"inputs": {"x": [0.0]}, "params": {}, "outputs": {"y": [1.0]}})
    write_evidence(*line_task)
    Path("mlruns").mkdir()
    Path("mlruns/mlflow.db").touch()
    with journal.lock_journal():
        pass
    return line_task


def derive(evaluated: tuple[Params, Task], **changes: Any) -> str | None:
    """Derive again what somebody changed in the evidence, and sealed again."""
    evidence = read_json(layout.EVIDENCE) | changes
    del evidence["seal"]
    write_json(layout.EVIDENCE, document.seal_evidence(evidence))
    return derive_where_possible(document.read_evidence(evaluated[0]), *evaluated)


def change_score() -> dict[str, Any]:
    """The candidates with another score of the winner."""
    candidates: dict[str, Any] = read_json(layout.EVIDENCE)["candidates"]
    candidates["closed"]["test"]["squared_error"] = 0.0001
    return candidates


def test_what_follows_is_silent(evaluated: tuple[Params, Task]) -> None:
    assert derive(evaluated) is None


def test_a_score_that_its_answers_do_not_give(evaluated: tuple[Params, Task]) -> None:
    with pytest.raises(EvidenceError, match=r"closed has squared_error 0\.000100 on test, its"):
        derive(evaluated, candidates=change_score())


def test_gates_that_were_flipped(evaluated: tuple[Params, Task]) -> None:
    write_evidence(*evaluated, "refuse")
    assert derive(evaluated) is None
    with pytest.raises(
        EvidenceError, match=r"asked again, from the same answers .* follows another"
    ):
        derive(evaluated, verdict="promote", gates=describe_gates("promote"))


def test_a_refusal_that_does_not_follow(evaluated: tuple[Params, Task]) -> None:
    gates = read_json(layout.EVIDENCE)["gates"]
    (floor,) = [gate for gate in gates if gate["name"] == "floor"]
    floor["status"] = "fail"
    with pytest.raises(EvidenceError, match=r"gate floor \(fail is recorded, pass follows\)"):
        derive(evaluated, verdict="refuse", gates=gates)
    with pytest.raises(EvidenceError, match="its answers give"):
        derive(evaluated, candidates=change_score())


def test_a_refusal_of_data_that_other_checks_accepted(evaluated: tuple[Params, Task]) -> None:
    """Which checks ran is believed of a gate that passed; where it failed, params say which."""
    gates = read_json(layout.EVIDENCE)["gates"]
    (accepted,) = [gate for gate in gates if gate["name"] == "accepted"]
    reason = "validation did not run all checks of params.yaml; run `dvc repro -f validate`"
    accepted |= {"status": "fail", "reason": reason}
    summary = "closed must not be promoted: accepted failed."
    summary += derive_summary_notes(read_json(layout.EVIDENCE)["summary"])
    changes: dict[str, Any] = {"verdict": "refuse", "gates": gates, "summary": summary}
    assert derive(evaluated, **changes) is None
    accepted["reason"] = "it was not asked"
    with pytest.raises(EvidenceError, match=r"gate accepted \(fail is recorded, fail follows\)"):
        derive(evaluated, **changes)


def derive_summary_notes(summary: str) -> str:
    """What a summary says besides the gates that passed: what is switched off or lax."""
    return "".join(summary.partition(".")[2:])


@pytest.mark.parametrize("gone", ["mlruns/mlflow.db", "mlruns/journal.db"])
def test_without_registry_or_journal_the_scores_are_counted(
    evaluated: tuple[Params, Task], gone: str
) -> None:
    Path(gone).unlink()
    assert "there is no registry and journal here" in str(derive(evaluated))
    assert not Path(gone).exists()
    with pytest.raises(EvidenceError, match="its answers give"):
        derive(evaluated, candidates=change_score())


def test_a_bundle_that_is_not_here(evaluated: tuple[Params, Task]) -> None:
    shutil.rmtree("models/nothing")
    assert derive(evaluated) == "models/nothing/bundle.json is not here"
