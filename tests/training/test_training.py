"""Training: what is on disk, and what is refused."""

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.support.small_texts import small_params, write_examples

from plumbline.contract import layout, trainings
from plumbline.contract.errors import ParamsError, TrainingError
from plumbline.contract.params import Params, Training
from plumbline.contract.records import Learner
from plumbline.tasks.text_classification.models import build_learner
from plumbline.training import fitting, hardware
from plumbline.training.checkpoint import CheckpointStore, TrainingState
from plumbline.training.checkpoint_folders import remove_checkpoints
from plumbline.training.loop import TrainingLoop
from plumbline.training.shared_batches import SharedBatches


@pytest.fixture
def examples(folder: Path) -> Path:
    write_examples(folder / "examples")
    return folder / "examples"


def count_epochs(learner: Learner, params: Params) -> int:
    """Train, and count how often an epoch is announced: when the curve has it."""
    curve = trainings.locate_curve("linear")
    seen: list[int] = []
    fitting.fit(
        learner, params, "linear", on_epoch=lambda: seen.append(trainings.read_curve(curve)[-1][0])
    )
    assert seen == list(range(1, len(seen) + 1))
    return len(seen)


def test_the_curve_has_a_row_an_epoch_and_the_speed_is_beside_it(examples: Path) -> None:
    assert count_epochs(build_learner(small_params(), "linear", examples), small_params()) == 3
    rows = trainings.read_curve(trainings.locate_curve("linear"))
    assert [epoch for epoch, _ in rows] == [1, 2, 3]
    assert all(metrics["validation/loss"] > 0 for _, metrics in rows)
    assert trainings.read_speed("linear")["train/samples_per_second"] > 0


def test_the_best_epoch_is_kept_and_patience_ends_training(
    examples: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner = build_learner(small_params(), "linear", examples)
    learner = replace(learner, max_epochs=20, patience=2)
    seen: list[tuple[float, torch.Tensor]] = []
    validate = TrainingLoop._validate

    def spoil_after_two(loop: TrainingLoop, loader: Any) -> dict[str, float]:
        figures = validate(loop, loader)
        seen.append((figures["validation/loss"], learner.module.model.bias.detach().clone()))
        if len(seen) == 3:
            loop.optimizer.param_groups[0]["lr"] = 50.0
        return figures

    monkeypatch.setattr(TrainingLoop, "_validate", spoil_after_two)
    fitting.fit(learner, small_params(), "linear")
    best = min(range(1, len(seen)), key=lambda epoch: seen[epoch][0])
    assert len(seen) == 1 + best + 2
    assert torch.equal(learner.module.model.bias, seen[best][1])


def test_small_gains_do_not_keep_training_going(examples: Path) -> None:
    learner = build_learner(small_params(), "linear", examples)
    assert learner.min_gain > 0
    learner = replace(learner, max_epochs=20, patience=2, min_gain=0.5)
    fitting.fit(learner, small_params(), "linear")
    with (layout.TRAINING / "linear.csv").open() as file:
        losses = [float(row["validation/loss"]) for row in csv.DictReader(file)]
    assert losses == sorted(losses, reverse=True)  # each epoch was better, by less and less
    assert len(losses) < 10


def test_a_loss_that_is_not_finite_names_candidate_and_step(examples: Path) -> None:
    learner = build_learner(small_params(), "linear", examples)
    training_step = learner.module.training_step
    calls = []

    def burst(batch: dict[str, torch.Tensor]) -> torch.Tensor:
        calls.append(1)
        loss: torch.Tensor = training_step(batch)
        return loss * float("nan") if len(calls) == 5 else loss

    learner.module.training_step = burst
    with pytest.raises(
        TrainingError, match=r"candidates\.linear: the loss was not finite at step 5"
    ):
        fitting.fit(learner, small_params(), "linear")


def test_processes_share_validation_without_a_row_twice(
    examples: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = build_learner(small_params(), "linear", examples).data
    monkeypatch.setenv("WORLD_SIZE", "5")
    shares: list[int] = []
    for rank in range(5):
        monkeypatch.setenv("RANK", str(rank))
        own = SharedBatches(data, TrainingState())
        rows = [row for batch in own.list_validation().batch_sampler for row in batch]
        assert own.num_validation_rows == len(rows)
        shares += rows
    assert sorted(shares) == list(range(len(data.validation)))


def test_nothing_learned_is_an_error(examples: Path) -> None:
    params = small_params(learning_rate=1e-12, head_learning_rate=1e-12)
    with pytest.raises(TrainingError, match=r"candidates\.transformer: nothing was learned"):
        fitting.fit(build_learner(params, "transformer", examples), params, "transformer")


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_gradients_are_clipped_in_either_precision(
    precision: str, examples: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    params = small_params()
    params = params.model_copy(
        update={"training": params.training.model_copy(update={"precision": precision})}
    )
    learner = replace(build_learner(params, "transformer", examples), gradient_clip=0.01)
    norms: list[float] = []

    step = torch.optim.AdamW.step

    def measure(optimizer: torch.optim.AdamW) -> object:
        gradients = [
            weight.grad for weight in learner.module.parameters() if weight.grad is not None
        ]
        norms.append(float(torch.nn.utils.get_total_norm(gradients)))
        return step(optimizer)

    monkeypatch.setattr(torch.optim.AdamW, "step", measure)
    fitting.fit(learner, params, "transformer")
    assert len(norms) == 21
    assert max(norms) == pytest.approx(0.01, rel=1e-3)


def test_a_finished_training_is_not_repeated_until_it_is_cleaned_up(examples: Path) -> None:
    def count_steps() -> int:
        learner = build_learner(small_params(), "linear", examples)
        training_step = learner.module.training_step
        calls = []

        def count_call(*arguments: object) -> torch.Tensor:
            calls.append(1)
            return training_step(*arguments)

        learner.module.training_step = count_call
        fitting.fit(learner, small_params(), "linear")
        return len(calls)

    assert count_steps() == 21
    assert count_steps() == 0
    remove_checkpoints("linear")
    assert not list(layout.CHECKPOINTS.iterdir())
    assert count_steps() == 21


def test_another_seed_starts_afresh_and_drops_what_it_replaces(examples: Path) -> None:
    for seed in (1, 2):
        params = small_params().model_copy(update={"seed": seed})
        fitting.fit(build_learner(params, "linear", examples), params, "linear")
    assert len(list(layout.CHECKPOINTS.iterdir())) == 1


def test_a_control_of_more_rows_starts_afresh(examples: Path) -> None:
    def locate(name: str, max_rows: int) -> Path:
        params = small_params()
        own = {name: params.candidates["linear"]}
        control = params.control.model_copy(update={"max_rows": max_rows})
        params = params.model_copy(update={"candidates": own, "control": control})
        return CheckpointStore.open(params, name).folder

    shuffled = layout.name_control("linear")
    assert locate(shuffled, 500) == locate(shuffled, 500) != locate(shuffled, 2000)
    assert locate("linear", 500) == locate("linear", 2000)


@pytest.mark.parametrize("name", ["state", "best-*"])
def test_a_checkpoint_that_is_cut_off_is_named_with_what_to_do(name: str, examples: Path) -> None:
    fitting.fit(build_learner(small_params(), "linear", examples), small_params(), "linear")
    [path] = layout.CHECKPOINTS.glob(f"*/{name}.safetensors")
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(TrainingError, match=rf"{path}: cannot be read .*; remove {path.parent} "):
        fitting.fit(build_learner(small_params(), "linear", examples), small_params(), "linear")


def test_a_device_that_is_absent_is_named() -> None:
    wanted = "mps" if torch.cuda.is_available() else "cuda"
    with pytest.raises(ParamsError, match=rf"training\.device: {wanted} is not available"):
        hardware.choose_hardware(
            Training(device=wanted, precision="auto", checkpoint_every_steps=1)
        )


@pytest.mark.parametrize(
    ("flags", "instruction_set", "expected"),
    [
        ({"avx2": True}, "AVX2", "fp32"),
        ({"avx512_f": True, "avx512_bf16": False}, "AVX512", "fp32"),
        ({"avx512_f": True, "avx512_bf16": True}, "AVX512", "bf16"),
        ({"amx_tile": True, "amx_bf16": True}, "AVX512", "bf16"),
        ({"amx_tile": True, "amx_bf16": True}, "AVX2", "fp32"),  # as ATEN_CPU_CAPABILITY asks
    ],
)
def test_the_flags_of_a_cpu_choose_the_precision(
    monkeypatch: pytest.MonkeyPatch, flags: dict[str, bool], instruction_set: str, expected: str
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: flags)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: instruction_set)
    training = Training(device="cpu", precision="auto", checkpoint_every_steps=1)
    assert hardware.choose_hardware(training).precision == expected


def test_a_resumed_run_keeps_its_precision() -> None:
    training = Training(device="cpu", precision="auto", checkpoint_every_steps=1)
    other = "bf16" if hardware.choose_hardware(training).precision == "fp32" else "fp32"
    assert hardware.choose_hardware(training, earlier=other).precision == other
