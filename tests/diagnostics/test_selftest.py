"""The selftest passes, and it can fail: without its gate a fault is reported as missed."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.checkouts import Checkout

from plumbline.contract.errors import ParamsError
from plumbline.contract.faults import Fault
from plumbline.diagnostics import selftest
from plumbline.diagnostics.selftest import faults, fixture, injection
from plumbline.entrypoint import load_task
from plumbline.evidence import gates

TASK = "text_classification"
# Each fault and the gate that must fail, or a word of the error's message.
GATES = [
    "none",
    *["accepted"] * 2,
    "coverage",
    *["leakage"] * 2,
    *["baselines"] * 2,
    "bounds",
    "control",
    "champion",
    "slices",
    "calibration",
    "behaviour",
    "budget",
    "parity",
    *["replay"] * 2,
    *["power"] * 3,
]


def test_the_default_task_has_23_faults_and_a_sound_challenger() -> None:
    planted = faults.list_faults(load_task(TASK))
    assert [fault.gate for fault in planted if fault.verdict != "error"] == GATES
    assert len(planted) == 24
    assert [fault.name for fault in planted if fault.verdict == "error"] == [
        "evidence edited by hand",
        "a champion that the registry does not have",
        "a champion with files different from those that were promoted",
    ]


def test_another_task_adds_its_own_faults() -> None:
    names = {fault.name for fault in faults.list_faults(load_task("signal_extraction"))}
    assert "a model that looks ahead" in names
    assert "a slow model" in names
    assert "the majority class, dressed up as a model" not in names


def test_a_task_without_faults_is_refused(line_task: object) -> None:
    with pytest.raises(ParamsError, match="the task line offers no faults to plant"):
        selftest.count_faults("line")


def test_an_unknown_task_is_refused() -> None:
    with pytest.raises(ParamsError, match=r"no task 'text_clasification' \(did you mean"):
        selftest.count_faults("text_clasification")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fixture")
    fixture.prepare_fixture(folder, TASK)
    return folder


def find_fault(gate: str) -> Fault:
    return next(fault for fault in faults.list_faults(load_task(TASK)) if fault.gate == gate)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("task", [TASK, "signal_extraction"])
def test_every_fault_is_caught_and_equal_models_are_rarely_promoted(
    checkout: Checkout, task: str
) -> None:
    output = checkout.run("plumbline", "selftest", "--task", task).stdout
    assert output.count("caught") == len(faults.list_faults(load_task(task)))
    assert "MISSED" not in output
    assert "276 pairs" in output
    assert not list((checkout.path / "mlruns").glob("*.db"))  # no trace in the user's registry


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("gate", ["calibration", "replay"])
def test_a_gate_that_does_nothing_is_noticed(
    prepared: Path, tmp_path: Path, gate: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = find_fault(gate)
    kept = tuple(entry for entry in gates.GATES if entry[0] != gate)
    monkeypatch.setattr(gates, "GATES", kept)
    with fixture.enter_checkout(fixture.copy_fixture(prepared, tmp_path / "copy")):
        outcome = injection.inject_fault(fault)
    assert gate not in outcome.failed
    assert not outcome.caught


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_gates_that_refuse_everything_are_noticed(
    prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = find_fault("none")
    run_gates = gates.run_gates
    monkeypatch.setattr(
        gates,
        "run_gates",
        lambda findings: [replace(gate, status="fail") for gate in run_gates(findings)],
    )
    with fixture.enter_checkout(fixture.copy_fixture(prepared, tmp_path / "copy")):
        assert not injection.inject_fault(sound).caught
