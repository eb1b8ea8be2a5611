"""Candidates: torch and the predictor compute the same, networks learn, and training resumes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.support.resumed import check_resumed
from tests.support.small_filters import build_specification, list_values
from tests.support.task_examples import write_examples
from torch.func import functional_call

from plumbline.process.files import write_json
from tasks.filter_design.data import read_inputs
from tasks.filter_design.data.specifications import list_columns
from tasks.filter_design.models import build_learner
from tasks.filter_design.models.rows import build_masks
from tasks.filter_design.models.simulator import Masks, simulate_margins
from tasks.filter_design.params import FilterParams
from tasks.filter_design.predictor import load
from tasks.filter_design.predictor.ladder import NUM_PASS, Ladder, simulate
from tasks.filter_design.predictor.networks import MAX_VALUES, NUM_COORDINATES, decode
from tasks.filter_design.predictor.rows import read_specs

SIZE: dict[str, Any] = {
    "calls": 8,
    "hidden": 24,
    "layers": 2,
    "batch_size": 32,
    "steps_per_epoch": 4,
    "learning_rate": 3e-3,
    "max_epochs": 2,
    "patience": 2,
    "gradient_clip": 1.0,
}
NETWORKS: dict[str, dict[str, Any]] = {
    "regression": {"kind": "regression", "temperature": 0.1, **SIZE},
    "diffusion": {"kind": "diffusion", "steps": 4, "average": 0.9, **SIZE},
    "gan": {"kind": "gan", "noise": 3, "critic_rate": 2.0, **SIZE},
}
UNTRAINED = {"textbook": {"kind": "textbook", "calls": 8}}


def build_params() -> FilterParams:
    values = list_values()
    values["candidates"] = NETWORKS | UNTRAINED
    return FilterParams.model_validate(values)


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_examples(build_params(), tmp_path_factory.mktemp("filters"))


def train(learner: Any, steps: int) -> list[float]:
    """Take so many steps, each with the random numbers of its own number; the losses."""
    optimizer = learner.module.configure_optimizers()[0]
    learner.data.sampler.set_epoch(0)
    batches = list(learner.data.train_dataloader())
    losses = []
    for step in range(steps):
        torch.manual_seed(step)
        optimizer.zero_grad()
        loss = learner.module.training_step(batches[step % len(batches)])
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses


def compare_layers(module: Any, strategy: Any) -> None:
    """The predictor's layers answer as those of torch with the weights that are saved."""
    weights = module.list_weights()
    num_inputs = weights["layers.0.weight"].shape[1]
    inputs = np.random.default_rng(0).normal(size=(16, num_inputs)).astype(np.float32)
    expected = functional_call(module.model, weights, (torch.from_numpy(inputs),))
    answered = strategy.apply("model", inputs)
    np.testing.assert_allclose(answered, expected.detach().numpy(), atol=1e-4)


@pytest.mark.parametrize("name", [*NETWORKS, *UNTRAINED])
def test_a_bundle_answers_alone_as_in_company(examples: Path, tmp_path: Path, name: str) -> None:
    learner = build_learner(build_params(), name, examples)
    if learner.module:
        train(learner, 3)
    learner.save(tmp_path)
    predictor = load(tmp_path)
    if learner.module:
        compare_layers(learner.module, predictor._strategy)
    columns = {name: values[:12] for name, values in read_inputs(examples, "test").items()}
    together = predictor.predict(columns, draws=0)
    assert max(together["calls"]) == 8  # as params say
    for row in range(12):
        one = {name: values[row : row + 1] for name, values in columns.items()}
        alone = predictor.predict(one, draws=0)
        assert {key: values[0] for key, values in alone.items()} == {
            key: values[row] for key, values in together.items()
        }


@pytest.mark.parametrize("kind", ["low-pass", "high-pass", "band-pass"])
@pytest.mark.parametrize("arrangement", [0, 1])
def test_the_simulator_in_torch_is_that_of_the_predictor(kind: str, arrangement: int) -> None:
    for order in (3,) if kind == "band-pass" else (3, 5, 7):
        (spec,) = read_specs(list_columns([build_specification(kind, order=order)]))
        ladder = Ladder(spec, order)
        coordinates = np.random.default_rng(order).normal(0, 0.2, (5, NUM_COORDINATES))
        coordinates[:, -1] = 1 - 2 * arrangement
        proposals = decode(ladder, coordinates)
        powers = simulate(ladder, *proposals, ladder.points)
        loss = 10 * np.log10(powers)
        masks = Masks(*map(torch.from_numpy, build_masks([ladder] * 5)))
        values = torch.from_numpy(coordinates[:, :MAX_VALUES].astype(np.float32))
        margins = simulate_margins(masks, values, torch.full((5,), arrangement)).numpy()
        expected = spec.max_loss_db - loss[:, :NUM_PASS:2]
        np.testing.assert_allclose(margins[:, :-2], expected, atol=2e-3)
        stop = loss[:, NUM_PASS] - spec.min_attenuation_db
        np.testing.assert_allclose(margins[:, -2], stop, atol=2e-3)


@pytest.mark.parametrize(("name", "steps"), [("regression", 30), ("diffusion", 80)])
def test_networks_learn(examples: Path, name: str, steps: int) -> None:
    losses = train(build_learner(build_params(), name, examples), steps)
    assert np.mean(losses[-20:]) < 0.9 * np.mean(losses[:5])


def test_the_generator_gets_the_gradient_of_the_critic_reversed(examples: Path) -> None:
    learner = build_learner(build_params(), "gan", examples)
    learner.data.sampler.set_epoch(0)
    batch = next(iter(learner.data.train_dataloader()))
    module = learner.module.train()

    def judge_drawn() -> torch.Tensor:
        torch.manual_seed(5)
        noise = torch.randn(len(batch["features"]), 3)
        drawn = module._draw(dict(module.model.named_parameters()), batch, noise)
        return module._judge(batch, drawn).mean()

    before = float(judge_drawn().detach())
    torch.manual_seed(5)
    module.training_step(batch).backward()
    with torch.no_grad():
        for weight in module.model.parameters():
            weight -= 0.1 * weight.grad  # a step of descent
    assert float(judge_drawn().detach()) > before  # looks more real to the same critic


@pytest.mark.parametrize("name", list(NETWORKS))
def test_a_killed_training_resumes_bit_for_bit(examples: Path, tmp_path: Path, name: str) -> None:
    """One optimiser holds all moments, and buffers hold averages and spectral norms."""
    learners = [build_learner(build_params(), name, examples) for _ in range(3)]
    check_resumed(*learners, tmp_path, stop=2, end=4)


def test_a_group_without_designs_is_answered_by_the_textbook(tmp_path: Path) -> None:
    values = list_values()
    values["data"]["generated"] |= {"kinds": {"low-pass": 1.0}, "orders": [3], "open_order": 0.0}
    values["candidates"] = NETWORKS | UNTRAINED
    params = FilterParams.model_validate(values)
    examples = write_examples(params, tmp_path)
    (tmp_path / "model").mkdir()
    build_learner(params, "diffusion", examples).save(tmp_path / "model")
    columns = list_columns([build_specification("band-pass")])
    answers = load(tmp_path / "model").predict(columns, draws=0)
    (tmp_path / "textbook").mkdir()
    write_json(tmp_path / "textbook/config.json", {"kind": "textbook", "calls": 8})
    assert answers == load(tmp_path / "textbook").predict(columns, draws=0)
