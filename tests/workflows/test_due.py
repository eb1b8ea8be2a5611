"""Nights of a repository whose params.yaml asks for training every so many days."""

import pytest
from tests.support.checkouts import Checkout
from tests.support.workflows.runner import Hosting, Job

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def hosting(line: Checkout, tmp_path_factory: pytest.TempPathFactory) -> Hosting:
    """A repository of lines, hosted where nothing was set up and nothing trained."""
    return Hosting(line, tmp_path_factory.mktemp("hosting"))


def spend_night(hosting: Hosting) -> tuple[dict[str, Job], dict[str, str]]:
    """The jobs of one night, and what came of each."""
    jobs = hosting.run("drift", event_name="schedule")
    return jobs, {name: job.result for name, job in jobs.items()}


def test_without_the_key_nothing_is_installed_or_requested(hosting: Hosting) -> None:
    jobs, results = spend_night(hosting)
    assert results == {"look": "success", "keep": "skipped", "ask": "skipped", "propose": "skipped"}
    assert jobs["look"].steps["calendar"]["outputs"] == {"used": "no"}
    steps = jobs["look"].steps
    assert {steps[name]["outcome"] for name in ("registry", "due", "drift")} == {"skipped"}
    assert hosting.told("asked") == []


def test_a_training_that_is_due_is_requested_once_and_kept_in_the_journal(
    hosting: Hosting,
) -> None:
    hosting.origin.replace("params.yaml", "per_day: 1", "per_day: 1, every_days: 7")
    hosting.origin.run("git", "commit", "-aqm", "train every week")
    jobs, results = spend_night(hosting)
    assert results == {"look": "success", "keep": "success", "ask": "success", "propose": "skipped"}
    assert "## Training is due\n\nthe journal has no training" in jobs["look"].summary
    reason = f"due by the calendar, see run {hosting.runs}"
    assert hosting.told("asked") == [["retrain.yml", {"reason": reason}]]
    jobs, results = spend_night(hosting)
    assert results == {"look": "success", "keep": "skipped", "ask": "skipped", "propose": "skipped"}
    assert "## Training is not due\n\nthe last training is of" in jobs["look"].summary
    assert hosting.kept() == ["registry-000001.tar"]


def test_a_request_that_was_not_kept_is_none(hosting: Hosting) -> None:
    """Its entry in the journal is lost with the runner: the next night requests training."""
    (hosting.hub / "release/registry-000001.tar").unlink()
    hosting.between = lambda job: _cut_upload(hosting) if job == "keep" else None
    _, results = spend_night(hosting)
    assert results == {"look": "success", "keep": "failure", "ask": "skipped", "propose": "skipped"}
    hosting.between = lambda job: None
    hosting.variables["PLUMBLINE_REQUESTS"] = "/nowhere"  # what else is looked at takes no part
    jobs, results = spend_night(hosting)
    assert results == {
        "look": "failure",
        "keep": "success",
        "ask": "success",
        "propose": "skipped",
    }, jobs["look"].log
    assert len(hosting.told("asked")) == 2


def _cut_upload(hosting: Hosting) -> None:
    """Let the artifact hold something else than one registry."""
    (folder,) = (hosting.folder / f"run{hosting.runs}/artifacts").glob("registry-*")
    (folder / "other").write_text("")
