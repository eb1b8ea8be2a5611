"""Answers on disk: one table for each split, and the setting that they were recorded in."""

import shutil
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from plumbline.contract.errors import explain_damage
from plumbline.process.files import read_json, write_json
from tasks.answer_consensus.data.tables import Answers
from tasks.answer_consensus.params import ConsensusParams

SETTING = "setting.json"
TEXTS = ("ids", "questions", "golds", "labels", "groups")
ARRAYS = ("answers", "tokens")


@dataclass(frozen=True)
class AnswerSetting:
    """Who was asked, and at what price; what `score` and the predictor need of params."""

    agents: list[str]
    models: list[str]  # of each agent
    prices: list[float]  # dollars of 1000 tokens of each agent
    costs: list[float]  # dollars of asking each agent once, in the mean over train
    max_cost: float | None  # dollars that one question may cost; None: no cap
    mean_cost: float  # dollars that a question may cost in the mean
    normalise: str

    @property
    def purse(self) -> float:
        """Dollars that a policy of this setting can spend on one question."""
        return sum(self.costs) if self.max_cost is None else self.max_cost

    def compute_costs(self, answers: Answers) -> np.ndarray:
        """Return what each answer cost, in dollars [Q, A]."""
        costs: np.ndarray = answers.tokens * np.array(self.prices) / 1000
        return costs


def write_setting(examples: Path, setting: AnswerSetting) -> None:
    """Write the setting beside the examples."""
    write_json(examples / SETTING, asdict(setting))


def read_setting(examples: Path) -> AnswerSetting:
    """Read the setting; raises DataError where it is missing or damaged."""
    path = examples / SETTING
    with explain_damage(path):
        return AnswerSetting(**read_json(path))


def read_paid_setting(params: ConsensusParams, examples: Path) -> AnswerSetting:
    """Read the setting with the mean cost of `params`, which decides what all have to spend."""
    return replace(read_setting(examples), mean_cost=params.data.mean_cost)


def write_answers(examples: Path, split: str, answers: Answers) -> None:
    """Write one split."""
    import pandas as pd

    columns: dict[str, Any] = {name: getattr(answers, name) for name in TEXTS}
    columns |= {name: getattr(answers, name).tolist() for name in ARRAYS}
    pd.DataFrame(columns).to_parquet(examples / f"{split}.parquet", index=False)


def read_answers(examples: Path, split: str) -> Answers:
    """Read one split; raises DataError that names the file that is missing or damaged."""
    import pandas as pd

    path = examples / f"{split}.parquet"
    with explain_damage(path):
        table = pd.read_parquet(path)
        return Answers(
            **{name: table[name].to_numpy(object) for name in TEXTS},
            answers=np.array(table["answers"].tolist(), object),
            tokens=np.array(table["tokens"].tolist(), np.int64),
        )


def shuffle_labels(examples: Path, target: Path, seed: int, max_rows: int) -> None:
    """Write train (`max_rows` of it) and validation to `target`, gold shuffled among questions."""
    shutil.copy2(examples / SETTING, target / SETTING)
    for split in ("train", "validation"):
        answers = read_answers(examples, split)
        if split == "train":
            answers = answers.take(np.arange(min(max_rows, len(answers.ids))))
        golds = np.random.default_rng(seed).permutation(answers.golds)
        write_answers(target, split, replace(answers, golds=golds))
