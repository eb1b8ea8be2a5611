"""The life of a model in the workflows: each `run:` in bash, with real DVC, MLflow, plumbline.

Each test continues where the one before ended, as days in the life of one repository.
"""

import json
import re
from pathlib import Path

import pytest
from tests.support.checkouts import Checkout
from tests.support.signing_keys import write_keys
from tests.support.workflows.hub import BEGUN
from tests.support.workflows.runner import BOT, Hosting, Job, name_candidate, write_requests

pytestmark = pytest.mark.slow
WEAK, BETTER, ALIKE = (
    "{kind: gradient, learning_rate: 0.05, max_epochs: 9}",
    "{kind: least_squares}",
    "{kind: gradient, learning_rate: 0.05, max_epochs: 14}",
)


@pytest.fixture(scope="module")
def hosting(line: Checkout, tmp_path_factory: pytest.TempPathFactory) -> Hosting:
    """A repository of lines with one candidate, hosted where nothing was set up."""
    name_candidate(line, WEAK)
    return Hosting(line, tmp_path_factory.mktemp("hosting"))


def change(hosting: Hosting, old: str, new: str) -> None:
    """A push that replaces something in params.yaml."""
    hosting.origin.replace("params.yaml", old, new)
    hosting.origin.commit(f"{new} instead of {old}")


def results(jobs: dict[str, Job]) -> dict[str, str]:
    return {name: job.result for name, job in jobs.items()}


@pytest.fixture
def champion(hosting: Hosting, tmp_path: Path) -> "Laptop":
    return Laptop(hosting, tmp_path)


class Laptop:
    """A person's checkout, into which the registry that the workflows kept is fetched."""

    def __init__(self, hosting: Hosting, folder: Path) -> None:
        self.hosting, self.folder = hosting, folder
        self.looks = 0

    def journal(self) -> list[dict]:
        """The decisions that were kept last."""
        self.looks += 1
        clone = self.folder / f"laptop{self.looks}"
        here = self.hosting.origin.path
        self.hosting.origin.run("git", "clone", "-q", str(here), str(clone))
        there = {
            "PATH": f"{self.hosting.bin}:{self.hosting.origin.environment['PATH']}",
            "PYTHONPATH": str(here / "src"),
            "HUB": str(self.hosting.hub),
            "GH_TOKEN": json.dumps({"contents": "read"}),
        }
        script = f"cd {clone} && plumbline registry unpack >&2 && plumbline journal line --json"
        said = self.hosting.origin.run("bash", "-ec", script, **there).stdout
        return [json.loads(row) for row in said.splitlines()]

    def version(self) -> str:
        return [entry["version"] for entry in self.journal() if entry["previous"]][-1]


def test_a_fork_with_nothing_set_up_trains_reports_and_keeps_its_registry(
    hosting: Hosting, champion: Laptop
) -> None:
    runs = hosting.hub / "runs.json"
    for status in ("pending", "queued"):  # at the front of those that wait, or behind
        runs.write_text(json.dumps([(9, status), (2, "in_progress")]))
        assert {"skipped"} == set(results(hosting.run("retrain")).values()) - {"success"}
    assert hosting.kept() == []  # a later run trains for both
    runs.write_text(json.dumps([(9, "completed"), (1, "pending")]))  # the first one, run again
    jobs = hosting.run("retrain")
    ended = {"newest": "success", "train": "success", "keep": "success"}
    assert results(jobs) == {"submit": "skipped", "ask": "skipped"} | ended
    trained = jobs["train"].outputs
    assert (trained["verdict"], trained["waits"]) == ("promote", "no")  # the first champion
    assert "## Promote: only may be promoted" in jobs["train"].summary
    assert "::notice title=promote::" in jobs["train"].log
    assert hosting.kept() == ["registry-000001.tar"]
    assert champion.version() == "1"


@pytest.mark.parametrize(
    "reviews",
    [
        (),
        (("grace", "production", "rejected"),),
        (("grace", "training", "approved"),),
        (("ada", "production", "approved"),),
        (("lin", "production", "approved"),),
    ],
    ids=["nobody", "rejected", "another environment", "who pushed", "who wrote the commit"],
)
def test_what_nobody_else_approved_is_not_promoted(
    hosting: Hosting, champion: Laptop, reviews: tuple
) -> None:
    if not hosting.told("asked"):
        hosting.variables["DVC_REMOTE"] = str(hosting.folder / "remote")
        change(hosting, WEAK, BETTER)
        jobs = hosting.run("retrain")
        outputs = jobs["train"].outputs
        assert (outputs["verdict"], outputs["waits"]) == ("promote", "yes")
        assert "It waits for approval" in jobs["train"].summary
        (hosting.hub / "author").write_text("lin")
    before = hosting.kept()
    hosting.approve(*reviews)
    jobs = hosting.run_asked()
    assert results(jobs) == {"decide": "failure", "keep": "skipped"}
    assert "was asked for by ada, on a commit of lin, and approved by" in jobs["decide"].log
    assert hosting.kept() == before
    assert champion.version() == "1"


def test_what_is_not_what_was_approved_is_not_promoted(hosting: Hosting) -> None:
    inputs = hosting.told("asked")[-1][1]
    for changed in ({"bundle": "0" * 64}, {"expect": "none"}, {"bundle": ""}):
        hosting.approve(("grace", "production", "approved"))
        jobs = hosting.run("promote", inputs | changed, event_name="workflow_dispatch", actor=BOT)
        assert results(jobs) == {"decide": "failure", "keep": "skipped"}
        assert "Traceback" not in jobs["decide"].log


def test_an_approval_promotes_that_bundle(hosting: Hosting, champion: Laptop) -> None:
    hosting.approve(("grace", "production", "approved"))
    assert set(results(hosting.run_asked()).values()) == {"success"}
    last = champion.journal()[-1]
    assert (last["action"], last["version"]) == ("promote", "2")
    assert f"(says github:{BOT}, run " in last["actor"]
    assert "approved by grace: looked at it; run " in last["reason"]
    assert last["bundle"] == hosting.told("asked")[-1][1]["bundle"]


def test_a_job_that_died_after_its_decision_is_run_again(
    hosting: Hosting, champion: Laptop
) -> None:
    """Its registry is lost with the runner, or its decision is on a server: both end as before."""
    before = champion.journal()
    newest = hosting.hub / "release" / hosting.kept()[-1]
    last = before[-1]
    hosting.approve(("grace", "production", "approved"))
    run = last["reason"].rpartition("run ")[2]
    asked = hosting.told("asked")[-1][1]
    jobs = hosting.run("promote", asked, event_name="workflow_dispatch", actor=BOT, run_id=run)
    assert set(results(jobs).values()) == {"success"}
    assert champion.journal() == before
    assert hosting.kept()[-1] > newest.name


def test_evidence_is_made_anew_for_another_champion_and_training_is_spared(
    hosting: Hosting, champion: Laptop
) -> None:
    jobs = hosting.run("retrain")
    assert "epoch" not in jobs["train"].log  # pulled: the run before pushed what it had trained
    assert jobs["train"].outputs["verdict"] == "keep"  # against itself, not again against version 1
    assert champion.version() == "2"


def test_what_is_no_better_is_kept_back_and_the_run_is_green(
    hosting: Hosting, champion: Laptop
) -> None:
    change(hosting, BETTER, ALIKE)
    jobs = hosting.run("retrain")
    assert (jobs["train"].result, jobs["train"].outputs["verdict"]) == ("success", "keep")
    assert "::notice title=keep::" in jobs["train"].log
    assert results(jobs)["ask"] == "skipped"
    assert champion.version() == "2"


def test_what_is_signed_was_trained_and_not_restored(hosting: Hosting) -> None:
    assert "epoch" not in hosting.run("retrain")["train"].log
    hosting.variables["PLUMBLINE_SIGNS"] = "yes"
    hosting.secrets["PLUMBLINE_PRIVATE_KEY"] = (write_keys(hosting.folder) / "ours.pem").read_text()
    log = hosting.run("retrain")["train"].log
    del hosting.variables["PLUMBLINE_SIGNS"]
    assert re.search(r"(?s)epoch.* are signed with", log)


def test_a_refusal_is_red_and_on_record(hosting: Hosting, champion: Laptop) -> None:
    change(hosting, "floor: 0.1", "floor: 0.0001")
    jobs = hosting.run("retrain")
    assert (jobs["train"].result, jobs["train"].outputs["verdict"]) == ("failure", "refuse")
    assert "::error title=refuse::" in jobs["train"].log
    assert "- **floor**:" in jobs["train"].summary
    assert (results(jobs)["keep"], results(jobs)["ask"]) == ("success", "skipped")
    assert champion.journal()[-1]["action"] == "refuse"
    change(hosting, "floor: 0.0001", "floor: 0.1")


def test_an_error_is_red_and_says_so(hosting: Hosting, champion: Laptop) -> None:
    before = hosting.kept()
    change(hosting, "max_abs_x: 1.0", "max_abs_x: 0.5")
    jobs = hosting.run("retrain")
    assert (jobs["train"].result, jobs["train"].outputs["verdict"]) == ("failure", "error")
    assert "## Error: no verdict was reached" in jobs["train"].summary
    assert results(jobs)["ask"] == "skipped"
    assert len(hosting.kept()) == len(before) + 1
    change(hosting, "max_abs_x: 0.5", "max_abs_x: 1.0")
    change(hosting, "seed: 3", "sed: 3")
    jobs = hosting.run("retrain")
    assert jobs["train"].result == "failure"
    assert "sed: unknown key (did you mean seed?)" in jobs["train"].log
    assert "Traceback" not in jobs["train"].log
    change(hosting, "sed: 3", "seed: 3")


def test_of_two_runs_that_go_on_from_one_registry_the_second_is_told(
    hosting: Hosting, champion: Laptop
) -> None:
    def meanwhile(job: str) -> None:
        if job == "keep":
            newest = hosting.hub / "release" / hosting.kept()[-1]
            taken = f"registry-{int(newest.stem[-6:]) + 1:06}.tar"
            newest.with_name(taken).write_bytes(newest.read_bytes())

    hosting.between = meanwhile
    jobs = hosting.run("retrain")
    hosting.between = lambda name: None
    assert results(jobs)["keep"] == "failure"
    assert "another run was faster" in jobs["keep"].log
    assert "already exists" in jobs["keep"].log
    assert champion.version() == "2"


def test_what_an_artifact_brings_along_is_not_run(hosting: Hosting) -> None:
    def plant(job: str) -> None:
        if job == "keep":
            (artifact,) = (hosting.folder / f"run{hosting.runs}" / "artifacts").glob("registry-*")
            (artifact / "Makefile").write_text("keep-registry:\n\ttouch hacked\n")
            (artifact / ".venv/bin").mkdir(parents=True)

    before = hosting.kept()
    hosting.between = plant
    jobs = hosting.run("retrain")
    hosting.between = lambda name: None
    assert results(jobs)["keep"] == "failure"
    assert "expected one file registry-N.tar" in jobs["keep"].log
    assert not list(hosting.folder.rglob("hacked"))
    assert hosting.kept() == before


def test_an_upload_that_was_cut_short_stops_everybody_and_is_named(hosting: Hosting) -> None:
    cut = hosting.hub / "release" / "registry-000099.tar"
    cut.write_bytes(BEGUN)
    jobs = hosting.run("retrain")
    assert jobs["train"].result == "failure"
    assert "registry-000099.tar in the release registry is not complete" in jobs["train"].log
    assert jobs["keep"].result == "skipped"
    cut.unlink()


DECISION = {"model": "line", "version": "3", "expect": "2", "reason": "by hand", "bundle": "0" * 12}


@pytest.mark.parametrize(
    "changed",
    [
        {"model": "line; touch hacked"},
        {"version": "../3"},
        {"version": "3\ntouch hacked"},
        {"action": "rollback", "version": "1", "expect": "3"},
        {"expect": "1"},
    ],
    ids=lambda changed: " ".join(map(repr, changed.values())),
)
def test_hostile_or_wrong_inputs_decide_nothing(hosting: Hosting, changed: dict[str, str]) -> None:
    before = hosting.kept()
    jobs = hosting.run("promote", DECISION | changed)
    assert results(jobs) == {"decide": "failure", "keep": "skipped"}
    assert re.search("plumbline: |Usage:", jobs["decide"].log)
    assert "Traceback" not in jobs["decide"].log
    assert not list(hosting.folder.rglob("hacked"))
    assert hosting.kept() == before


def test_a_person_goes_back(hosting: Hosting, champion: Laptop) -> None:
    jobs = hosting.run("promote", DECISION | {"action": "rollback", "version": ""})
    assert set(results(jobs).values()) == {"success"}
    assert champion.version() == "1"
    assert champion.journal()[-1]["reason"] == "by hand"


def test_where_a_key_is_named_what_it_did_not_sign_is_not_promoted(hosting: Hosting) -> None:
    write_keys(hosting.origin.path)
    hosting.origin.commit("a public key")
    hosting.variables["PLUMBLINE_PUBLIC_KEY"] = "ours.pub"
    version = {"version": "2", "expect": "1", "bundle": hosting.told("asked")[-1][1]["bundle"]}
    jobs = hosting.run("promote", DECISION | version)
    del hosting.variables["PLUMBLINE_PUBLIC_KEY"]
    assert results(jobs) == {"decide": "failure", "keep": "skipped"}
    assert "is not signed" in jobs["decide"].log


def test_a_branch_decides_nothing(hosting: Hosting) -> None:
    for name in ("retrain", "promote", "drift", "image"):
        jobs = hosting.run(name, DECISION if name == "promote" else {}, ref="refs/heads/mine")
        assert set(results(jobs).values()) == {"skipped"}


def pull_request(owner: str) -> dict:
    return {
        "event_name": "pull_request",
        "ref": "refs/pull/5/merge",
        "event": {"pull_request": {"number": "5", "head": {"repo": {"full_name": owner}}}},
    }


def test_a_pull_request_is_told_what_it_does_to_the_model(hosting: Hosting) -> None:
    before = hosting.kept()
    jobs = hosting.run("report", **pull_request("owner/router"))
    assert set(results(jobs).values()) == {"success"}
    ((number, body),) = hosting.told("comments")
    assert number == "5"
    assert "gain" in body
    assert "What changed since the champion" in body
    assert hosting.kept() == before


def test_from_a_fork_the_report_is_on_the_page_of_the_run(hosting: Hosting) -> None:
    jobs = hosting.run("report", **pull_request("stranger/router"))
    assert results(jobs) == {"judge": "success", "post": "skipped"}
    assert "What changed since the champion" in jobs["judge"].summary
    assert len(hosting.told("comments")) == 1


def test_drift_that_lasts_asks_for_training_once(hosting: Hosting, tmp_path: Path) -> None:
    hosting.variables["PLUMBLINE_REQUESTS"] = str(tmp_path / "requests")
    write_requests(tmp_path / "requests", 9, -1.0, num_rows=20)
    before = hosting.kept()
    assert hosting.run("drift", event_name="schedule")["look"].outputs["drift"] == "too few rows"
    assert hosting.kept() == before
    said = []
    for day, low in enumerate((-1.0, 0.5, 0.5, 0.5)):
        write_requests(tmp_path / "requests", day, low)
        jobs = hosting.run("drift", event_name="schedule")
        assert (jobs["look"].result, jobs["keep"].result) == ("success", "success")
        said.append(jobs["look"].outputs["drift"])
    assert said == ["stable", "watch", "drift", "watch"]
    asked = [(name, inputs) for name, inputs in hosting.told("asked") if name == "retrain.yml"]
    assert asked == [("retrain.yml", {"reason": f"drift, see run {hosting.runs - 1}"})]
