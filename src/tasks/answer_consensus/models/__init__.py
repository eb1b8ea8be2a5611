"""The candidates: fixed votes, and policies that learn whom to ask and when to stop."""

from pathlib import Path

from plumbline.contract.records import ExportDifference, Learner
from plumbline.contract.task import Columns
from plumbline.process.files import write_json
from tasks.answer_consensus.data.storage import (
    AnswerSetting,
    read_answers,
    read_paid_setting,
)
from tasks.answer_consensus.data.tables import Answers
from tasks.answer_consensus.models.policy import Config, build_learned_config
from tasks.answer_consensus.models.tallies import Tallies, count_answers
from tasks.answer_consensus.params import ConsensusParams, FixedVote, LogitConfig


def build_learner(params: ConsensusParams, candidate: str, examples: Path) -> Learner:
    """Return the model and batches of `candidate`, ready to train on what ingest wrote."""
    config = params.candidates[candidate]
    setting = read_paid_setting(params, examples)
    train = count_answers(setting, read_answers(examples, "train"))
    validation = read_answers(examples, "validation")
    solved: Config = {}

    def solve() -> None:
        solved.update(_solve(params, config, setting, train, validation))

    def save(folder: Path) -> None:
        write_json(folder / "config.json", solved)

    return Learner(save=save, solve=solve)


def compare_export(
    params: ConsensusParams, candidate: str, folder: Path, columns: Columns
) -> list[ExportDifference]:
    """Compare nothing: the predictor itself reads the votes."""
    return []


def _solve(
    params: ConsensusParams,
    config: FixedVote | LogitConfig,
    setting: AnswerSetting,
    train: Tallies,
    validation: Answers,
) -> Config:
    from tasks.answer_consensus.models.votes import build_vote, fit_logit

    if isinstance(config, FixedVote):
        return build_vote(setting, train, config.kind)
    scorer = fit_logit(config, train, params.seed)
    confidence = params.evaluation.confidence
    return build_learned_config(setting, train, scorer, config, validation, confidence)
