"""Signals that train in seconds: parameters, examples on disk, and findings for gates."""

from pathlib import Path
from typing import Any

from tests.support.questions import Facts, ask_gate

from plumbline.contract.records import Leak
from plumbline.contract.yaml_file import load_yaml
from plumbline.evidence import gates
from tasks.signal_extraction.data.setting import Setting
from tasks.signal_extraction.params import SignalParams
from tasks.signal_extraction.task import TASK

ROOT = Path(__file__).resolve().parents[2]
HONEST = Setting((1.0, 3.0, 5.0, 7.0), 1000, 0.8, 1.2, 0.05, 40, 1000, 0.05)
REALISATIONS = {"train": 120, "validation": 60, "test": 240}
LSTM = {
    "hidden": 8,
    "layers": 1,
    "windows_per_epoch": 40,
    "batch_size": 8,
    "warmup": 0.3,
    "max_epochs": 3,
}


def values(**data: Any) -> dict[str, Any]:
    """The recipe with smaller candidates, 5 windows of 40 samples a batch, and data changes."""
    found: dict[str, Any] = load_yaml(ROOT / "recipes/signal_extraction.yaml")
    found["data"] |= {"window": 40, "realisations": dict(REALISATIONS)} | data
    window = found["data"]["window"]
    for name, shape in found["candidates"].items():
        shape |= {"taps": window} if name == "fir" else LSTM
    found["candidates"]["stateful"]["chunk"] = 10
    found["candidates"]["film"]["layers"] = 2
    found["validation"]["min_rows"] = 30
    found["training"] |= {"device": "cpu", "checkpoint_every_steps": 3}
    return found


def small_params(**data: Any) -> SignalParams:
    """As `values`, checked."""
    return SignalParams.model_validate(values(**data))


def asked(name: str, params: SignalParams, **facts: Any) -> gates.GateResult:
    """Run one gate on these findings; those that are not given are sound."""
    leaks = [Leak("group", "test", 0, 1, ())]
    return ask_gate(name, Facts(TASK.metric, params.evaluation, **({"leaks": leaks} | facts)))
