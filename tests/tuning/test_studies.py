"""A trial that was killed is entered again, and counts once, as does each of its epochs."""

from pathlib import Path

import optuna
import pytest
from optuna.trial import TrialState
from tests.support.postgres import started

from plumbline.contract import layout
from plumbline.contract.errors import PlumblineError
from plumbline.tuning import studies
from plumbline.tuning.studies import ERROR, MAX_RETRIES
from plumbline.tuning.trial import report_epochs

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*interface can change"),
    pytest.mark.filterwarnings("ignore:Heartbeat of storage is supposed"),
]


@pytest.fixture
def study(tmp_path: Path) -> optuna.Study:
    return optuna.create_study(storage=studies.open_storage(f"sqlite:///{tmp_path}/studies.db"))


def leave_trial(study: optuna.Study) -> optuna.Trial:
    """Begin a trial that is killed after its first epoch."""
    trial = study.ask()
    trial.suggest_float("rate", 0, 1)
    trial.report(0.5, 1)
    return trial


def check_that_a_trial_goes_on(study: optuna.Study) -> None:
    left = leave_trial(study)
    studies.enter_lost_again(study, is_shared=False)
    (waiting,) = studies.list_trials(study)
    assert waiting.state == TrialState.WAITING
    assert waiting.params == left.params
    assert waiting.intermediate_values == {1: 0.5}
    assert studies.find_number(waiting) == left.number
    assert studies.count_left(study, 1) == 1
    study.optimize(lambda trial: 1.0, n_trials=1)
    assert studies.count_left(study, 1) == 0
    assert len(studies.list_trials(study)) == 1


def test_a_trial_goes_on_after_a_kill(study: optuna.Study) -> None:
    check_that_a_trial_goes_on(study)


def test_a_trial_that_another_machine_runs_stays_with_it(study: optuna.Study) -> None:
    leave_trial(study)
    studies.enter_lost_again(study, is_shared=True)
    assert [trial.state for trial in study.get_trials()] == [TrialState.RUNNING]


@pytest.mark.slow
@pytest.mark.service
def test_a_trial_goes_on_in_postgresql() -> None:
    with started() as server:
        check_that_a_trial_goes_on(
            optuna.create_study(storage=studies.open_storage(server.uri), study_name="line")
        )


@pytest.mark.parametrize("is_shared", [False, True])
def test_a_trial_goes_on_after_ctrl_c(study: optuna.Study, is_shared: bool) -> None:
    def interrupt(trial: optuna.Trial) -> float:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        study.optimize(interrupt, n_trials=1)
    studies.enter_lost_again(study, is_shared=is_shared)
    assert [trial.state for trial in studies.list_trials(study)] == [TrialState.WAITING]


def test_a_trial_that_is_always_killed_ends(study: optuna.Study) -> None:
    leave_trial(study)
    for _ in range(MAX_RETRIES):
        studies.enter_lost_again(study, is_shared=False)
        study.ask()
    studies.enter_lost_again(study, is_shared=False)
    (trial,) = studies.list_trials(study)
    assert studies.describe_state(trial) == "failed: it was killed again and again"
    assert studies.count_left(study, 1) == 0


@pytest.mark.parametrize(("failing", "left"), [(0, 0), (1, 18)])
def test_a_search_whose_first_trial_failed_is_over(
    study: optuna.Study, failing: int, left: int
) -> None:
    def fail(trial: optuna.Trial) -> float:
        if trial.number == failing:
            trial.set_user_attr(ERROR, "no such metric")
            raise ValueError("no such metric")
        return 1.0

    study.optimize(fail, n_trials=2, catch=(ValueError,))
    assert studies.count_left(study, 20) == left
    assert (studies.find_first_error(study) == "no such metric") == (failing == 0)


def test_a_storage_that_cannot_be_opened_is_named() -> None:
    with pytest.raises(PlumblineError, match="--storage: cannot be opened"):
        studies.open_storage("postgresql+psycopg2://nobody@/none?host=/nowhere")


CURVE = "epoch,train/loss,validation/loss,validation/accuracy\n1,2.0,1.5,0.4\n2,1.0,0.9,0.7\n"


@pytest.fixture
def trial(folder: Path) -> optuna.Trial:
    """A trial whose training has written two epochs."""
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
