"""GitHub's own language service and evaluator read the workflows."""

import re
import shutil
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


PLANTS = [  # file, text, what it becomes, what is said of it
    ("promote", "steps.packed.outputs", "steps.pakced.outputs", "pakced"),
    ("promote", "needs: decide", "needs: decided", "unknown job 'decided'"),
    ("promote", "decide.outputs.registry", "decide.outputs.registri", "registri"),
    ("promote", "{{ inputs.version }}\n", "{{ inputs.versoin }}\n", "versoin"),
    ("promote", "artifact: registry-decided", "artefact: registry-decided", "artefact"),
    ("promote", "contents: write", "contents: wirte", "wirte"),
    ("promote", "actions: read", "action: read", "Unexpected value 'action'"),
    ("retrain", "uses: $/.github/actions/setup", "uses: $/.github/actions/setpu", "setpu"),
    ("retrain", "== 'success' }}\n        run", "== 'success }}\n        run", "not closed"),
    ("retrain", "if: vars.DVC_REMOTE", "if: secrets.DVC_REMOTE", "'secrets'"),
    ("retrain", "id: pack\n", "id: verdict\n", "more than once"),
    ("nightly", "make ${{ matrix.word", "make ${{ matrix.wrod", "wrod"),
    ("drift", "23 4 * * *", "23 25 * * *", "Invalid cron"),
    ("drift", "timeout-minutes: 60", "timeout-minute: 60", "timeout-minute"),
    ("drift", "workflow_dispatch:", "workflow_dipatch:", "workflow_dipatch"),
    ("report", "contains(fromJSON", "contain(fromJSON", "contain"),
    ("report", "github.event.pull_request.number", "githb.event.pull_request.number", "githb"),
    ("report", "github.repository }}", "github.repositry }}", "repositry"),
    ("drift", "    runs-on: ubuntu-24.04\n    timeout", "    timeout", "missing: runs-on"),
]


def test_a_fault_is_found(parser: GitHubParser, tmp_path: Path) -> None:
    files = []
    for number, (name, old, new, _) in enumerate(PLANTS):
        shutil.copytree(ROOT / ".github", tmp_path / f"{number}/.github")
        files.append(tmp_path / f"{number}/.github/workflows/{name}.yml")
        text = files[-1].read_text()
        assert old in text, old
        files[-1].write_text(text.replace(old, new, 1))
    faults = parser.check(*files)
    for file, (_, _, new, said) in zip(files, PLANTS, strict=True):
        assert [fault for fault in faults if str(file) in fault and said in fault], new


def test_every_variable_and_secret_is_on_the_page_of_github() -> None:
    page = (ROOT / "docs/how-to/github.md").read_text(encoding="utf-8")
    named = {
        name
        for path in WORKFLOWS
        for name in re.findall(r"\b(?:vars|secrets)\.(\w+)", path.read_text())
    }
    assert [name for name in sorted(named) if f"`{name}`" not in page] == []


def test_the_region_of_the_variable_is_that_of_aws_s_library() -> None:
    session = pytest.importorskip("botocore.session")
    job = YAML(typ="safe").load((ROOT / ".github/workflows/retrain.yml").read_text())["jobs"]
    for variables, region in (({"AWS_REGION": "eu-central-1"}, "eu-central-1"), ({}, "us-east-1")):
        known = {"secrets": {}, "vars": variables}
        environment = fill(job["train"]["env"], known, is_fine=True)
        with pytest.MonkeyPatch.context() as patch:
            for key, value in environment.items():
                patch.setenv(key, value)
            client = session.Session().create_client("s3")
        assert client.meta.region_name == region


def test_what_starts_no_training_cancels_none_that_waits() -> None:
    """What may run for hours waits for what may, and a run that does nothing for nobody."""
    workflow = YAML(typ="safe").load((ROOT / ".github/workflows/retrain.yml").read_text())
    group, condition = workflow["concurrency"]["group"], workflow["jobs"]["newest"]["if"]
    for ref, expected in (("refs/heads/main", "registry"), ("refs/heads/mine", "12")):
        known = {"github": {"ref": ref, "run_id": "12"}, "vars": {}}
        assert fill({"group": group}, known, is_fine=True) == {"group": expected}
        assert holds(condition, known, is_fine=True) == (expected == "registry")
