"""The learner of the set network, and the comparison of its two implementations."""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from plumbline.contract.records import ExportDifference, Learner
from plumbline.contract.task import Columns
from plumbline.process.files import read_json, write_json
from tasks.answer_consensus.data.storage import AnswerSetting
from tasks.answer_consensus.data.tables import Answers
from tasks.answer_consensus.models.policy import build_learned_config
from tasks.answer_consensus.models.set_batches import build_batches
from tasks.answer_consensus.models.set_network import Chooser, SetNet
from tasks.answer_consensus.models.tallies import Tallies, count_answers
from tasks.answer_consensus.params import SetConfig
from tasks.answer_consensus.predictor import Predictor, describe_state, load

TOLERANCE = 1e-4  # of probabilities: torch computes in single precision


def build_set_learner(
    config: SetConfig,
    setting: AnswerSetting,
    train: Tallies,
    validation: Answers,
    confidence: float,
    seed: int,
) -> Learner:
    """Return a set network with random weights, and its batches; `confidence` as in choose_stop."""
    data = build_batches(train, count_answers(setting, validation), config, seed)
    torch.manual_seed(seed)
    num_features = 3 * len(setting.agents) + 3
    num_steps = len(data.sampler) * config.max_epochs
    module = Chooser(SetNet(num_features, config.hidden), config, num_steps)

    def save(folder: Path) -> None:
        weights = module.model.float().cpu().state_dict()
        scorer = {
            "kind": "set",
            "weights": {name: tensor.tolist() for name, tensor in weights.items()},
        }
        written = build_learned_config(setting, train, scorer, config, validation, confidence)
        write_json(folder / "config.json", written)

    return Learner(
        save=save,
        module=module,
        data=data,
        max_epochs=config.max_epochs,
        patience=config.patience,
        gradient_clip=config.gradient_clip,
    )


@torch.inference_mode()
def compare_network(folder: Path, columns: Columns) -> ExportDifference:
    """Compare the predictor's probabilities with those of the network in torch."""
    predictor = load(folder)
    written: dict[str, Any] = read_json(folder / "config.json")["scorer"]["weights"]
    weights = {name: torch.tensor(value) for name, value in written.items()}
    hidden, num_features = weights["enter.weight"].shape
    model = SetNet(num_features, hidden)
    model.load_state_dict(weights)
    states = predictor.read_states(columns)
    largest = 0.0
    for state, shares in zip(states, predictor.compute_shares(states), strict=True):
        features = torch.from_numpy(describe_state(state)).float()[None]
        mask = torch.ones(features.shape[:2], dtype=torch.bool)
        expected = torch.softmax(model(features, mask)[0].double(), dim=0).numpy()
        largest = max(largest, float(np.abs(expected - shares).max()))
    return ExportDifference(Predictor.forms[0], largest, TOLERANCE, len(states))
