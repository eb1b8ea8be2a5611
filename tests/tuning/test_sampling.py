"""The trials of a search are the same, whichever of its workers died."""

from collections.abc import Callable
from pathlib import Path

import optuna
import pytest
from tests.support.postgres import started

from plumbline.contract.errors import PlumblineError
from plumbline.contract.search import SearchDimension
from plumbline.tuning import space, studies
from plumbline.tuning.positions import GENERATION, MAX_RETRIES, RETRIES, find_position, map_attempts
from plumbline.tuning.sampling import GenerationPruner, GenerationSampler

NUM_TRIALS = 14
SHIPPED = {"rate": 0.1, "depth": 3}
SPACE = {
    "rate": SearchDimension(low=1e-4, high=1.0, log=True),
    "depth": SearchDimension(low=1, high=8),
}
KINDS = space.build_distributions(SPACE, SHIPPED)
Trials = dict[int, tuple[dict[str, object], str, float | None]]


def score(trial: optuna.Trial) -> float:
    """Report three epochs that approach a score, which Optuna may prune."""
    values = space.suggest_values(trial, KINDS)
    final = -abs(values["rate"] - 0.02) - abs(values["depth"] - 5) / 10
    for epoch in (1, 2, 3):
        trial.report(final - 1 / epoch, epoch)
        if trial.should_prune():
            raise optuna.TrialPruned
    return final


def search(
    folder: Path, stop: Callable[[optuna.Trial, int], None], name: str = "tpe", url: str = ""
) -> optuna.Study:
    """Run a whole search; `stop` is called in each trial with the number of calls so far."""
    storage = studies.open_storage(url or f"sqlite:///{folder}/studies.db")
    study = studies.open_study(
        storage,
        name,
        "maximize",
        sampler=GenerationSampler("random" if name == "random" else "tpe", 7, SHIPPED, KINDS),
        pruner=GenerationPruner(),
    )
    calls: list[int] = []

    def objective(trial: optuna.Trial) -> float:
        calls.append(trial.number)
        stop(trial, len(calls))
        return score(trial)

    while True:
        try:
            if studies.run_next(storage, study, NUM_TRIALS, objective) is None:
                return study
        except (KeyboardInterrupt, SystemExit):
            continue


def describe(study: optuna.Study) -> Trials:
    attempts = map_attempts(study.get_trials())
    return {
        position: (trial.params, trial.state.name, trial.value)
        for position, trial in sorted(attempts.items())
    }


def go_on(trial: optuna.Trial, call: int) -> None:
    """Stop nothing."""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Trials:
    return describe(search(tmp_path_factory.mktemp("study"), go_on))


def test_the_first_trial_is_what_params_say(undisturbed: Trials) -> None:
    assert len(undisturbed) == NUM_TRIALS
    assert undisturbed[0][0] == SHIPPED
    assert {state for _, state, _ in undisturbed.values()} == {"COMPLETE", "PRUNED"}


def test_a_trial_that_was_interrupted_is_taken_up_again(
    tmp_path: Path, undisturbed: Trials
) -> None:
    def interrupt(trial: optuna.Trial, call: int) -> None:
        if call in (2, 8):
            raise KeyboardInterrupt

    study = search(tmp_path, interrupt)
    assert describe(study) == undisturbed
    assert sum(RETRIES in trial.system_attrs for trial in study.get_trials()) == 2


@pytest.mark.slow
@pytest.mark.service
def test_the_same_trials_in_postgresql(tmp_path: Path, undisturbed: Trials) -> None:
    def interrupt(trial: optuna.Trial, call: int) -> None:
        if call == 3:
            raise KeyboardInterrupt

    with started() as server:
        assert describe(search(tmp_path, interrupt, url=server.uri)) == undisturbed


def test_a_storage_that_cannot_be_opened_is_named() -> None:
    with pytest.raises(PlumblineError, match="--storage: cannot be opened"):
        studies.open_storage("postgresql+psycopg2://nobody@/none?host=/nowhere")


def test_a_trial_whose_worker_is_gone_is_taken_up_again(
    tmp_path: Path, undisturbed: Trials
) -> None:
    def vanish(trial: optuna.Trial, call: int) -> None:
        if call == 7:
            host, _ = trial.user_attrs[studies.WORKER]
            trial.set_user_attr(studies.WORKER, [host, "99999999 1 of-another-boot"])
            raise SystemExit

    study = search(tmp_path, vanish)
    assert describe(study) == undisturbed
    assert sum(RETRIES in trial.system_attrs for trial in study.get_trials()) == 1


def test_a_trial_that_kills_every_worker_ends_the_search_nevertheless(tmp_path: Path) -> None:
    attempts: list[int] = []

    def die(trial: optuna.Trial, call: int) -> None:
        trials = trial.study.get_trials()
        if find_position(trials, trials[trial.number]) == 0:
            attempts.append(trial.number)
            raise KeyboardInterrupt

    trials = describe(search(tmp_path, die))
    assert len(attempts) == 1 + MAX_RETRIES
    assert trials[0][1] == "FAIL"
    assert len(trials) == NUM_TRIALS


def test_a_trial_that_fails_by_itself_is_not_repeated(tmp_path: Path) -> None:
    def fail(trial: optuna.Trial, call: int) -> None:
        if call == 3:
            trial.set_user_attr("error", "the loss was not finite")
            raise ValueError("the loss was not finite")

    study = search(tmp_path, fail)
    assert len(study.get_trials()) == NUM_TRIALS
    assert describe(study)[2][1] == "FAIL"


def test_after_a_generation_that_failed_as_a_whole_no_trial_begins(tmp_path: Path) -> None:
    def fail(trial: optuna.Trial, call: int) -> None:
        trial.set_user_attr("error", "no such metric")
        raise ValueError("no such metric")

    assert len(search(tmp_path, fail).get_trials()) == GENERATION


def test_later_generations_learn_from_earlier_ones(undisturbed: Trials, tmp_path: Path) -> None:
    random = describe(search(tmp_path, go_on, "random"))
    assert [random[n][0] for n in range(1, 5)] == [undisturbed[n][0] for n in range(1, 5)]
    assert [random[n][0] for n in range(5, 10)] != [undisturbed[n][0] for n in range(5, 10)]


def test_numbers_are_short_and_in_their_range(undisturbed: Trials) -> None:
    for params, _, _ in undisturbed.values():
        rate = params["rate"]
        assert isinstance(rate, float)
        assert 1e-4 <= rate <= 1.0
        assert float(f"{rate:.3g}") == rate
