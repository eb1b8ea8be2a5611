"""The candidates, as learners: the textbook, and networks that propose."""

from pathlib import Path

from plumbline.contract.records import ExportDifference, Learner
from plumbline.contract.task import Columns
from plumbline.process.files import write_json
from tasks.filter_design.params import FilterParams, TextbookConfig


def build_learner(params: FilterParams, candidate: str, examples: Path) -> Learner:
    """Return the model and batches of `candidate`, ready to train on what ingest wrote."""
    config = params.candidates[candidate]
    if isinstance(config, TextbookConfig):
        return _build_untrained_learner(config)
    from tasks.filter_design.models.networks import build_network_learner  # imports torch

    return build_network_learner(config, params.seed, examples)


def compare_export(
    params: FilterParams, candidate: str, folder: Path, columns: Columns
) -> list[ExportDifference]:
    """Compare nothing: the predictor itself reads the trained weights."""
    return []


def _build_untrained_learner(config: TextbookConfig) -> Learner:
    def solve() -> None:
        """Learn nothing: the predictor has all that it needs."""

    def save(folder: Path) -> None:
        write_json(folder / "config.json", {"kind": config.kind, "calls": config.calls})

    return Learner(save=save, solve=solve)
