"""Sequences that train in seconds: parameters for each kind of data, and examples on disk."""

from copy import deepcopy
from pathlib import Path
from typing import Any

from plumbline.contract.yaml_file import load_yaml
from tasks.sequence_bayes.data.prior import SequencePrior
from tasks.sequence_bayes.params import SequenceParams

ROOT = Path(__file__).resolve().parents[2]
ROWS = {"train": 300, "validation": 80, "test": 160}
COMPONENTS: dict[str, dict[str, Any]] = {
    "dice": {
        "peaked": {"weight": 1.0, "alpha": [0.2, 0.2, 0.2]},
        "even": {"weight": 2.0, "alpha": [9.0, 9.0, 9.0]},
    },
    "coins": {  # together every probability is as likely
        "low": {"weight": 1.0, "alpha": [2.0, 1.0]},
        "high": {"weight": 1.0, "alpha": [1.0, 2.0]},
    },
}
NETWORK = {"sequences_per_epoch": 64, "batch_size": 16, "max_epochs": 2, "warmup": 0.2}
SIZES = {"transformer": {"width": 16, "heads": 2}}


def list_values(kind: str = "dice", length: int = 24) -> dict[str, Any]:
    """The recipe with other data and smaller candidates."""
    values: dict[str, Any] = load_yaml(ROOT / "recipes/sequence_bayes.yaml")
    values["data"] |= {"length": length, "rows": ROWS, "components": deepcopy(COMPONENTS[kind])}
    candidates = values["candidates"]
    for config in candidates.values():
        if config["kind"] != "rule":
            config |= NETWORK | SIZES.get(config["kind"], {"hidden": 16})
    values["validation"]["min_rows"] = 50
    values["training"] |= {"device": "cpu", "checkpoint_every_steps": 3}
    return values


def build_params(kind: str = "dice", length: int = 24) -> SequenceParams:
    """As `list_values`, checked."""
    return SequenceParams.model_validate(list_values(kind, length))


def build_prior(kind: str = "dice", length: int = 24) -> SequencePrior:
    """The prior of those params."""
    return SequencePrior.from_params(build_params(kind, length).data)
