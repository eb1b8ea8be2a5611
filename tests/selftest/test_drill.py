"""The drill goes through a model's whole life, and stops where something is not as it should be."""

import pytest
from tests.support.checkouts import Checkout

from plumbline.contract.errors import ParamsError
from plumbline_selftest import drill


def test_a_task_without_a_drill_is_refused() -> None:
    with pytest.raises(ParamsError, match="the task signal_extraction offers no drill"):
        drill.run("signal_extraction", print)


@pytest.mark.slow
def test_the_whole_life(checkout: Checkout) -> None:
    said = checkout.run(
        "plumbline", "selftest", "--drill", MLFLOW_TRACKING_URI="http://127.0.0.1:9"
    ).stdout  # not its own
    assert "the drill is over: 13 steps" in said
    for told in (
        "register: refused",
        "taken out of service",
        "holds: ",
        "drift: ",
        "worse: ",
        "won no trial",
        "version 3: better; gain",
        "the champion is version 3, it was 1",
    ):
        assert told in said
    assert "Traceback" not in said
    assert not (checkout.path / "mlruns/mlflow.db").exists()  # all of it happened in the clone


@pytest.mark.slow
def test_without_a_commit_it_says_what_it_needs(checkout: Checkout) -> None:
    (checkout.path / ".git").rename(checkout.path / "git")
    try:
        assert (
            "needs a git checkout with a commit"
            in checkout.run("plumbline", "selftest", "--drill", code=1).stderr
        )
    finally:
        (checkout.path / "git").rename(checkout.path / ".git")
