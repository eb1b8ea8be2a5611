"""A CPU trains an encoder by halves of a batch: the same gradients on any number of cores."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.support.small_texts import small_params, write_examples

from plumbline.contract.records import Learner
from plumbline.tasks.text_classification.models import build_learner


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    write_examples(tmp_path / "examples")
    return tmp_path / "examples"


@pytest.fixture(autouse=True)
def _keep_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def derive(learner: Learner, batch: dict[str, torch.Tensor], seed: int = 0) -> dict[str, Any]:
    """Return the loss of a batch and the gradient of each weight, by its name."""
    torch.default_generator.manual_seed(seed)
    learner.module.train().zero_grad()
    loss = learner.module.training_step(batch)
    loss.backward()
    weights = learner.module.named_parameters()
    return {"loss": loss.detach()} | {name: weight.grad.clone() for name, weight in weights}


@pytest.mark.parametrize("name", ["transformer", "ensemble"])
@pytest.mark.parametrize("num_rows", [1, 2, 15, 16])
def test_halves_have_the_gradients_of_the_whole(
    name: str, num_rows: int, examples: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    params = small_params(dropout=0.0, class_weights={"login": 3.0}, label_smoothing=0.1)
    learner = build_learner(params, name, examples)
    batch = learner.data.train.__getitems__(list(range(num_rows)))
    halves = derive(learner, batch)
    monkeypatch.setenv("WORLD_SIZE", "2")  # processes divide the rows among them
    torch.testing.assert_close(halves, derive(learner, batch))


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
def test_neither_cores_nor_time_change_a_bit_of_them(
    precision: torch.dtype, examples: Path
) -> None:
    learner = build_learner(small_params(dropout=0.5), "transformer", examples)
    batch = learner.data.train.__getitems__(list(range(16)))
    found = []
    for num_cores in (1, 2, 2, 2, 2):
        torch.set_num_threads(num_cores)
        is_narrow = precision == torch.bfloat16
        with torch.autocast("cpu", precision, enabled=is_narrow, cache_enabled=False):
            found.append(derive(learner, batch))
        assert torch.get_num_threads() == num_cores
    for other in found[1:]:
        torch.testing.assert_close(other, found[0], rtol=0, atol=0)
    assert derive(learner, batch, seed=1)["loss"] != derive(learner, batch)["loss"]


def test_an_error_in_a_half_leaves_other_threads_all_cores(examples: Path) -> None:
    learner = build_learner(small_params(), "transformer", examples)
    batch = learner.data.train.__getitems__([0, 1])
    batch["input_ids"][1, 0] = 10**6  # no such token
    torch.set_num_threads(4)
    with pytest.raises(IndexError):
        derive(learner, batch)
    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(torch.get_num_threads).result() == 4
