"""The candidates, as learners: a bank of FIR filters in closed form, and two LSTMs."""

from pathlib import Path

from plumbline.contract.records import ExportDifference, Learner
from plumbline.contract.task import Columns
from tasks.signal_extraction.data.windows import read_windows
from tasks.signal_extraction.params import FirConfig, SignalParams


def build_learner(params: SignalParams, candidate: str, examples: Path) -> Learner:
    """Return the model and batches of `candidate`, ready to train on what ingest wrote."""
    config = params.candidates[candidate]
    train = read_windows(examples, "train")
    if isinstance(config, FirConfig):
        from tasks.signal_extraction.models.fir import build_fir_learner

        return build_fir_learner(config, train)
    from tasks.signal_extraction.models.recurrent import build_recurrent_learner  # imports torch

    validation = read_windows(examples, "validation")
    return build_recurrent_learner(config, params.seed, train, validation)


def compare_export(
    params: SignalParams, candidate: str, folder: Path, columns: Columns
) -> list[ExportDifference]:
    """Compare the graph of a recurrent candidate with its weights; filters are read as they are."""
    config = params.candidates[candidate]
    if isinstance(config, FirConfig):
        return []
    from tasks.signal_extraction.models.recurrent import compare_graph

    return [compare_graph(config, folder)]
