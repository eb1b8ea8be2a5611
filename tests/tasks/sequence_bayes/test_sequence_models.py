"""Candidates: the predictor answers as the network that was trained, and training continues."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.small_sequences import build_params, list_values
from tests.support.task_examples import write_examples

from tasks.sequence_bayes.data import shuffle_labels
from tasks.sequence_bayes.data.exact import compute_predictive
from tasks.sequence_bayes.data.storage import list_inputs, read_prior, read_sequences
from tasks.sequence_bayes.models import build_learner
from tasks.sequence_bayes.models.rule import find_alphas
from tasks.sequence_bayes.params import SequenceParams
from tasks.sequence_bayes.predictor import load


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_examples(build_params(), tmp_path_factory.mktemp("mixture"))


def save(params: SequenceParams, name: str, examples: Path, folder: Path, steps: int = 0) -> Any:
    """Train some steps, save, and load the predictor, which answers as torch does."""
    learner: Any = build_learner(params, name, examples)
    optimizer = learner.module.configure_optimizers()[0]
    learner.data.sampler.set_epoch(0)
    batch = next(iter(learner.data.train_dataloader()))
    for _ in range(steps):
        optimizer.zero_grad()
        learner.module.training_step(batch).backward()
        optimizer.step()
    folder.mkdir()
    learner.save(folder)
    predictor = load(folder)
    rows = list_inputs(batch["symbols"].numpy())
    answers = predictor.predict(rows, all_positions=True)["predictive"]
    expected = learner.module.model(batch["inputs"]).softmax(2).detach().numpy()
    np.testing.assert_allclose(answers, expected, atol=1e-4)
    return predictor


def test_the_predictor_answers_as_the_transformer(examples: Path, tmp_path: Path) -> None:
    predictor = save(build_params(), "transformer", examples, tmp_path / "model", steps=5)
    sequences = read_sequences(examples, "test")[:4]
    answers = predictor.predict(list_inputs(sequences), all_positions=True)["predictive"]
    changed = sequences.copy()
    changed[:, 12:] = 0
    others = predictor.predict(list_inputs(changed), all_positions=True)["predictive"]
    np.testing.assert_array_equal(np.array(answers)[:, :13], np.array(others)[:, :13])
    assert not np.allclose(np.array(answers)[:, -1], np.array(others)[:, -1])


def test_the_rule_finds_what_the_prior_adds(tmp_path: Path) -> None:
    values = list_values()
    values["data"]["components"] = {"all": {"weight": 1.0, "alpha": [1.0, 4.0]}}
    values["data"]["rows"] = {"train": 2000, "validation": 50, "test": 50}
    examples = write_examples(SequenceParams.model_validate(values), tmp_path)
    train = read_sequences(examples, "train")
    zeros, ones = find_alphas(train, 2, for_each=True)
    assert zeros == pytest.approx(1.0, rel=0.15)
    assert ones == pytest.approx(4.0, rel=0.15)
    one, same = find_alphas(train, 2, for_each=False)
    assert one == same < 1.0


def test_nothing_is_learned_from_shuffled_symbols(tmp_path: Path) -> None:
    examples = write_examples(build_params("coins"), tmp_path)
    (tmp_path / "shuffled").mkdir()
    shuffle_labels(examples, tmp_path / "shuffled", 3, 300)
    alphas = find_alphas(read_sequences(tmp_path / "shuffled", "train"), 2, for_each=True)
    assert alphas.min() > 100


def test_networks_learn(examples: Path, tmp_path: Path) -> None:
    prior, sequences = read_prior(examples), read_sequences(examples, "test")
    exact = compute_predictive(prior, sequences)[:, :-1]

    def measure(steps: int) -> float:
        predictor = save(build_params(), "counts", examples, tmp_path / str(steps), steps)
        answers = predictor.predict(list_inputs(sequences), all_positions=True)["predictive"]
        return float((exact * np.log(exact / np.array(answers))).sum(axis=2).mean())

    assert measure(150) < 0.6 * measure(0)
