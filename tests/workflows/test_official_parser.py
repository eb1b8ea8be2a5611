"""GitHub's own language service and evaluator read the workflows."""

import re
import shutil
from pathlib import Path

from ruamel.yaml import YAML
from tests.support.checkouts import ROOT
from tests.support.workflows.github_parser import check_files, fill, holds

WORKFLOWS = sorted(ROOT.glob(".github/workflows/*.yml"))
ACTIONS = sorted(ROOT.glob(".github/actions/*/action.yml"))


def test_the_workflows_have_no_fault() -> None:
    assert check_files(*WORKFLOWS, *ACTIONS) == []


def test_a_fault_is_found(tmp_path: Path) -> None:
    shutil.copytree(ROOT / ".github", tmp_path / ".github")
    path = tmp_path / ".github/workflows/promote.yml"
    path.write_text(path.read_text().replace("steps.packed.outputs", "steps.pakced.outputs", 1))
    (fault,) = check_files(path)
    assert "pakced" in fault


def test_every_variable_and_secret_is_on_the_page_of_github() -> None:
    page = (ROOT / "docs/how-to/github.md").read_text(encoding="utf-8")
    named = {
        name
        for path in WORKFLOWS
        for name in re.findall(r"\b(?:vars|secrets)\.(\w+)", path.read_text())
    }
    assert [name for name in sorted(named) if f"`{name}`" not in page] == []


def test_what_starts_no_training_cancels_none_that_waits() -> None:
    """What may run for hours waits for what may, and a run that does nothing for nobody."""
    workflow = YAML(typ="safe").load((ROOT / ".github/workflows/retrain.yml").read_text())
    group, condition = workflow["concurrency"]["group"], workflow["jobs"]["newest"]["if"]
    for ref, expected in (("refs/heads/main", "registry"), ("refs/heads/mine", "12")):
        known = {"github": {"ref": ref, "run_id": "12"}, "vars": {}}
        assert fill({"group": group}, known, is_fine=True) == {"group": expected}
        assert holds(condition, known, is_fine=True) == (expected == "registry")
