"""Training: what is left on disk, what is refused, and that a killed one ends where an undisturbed one does."""

import csv
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tests.support.small_texts import CANDIDATES, ROOT, Silent, small_params, write_examples

from plumbline.contract import layout
from plumbline.contract.errors import ParamsError, TrainingError
from plumbline.contract.params import Training
from plumbline.contract.task import Learner
from plumbline.tasks.text_classification.models import learner
from plumbline.training import device, fitting

PROCESS = ROOT / "tests/support/killed_training.py"


@pytest.fixture
def examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_examples(tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "examples"


def test_a_step_is_seeded_as_torch_seeds() -> None:
    device.seed("cpu", (7 << 32) + 3)
    ours = torch.rand(3)
    torch.manual_seed((7 << 32) + 3)
    assert torch.equal(ours, torch.rand(3))


def test_the_curve_has_a_row_an_epoch_and_the_log_hears_the_same(examples: Path) -> None:
    log = Silent()
    fitting.fit(learner(small_params(), "linear", examples), small_params(), "linear", log)
    with (layout.TRAINING / "linear.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["epoch"] for row in rows] == ["1", "2", "3"]
    assert [float(row["validation/loss"]) for row in rows] == [
        told["validation/loss"] for told in log.told[:3]
    ]
    assert log.told[3]["train/samples_per_second"] > 0


def test_the_best_epoch_is_kept_and_patience_ends_training(examples: Path) -> None:
    made = learner(small_params(), "linear", examples)
    made = replace(made, max_epochs=20, patience=2)
    seen: list[tuple[float, torch.Tensor]] = []
    validated = made.module.on_validation_epoch_end

    def spoil_after_two() -> None:
        validated()
        seen.append(
            (
                float(made.module.trainer.callback_metrics["validation/loss"]),
                made.module.model.bias.detach().clone(),
            )
        )
        if len(seen) == 3:
            made.module.trainer.optimizers[0].param_groups[0]["lr"] = 50.0

    made.module.on_validation_epoch_end = spoil_after_two
    fitting.fit(made, small_params(), "linear", Silent())
    best = min(range(1, len(seen)), key=lambda epoch: seen[epoch][0])
    assert len(seen) == 1 + best + 2
    assert torch.equal(made.module.model.bias, seen[best][1])


def test_a_loss_that_is_not_finite_names_candidate_and_step(examples: Path) -> None:
    made = learner(small_params(), "linear", examples)
    stepped, calls = made.module.training_step, []

    def burst(batch: dict[str, torch.Tensor], batch_idx: int) -> torch.Tensor:
        calls.append(1)
        loss: torch.Tensor = stepped(batch, batch_idx)
        return loss * float("nan") if len(calls) == 5 else loss

    made.module.training_step = burst
    with pytest.raises(
        TrainingError, match=r"candidates\.linear: the loss was not finite at step 5"
    ):
        fitting.fit(made, small_params(), "linear", Silent())


def test_nothing_learned_is_an_error(examples: Path) -> None:
    params = small_params(learning_rate=1e-12, head_learning_rate=1e-12)
    with pytest.raises(TrainingError, match=r"candidates\.transformer: nothing was learned"):
        fitting.fit(learner(params, "transformer", examples), params, "transformer", Silent())


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_gradients_are_clipped_in_either_precision(precision: str, examples: Path) -> None:
    params = small_params()
    params = params.model_copy(
        update={"training": params.training.model_copy(update={"precision": precision})}
    )
    made = replace(learner(params, "transformer", examples), gradient_clip=0.01)
    norms: list[float] = []

    def measure(optimizer: torch.optim.Optimizer) -> None:
        gradients = [weight.grad for weight in made.module.parameters() if weight.grad is not None]
        if gradients:
            norms.append(float(torch.nn.utils.get_total_norm(gradients)))

    made.module.on_before_zero_grad = measure
    fitting.fit(made, params, "transformer", Silent())
    assert len(norms) == 18  # of 21: an epoch ends without a next step
    assert max(norms) == pytest.approx(0.01, rel=1e-3)


def test_a_finished_training_is_not_repeated_until_it_is_cleaned_up(examples: Path) -> None:
    def steps_of(made: Learner) -> int:
        calls, stepped = [], made.module.training_step
        made.module.training_step = lambda *arguments: calls.append(1) or stepped(*arguments)
        fitting.fit(made, small_params(), "linear", Silent())
        return len(calls)

    assert steps_of(learner(small_params(), "linear", examples)) == 21
    assert steps_of(learner(small_params(), "linear", examples)) == 0
    fitting.clean("linear")
    assert not list(layout.CHECKPOINTS.iterdir())
    assert steps_of(learner(small_params(), "linear", examples)) == 21


def test_another_seed_starts_afresh_and_drops_what_it_replaces(examples: Path) -> None:
    for seed in (1, 2):
        params = small_params().model_copy(update={"seed": seed})
        fitting.fit(learner(params, "linear", examples), params, "linear", Silent())
    assert len(list(layout.CHECKPOINTS.iterdir())) == 1


def test_a_damaged_checkpoint_counts_as_none(examples: Path) -> None:
    fitting.fit(learner(small_params(), "linear", examples), small_params(), "linear", Silent())
    [state] = layout.CHECKPOINTS.glob("*/state.safetensors")
    state.write_bytes(state.read_bytes()[:100])
    again = Silent()
    fitting.fit(learner(small_params(), "linear", examples), small_params(), "linear", again)
    assert len(again.told) == 4


def test_a_device_that_is_absent_is_named() -> None:
    wanted = "mps" if torch.cuda.is_available() else "cuda"
    with pytest.raises(ParamsError, match=rf"training\.device: {wanted} is not available"):
        device.choose(
            Training(device=wanted, precision="auto", compile="auto", checkpoint_every_steps=1)
        )


def test_a_run_that_goes_on_keeps_its_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Training(device="cpu", precision="auto", compile="auto", checkpoint_every_steps=1)
    monkeypatch.setattr(device, "probe", lambda: 3.0)
    assert device.choose(asked).precision == "bf16"
    assert device.choose(asked, earlier="fp32").precision == "fp32"


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_killed_anywhere_training_ends_in_the_same_weights(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-P", PROCESS, tmp_path / "killed"],
        capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"},
    )  # fmt: skip
    found = json.loads(done.stdout.splitlines()[-1])
    assert set(found) == set(CANDIDATES)
    for candidate, places in found.items():
        undisturbed = places.pop("undisturbed")
        for place, ended in places.items():
            assert ended["killed"], (candidate, place)
            assert ended["weights"] == undisturbed["weights"], (candidate, place)
            assert ended["curve"] == undisturbed["curve"], (candidate, place)
            assert (ended["steps"] < undisturbed["steps"]) == (place != "first step"), (
                candidate,
                place,
            )


@pytest.mark.slow
def test_two_processes_of_torchrun_train_one_model(tmp_path: Path) -> None:
    write_examples(tmp_path / "examples")
    script = ROOT / "tests/support/trained_together.py"
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", script, "examples"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}", "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    first, second = (json.loads((tmp_path / f"rank{rank}.json").read_text()) for rank in (0, 1))
    assert first["weights"] == second["weights"]
    assert first["history"] == pytest.approx(
        json.loads((tmp_path / "alone.json").read_text()), abs=2e-3
    )
    assert (
        done.stdout.count("epoch 3/3") == 2
    )  # the two processes' line, and that of the training alone
