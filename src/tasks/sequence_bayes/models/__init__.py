"""The candidates, as learners: a rule in closed form, networks on counts, transformers."""

from pathlib import Path

from plumbline.contract.records import ExportDifference, Learner
from plumbline.contract.task import Columns
from tasks.sequence_bayes.data.storage import read_prior, read_sequences
from tasks.sequence_bayes.params import RuleConfig, SequenceParams


def build_learner(params: SequenceParams, candidate: str, examples: Path) -> Learner:
    """Return the model and batches of `candidate`, ready to train on what ingest wrote."""
    config = params.candidates[candidate]
    prior = read_prior(examples)
    train = read_sequences(examples, "train")
    if isinstance(config, RuleConfig):
        from tasks.sequence_bayes.models.rule import build_rule_learner

        return build_rule_learner(config, prior, train)
    from tasks.sequence_bayes.models.networks import build_network_learner  # imports torch

    validation = read_sequences(examples, "validation")
    return build_network_learner(config, params.seed, prior, train, validation)


def compare_export(
    params: SequenceParams, candidate: str, folder: Path, columns: Columns
) -> list[ExportDifference]:
    """Compare nothing: the predictor itself reads the trained weights."""
    return []
