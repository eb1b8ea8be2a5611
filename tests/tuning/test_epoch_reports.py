"""Optuna gets every epoch once, whenever its trial was killed."""

from pathlib import Path

import optuna
import pytest

from plumbline.contract import layout
from plumbline.tuning.trial import report_epochs

CURVE = "epoch,train/loss,validation/loss,validation/accuracy\n1,2.0,1.5,0.4\n2,1.0,0.9,0.7\n"


@pytest.fixture
def trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> optuna.Trial:
    """A trial whose training has written two epochs."""
    monkeypatch.chdir(tmp_path)
    layout.TRAINING.mkdir(parents=True)
    (layout.TRAINING / "linear.csv").write_text(CURVE)
    study = optuna.create_study(direction="maximize", pruner=optuna.pruners.NopPruner())
    return study.ask()


def list_reports(trial: optuna.Trial) -> dict[int, float]:
    return trial.study.get_trials()[0].intermediate_values


def test_an_epoch_that_was_not_reported_before_a_kill_is_reported(trial: optuna.Trial) -> None:
    trial.report(0.4, 1)
    report_epochs(trial, "linear", "accuracy")
    report_epochs(trial, "linear", "accuracy")
    assert list_reports(trial) == {1: 0.4, 2: 0.7}


def test_without_the_metric_the_loss_is_reported_in_its_direction(trial: optuna.Trial) -> None:
    report_epochs(trial, "linear", "macro_f1")
    assert list_reports(trial) == {1: -1.5, 2: -0.9}


def test_a_hopeless_trial_is_stopped_at_its_epoch(trial: optuna.Trial) -> None:
    trial.study.pruner = optuna.pruners.ThresholdPruner(lower=0.5)
    with pytest.raises(optuna.TrialPruned, match="epoch 1"):
        report_epochs(trial, "linear", "accuracy")
