"""GitHub's own parser and evaluator read the workflows."""

from pathlib import Path

import pytest
from ruamel.yaml import YAML
from tests.support.checkouts import ROOT
from tests.support.workflows.expressions import fill, find_parser, holds
from tests.support.workflows.github_parser import GitHubParser

WORKFLOWS = sorted(ROOT.glob(".github/workflows/*.yml"))
ACTIONS = sorted(ROOT.glob(".github/actions/*/action.yml"))


@pytest.fixture(scope="module")
def parser() -> GitHubParser:
    return find_parser()


def test_the_workflows_have_no_fault(parser: GitHubParser) -> None:
    assert parser.check(*WORKFLOWS, *ACTIONS) == []


def test_a_job_that_is_needed_and_missing_is_seen(parser: GitHubParser, tmp_path: Path) -> None:
    path = tmp_path / "promote.yml"
    text = (ROOT / ".github/workflows/promote.yml").read_text()
    path.write_text(text.replace("needs: decide", "needs: decided"))
    (fault,) = parser.check(path)
    assert "decided" in fault


def test_what_starts_no_training_cancels_none_that_waits() -> None:
    """Of the runs of one group only the newest waits: those that do nothing have their own."""
    workflow = YAML(typ="safe").load((ROOT / ".github/workflows/retrain.yml").read_text())
    group, condition = workflow["concurrency"]["group"], workflow["jobs"]["train"]["if"]
    for ref, expected in (("refs/heads/main", "retrain"), ("refs/heads/mine", "12")):
        known = {"github": {"ref": ref, "run_id": "12"}, "vars": {}}
        assert fill({"group": group}, known, is_fine=True) == {"group": expected}
        assert holds(condition, known, is_fine=True) == (expected == "retrain")
