"""Candidates: filters solve least squares, states carry over, killed trainings continue."""

from pathlib import Path

import numpy as np
import pytest
import torch
from tests.support.resumed import check_resumed
from tests.support.small_signals import small_params
from tests.support.task_examples import write_examples

from plumbline.contract.task import SPLITS
from plumbline.training import fitting
from tasks.signal_extraction.data.windows import read_windows
from tasks.signal_extraction.models import build_learner, compare_export
from tasks.signal_extraction.models.fir import solve_filters
from tasks.signal_extraction.models.networks import FilmLstm, StatefulLstm


@pytest.fixture
def examples(folder: Path) -> Path:
    return write_examples(small_params(), folder)


def test_each_filter_is_the_ridge_solution_for_its_number_of_samples() -> None:
    random = np.random.default_rng(0)
    signals, components = random.normal(size=(200, 12)), random.normal(size=(200, 2, 12))
    found = solve_filters(signals, components, 8, 0.1)
    for w in (1, 3, 8):
        recent = signals[:, -w:]
        gram = recent.T @ recent / 200 + 0.1 * np.eye(w)
        expected = np.linalg.solve(gram, recent.T @ components[:, :, -1] / 200)
        np.testing.assert_allclose(found[:, w - 1, :w], expected.T, atol=1e-12)
        assert not found[:, w - 1, w:].any()


@pytest.mark.parametrize("network", [StatefulLstm, FilmLstm])
def test_a_sequence_in_chunks_is_the_sequence(network: type) -> None:
    torch.manual_seed(0)
    model = network(4, 16, 2).double()
    signals = torch.randn(3, 60, dtype=torch.float64)
    whole, end = model(signals)
    state, parts = None, []
    for chunk in signals.split([1, 1, 8, 50], dim=1):
        part, state = model(chunk, state)
        parts.append(part)
    torch.testing.assert_close(torch.cat(parts, dim=2), whole)
    torch.testing.assert_close(state, end)


@pytest.mark.parametrize("split", SPLITS)
def test_no_epoch_draws_a_split(examples: Path, split: str) -> None:
    """Also where it draws as many windows as the split has; nor those of an earlier epoch."""
    params, held = small_params(), read_windows(examples, split)
    shape = params.candidates["film"].model_copy(update={"windows_per_epoch": len(held.signals)})
    data = build_learner(
        params.model_copy(update={"candidates": {"film": shape}}), "film", examples
    ).data
    kept = {row.tobytes() for row in held.signals.astype(np.float32)}
    for epoch in range(4):
        data.sampler.set_epoch(epoch)
        signals = data.train_dataloader().dataset.signals
        drawn = {row.numpy().tobytes() for row in signals}
        assert not drawn & kept
        kept |= drawn


@pytest.mark.gpu
@pytest.mark.parametrize("candidate", ["stateful", "film"])
def test_trained_on_cuda_it_answers_as_its_graph(examples: Path, candidate: str) -> None:
    params = small_params()
    params = params.model_copy(
        update={"training": params.training.model_copy(update={"device": "cuda"})}
    )
    made = build_learner(params, candidate, examples)
    fitting.fit(made, params, candidate)
    made.save(examples)
    (compared,) = compare_export(params, candidate, examples, {})
    assert compared.largest <= compared.limit


@pytest.mark.parametrize("candidate", ["stateful", "film"])
def test_a_graph_that_is_not_its_weights_is_seen(examples: Path, candidate: str) -> None:
    params = small_params()
    build_learner(params, candidate, examples).save(examples)
    (sound,) = compare_export(params, candidate, examples, {})
    assert sound.largest <= sound.limit
    graph = examples / "model.onnx"
    content = graph.read_bytes()
    graph.write_bytes(content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])
    (changed,) = compare_export(params, candidate, examples, {})
    assert changed.largest > changed.limit


@pytest.mark.parametrize("candidate", ["stateful", "film"])
def test_a_killed_training_resumes_bit_for_bit(examples: Path, candidate: str) -> None:
    """Also in the middle of a window: states that are carried over are buffers."""
    learners = [build_learner(small_params(), candidate, examples) for _ in range(3)]
    check_resumed(*learners, examples, stop=3, end=5)
