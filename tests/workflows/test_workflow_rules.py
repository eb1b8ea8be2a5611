"""What no linter of `make check` asks of the workflows."""

import re

from ruamel.yaml import YAML
from tests.support.checkouts import ROOT
from tests.support.workflows.github_parser import fill, holds

FOLDER = ROOT / ".github"
INSTALLS = r"setup|make (?!keep-registry)"
JOBS = {
    f"{path.name} {name}": job
    for path in sorted(FOLDER.glob("workflows/*.yml"))
    for name, job in YAML(typ="safe").load(path.read_text())["jobs"].items()
}


def test_every_job_ends() -> None:
    endless = [name for name, job in JOBS.items() if not {"timeout-minutes", "uses"} & set(job)]
    assert endless == []


def test_a_job_that_may_write_to_the_repository_installs_and_builds_nothing() -> None:
    scopes = ("contents", "pull-requests", "actions")
    writers = {
        name: str(job["steps"])
        for name, job in JOBS.items()
        if any(job.get("permissions", {}).get(scope) == "write" for scope in scopes)
    }
    assert writers
    assert [n for n, steps in writers.items() if re.search(INSTALLS, steps)] == []


def test_what_github_has_in_public_repositories_alone_is_asked_for_there_alone() -> None:
    steps = [step for job in JOBS.values() for step in job.get("steps", [])]
    attests = [step["if"] for step in steps if step.get("uses", "").startswith("actions/attest@")]
    assert set(attests) == {"github.event.repository.visibility == 'public'"}


def test_a_push_cancels_no_images_of_a_release() -> None:
    """Of those that wait in one group, GitHub keeps the newest; a called workflow is in its own."""
    group = YAML(typ="safe").load((FOLDER / "workflows/image.yml").read_text())["concurrency"]
    refs = ("refs/heads/main", "refs/tags/v0.1.0")
    groups = {fill(group, {"github": {"ref": ref}}, is_fine=True)["group"] for ref in refs}
    assert len(groups) == 2


def test_scripts_only_call_commands() -> None:
    """What decides is in commands that have tests, not in a script."""
    scripts = [
        step["run"] for job in JOBS.values() for step in job.get("steps", []) if "run" in step
    ]
    command = r"(make|gh|\.ci/run|\.venv/bin/(plumbline|dvc)) [^;&|\n]*$"
    assert [run for run in scripts if not re.match(command, run)] == []


def test_the_region_of_the_object_store_is_a_variable() -> None:
    """Of jobs with the key of a store; AWS's libraries read AWS_DEFAULT_REGION alone."""
    jobs = [job["env"] for job in JOBS.values() if "AWS_ACCESS_KEY_ID" in job.get("env", {})]
    assert jobs
    for env in jobs:
        for variables, region in (({}, "us-east-1"), ({"AWS_REGION": "eu-north-1"}, "eu-north-1")):
            filled = fill({"it": env["AWS_DEFAULT_REGION"]}, {"vars": variables}, is_fine=True)
            assert filled["it"] == region


def test_a_runner_that_a_variable_names_trains_or_submits_and_may_write_nothing() -> None:
    named = {name: job for name, job in JOBS.items() if "vars." in str(job.get("runs-on"))}
    assert list(named) == ["retrain.yml submit", "retrain.yml train"]
    for job in named.values():
        assert job["permissions"] == {"contents": "read"}
        for variables, runner in (({}, "ubuntu-24.04"), ({"PLUMBLINE_RUNNER": "gpu"}, "gpu")):
            assert fill({"on": job["runs-on"]}, {"vars": variables}, is_fine=True)["on"] == runner

    def list_started(later: str, **variables: str) -> list[str]:
        known = {"needs": {"newest": {"outputs": {"later": later}}}, "vars": variables}
        return [name for name, job in named.items() if holds(job["if"], known, is_fine=True)]

    assert list_started("false") == ["retrain.yml train"]
    assert list_started("false", PLUMBLINE_SUBMIT="sbatch job.sh") == ["retrain.yml submit"]
    for variables in ({}, {"PLUMBLINE_SUBMIT": "sbatch job.sh"}):
        assert list_started("true", **variables) == []


def test_training_is_asked_for_by_the_calendar_for_drift_and_for_outcomes() -> None:
    ask = JOBS["drift.yml ask"]
    why = {"WHY": ask["steps"][0]["env"]["WHY"]}
    cases = [
        ({"due": "yes"}, "due by the calendar"),
        ({"drift": "drift"}, "drift"),
        ({"outcomes": "worse"}, "outcomes"),
        ({"outcomes": "watch", "drift": "watch"}, ""),
    ]
    for found, reason in cases:
        look = {"due": "no", "drift": "stable", "outcomes": "holds", "next": ""} | found
        known = {"needs": {"look": {"outputs": look}, "keep": {"result": "skipped"}}}
        assert holds(ask["if"], known, is_fine=True) == bool(reason)
        assert not reason or fill(why, known, is_fine=True)["WHY"] == reason


def test_who_won_a_trial_waits_for_approval_once_the_journal_is_kept() -> None:
    propose = JOBS["drift.yml propose"]
    look = {"won": "3", "model": "m", "bundle": "b", "champion": "1", "next": "next.tar"}
    for changed, kept, is_asked in (
        ({}, "success", True),
        ({"next": ""}, "skipped", True),
        ({}, "failure", False),
        ({"won": ""}, "success", False),
    ):
        needs = {"look": {"outputs": look | changed}, "keep": {"result": kept}}
        assert holds(propose["if"], {"needs": needs}, is_fine=True) is is_asked
    (step,) = propose["steps"]
    assert "gh workflow run promote.yml" in step["run"]
    known = {
        "needs": {"look": {"outputs": look}},
        "github": {"actor": "ann", "token": "t", "repository": "r"},
    }
    assert fill({"V": step["env"]["VERSION"]}, known, is_fine=True) == {"V": "3"}
