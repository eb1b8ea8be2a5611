"""The selftest passes, and it can fail: without its gate a plant gets through, and is told as missed."""

from pathlib import Path

import pytest
from tests.support.checkouts import Checkout

from plumbline.diagnostics.selftest import PLANTS, ground, plants
from plumbline.evidence import gates

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ground")
    ground.prepare(folder)
    return folder


def test_every_plant_is_caught_and_twins_are_told_apart_rarely(
    checkout: Checkout, tmp_path: Path
) -> None:
    said = checkout.run("plumbline", "selftest").stdout
    assert said.count("caught") == len(PLANTS)
    assert "MISSED" not in said
    assert "276 pairs" in said
    assert not list(
        (checkout.path / "mlruns").glob("*.db")
    )  # no trace in the registry of whoever asked


@pytest.mark.parametrize("gate", ["calibration", "replay"])
def test_a_gate_that_does_nothing_is_found_out(
    prepared: Path, tmp_path: Path, gate: str, monkeypatch
) -> None:
    kept = tuple(entry for entry in gates.GATES if entry[0] != gate)
    monkeypatch.setattr(gates, "GATES", kept)
    plant = next(plant for plant in PLANTS if plant.gate == gate)
    with ground.entered(ground.copied(prepared, tmp_path / "copy")):
        outcome = plants.watched(plant)
    assert gate not in outcome.failed
    assert not outcome.caught


def test_gates_that_refuse_everything_are_found_out(
    prepared: Path, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr(gates, "judge", _always_failing(gates.judge))
    with ground.entered(ground.copied(prepared, tmp_path / "copy")):
        assert not plants.watched(PLANTS[0]).caught


def _always_failing(judge):
    from dataclasses import replace

    return lambda facts: [replace(gate, status="fail") for gate in judge(facts)]
