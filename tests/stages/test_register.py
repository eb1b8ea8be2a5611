"""The winner is registered once, proven to answer alike first, and a refusal registers nothing."""

import pytest

from plumbline import bundle, layout, promotion, registry
from plumbline.contract import Task
from plumbline.errors import BundleError, RefusedError
from plumbline.params import Params
from plumbline.stages.register import register

pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow, in this process, warns about its own libraries


@pytest.fixture
def evaluated(line_task: tuple[Params, Task], monkeypatch: pytest.MonkeyPatch) -> tuple[Params, Task]:
    """A sealed winner, its golden rows and the evidence for it."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    folder = layout.bundle("closed")
    folder.mkdir(parents=True)
    (folder / "weights.json").write_text('{"slope": 2.0, "intercept": 1.0}', encoding="utf-8")
    digest = bundle.seal(folder, line_task[1], "closed")
    layout.write_json(layout.GOLDEN, {"inputs": {"x": [0.0, 1.0]}, "params": {}, "outputs": {"y": [1.0, 3.0]}})
    gates = [{"name": "floor", "status": "pass", "reason": "good enough"}]
    evidence = {"verdict": "promote", "winner": "closed", "gates": gates, "digests": {"bundle": digest}}
    layout.write_json(layout.EVIDENCE, evidence)
    for path in (layout.METRICS, layout.REPORT):
        path.write_text("{}", encoding="utf-8")
    return line_task


def versions() -> list[object]:
    return list(registry.client().search_model_versions("name = 'line'"))


def test_repeated_it_is_one_version_and_one_decision(evaluated: tuple[Params, Task]) -> None:
    register(*evaluated)
    layout.REGISTRATION.unlink()  # as if it had been killed before the last line
    register(*evaluated)
    assert len(versions()) == 1
    assert layout.read_json(layout.REGISTRATION)["version"] == "1"
    assert [(entry.action, entry.version) for entry in promotion.history("line")] == [("first", "1")]


def test_a_package_that_answers_otherwise_is_no_version(evaluated: tuple[Params, Task]) -> None:
    golden = layout.read_json(layout.GOLDEN)
    golden["outputs"]["y"][1] = 3.001
    layout.write_json(layout.GOLDEN, golden)
    with pytest.raises(BundleError, match=r"golden row 1 \(y\)"):
        register(*evaluated)
    assert versions() == []
    assert not layout.REGISTRATION.exists()


def test_a_refusal_is_on_record_and_nothing_else(evaluated: tuple[Params, Task]) -> None:
    evidence = layout.read_json(layout.EVIDENCE)
    evidence |= {"verdict": "refuse", "gates": [{"name": "floor", "status": "fail", "reason": "0.5 is below 0.8"}]}
    layout.write_json(layout.EVIDENCE, evidence)
    with pytest.raises(RefusedError, match=r"floor: 0\.5 is below 0\.8") as refused:
        register(*evaluated)
    assert refused.value.exit_code == 20
    assert layout.read_json(layout.REGISTRATION) | {"evidence": ""} == {
        "model": "line", "version": None, "winner": "closed", "verdict": "refuse", "evidence": "",
    }  # fmt: skip
    assert versions() == []


def test_a_bundle_that_changed_since_is_not_registered(evaluated: tuple[Params, Task]) -> None:
    (layout.bundle("closed") / "weights.json").write_text('{"slope": 9.0, "intercept": 1.0}', encoding="utf-8")
    bundle.seal(layout.bundle("closed"), evaluated[1], "closed")
    with pytest.raises(BundleError, match="not the bundle that was evaluated"):
        register(*evaluated)
    assert versions() == []
