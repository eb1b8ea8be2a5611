"""Bad changes to the workflows, one at a time: `make check` finds each, and nothing without one."""

import re
import shutil
import subprocess
from pathlib import Path

import check_jsonschema
import pytest
from click.testing import CliRunner
from ruamel.yaml import YAML
from tests.support.checkouts import ROOT
from tests.support.workflows.expressions import filled, holds

TITLE = "${{ github.event.pull_request.title }}"
PLANTS = {
    "a title that a stranger wrote, in a script": (
        "report.yml",
        "run: make run",
        f'run: make run && echo "{TITLE}"',
        "template-injection",
    ),
    "an input in a script": (
        "promote.yml",
        'rollback "$MODEL"',
        "rollback ${{ inputs.model }}",
        "template-injection",
    ),
    "a branch's code with the rights of main": (
        "report.yml",
        "on:\n  pull_request:",
        "on:\n  pull_request_target:",
        "dangerous-triggers",
    ),
    "an action by tag": (
        "retrain.yml",
        "checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1",
        "checkout@v7",
        "unpinned-uses",
    ),
    "all rights": (
        "promote.yml",
        "permissions: {}",
        "permissions: write-all",
        "excessive-permissions",
    ),
    "a right that is not explained": (
        "report.yml",
        "pull-requests: write # a comment",
        "pull-requests: write",
        "undocumented-permissions",
    ),
    "credentials that stay in the clone": (
        "ci.yml",
        "persist-credentials: false",
        "clean: true",
        "artipacked",
    ),
    "every secret for everybody": (
        "drift.yml",
        "  keep:\n    name: keep the registry\n",
        "  other:\n    name: other\n    uses: owner/other/.github/workflows/x.yml@main\n "
        "   secrets: inherit\n"
        "  keep:\n    name: keep the registry\n",
        "secrets-inherit",
    ),
    "a secret outside of an environment": (
        "drift.yml",
        "    environment: drift\n",
        "",
        "secrets-outside-env",
    ),
    "a cache where images are made": (
        "image.yml",
        "      - uses: docker/setup-buildx-action@",
        "      - uses: actions/cache@55cc8345863c7cc4c66a329aec7e433d2d1c52a9 # v6.1.0\n "
        "       with:\n"
        "          path: x\n          key: x\n      - uses: docker/setup-buildx-action@",
        "cache-poisoning",
    ),
    "a runner of somebody's own": (
        "retrain.yml",
        "runs-on: ubuntu-24.04",
        "runs-on: [self-hosted]",
        "self-hosted",
    ),
    "a way into the PATH of later steps": (
        "../actions/setup/action.yml",
        "run: make setup",
        'run: |\n        make setup\n        echo "$PWD/.venv/bin" >> "$GITHUB_PATH"',
        "github-env",
    ),
    "a key that does not exist": ("drift.yml", "timeout-minutes: 60", "timeout: 60", "timeout"),
    "a job that never ends": ("drift.yml", "    timeout-minutes: 60\n", "", "no timeout"),
    "a build in the job that publishes": (
        "release.yml",
        "run: gh release create",
        "run: make dist && gh release create",
        "release.yml publish: may write to the repository and runs more than it needs",
    ),
    "two versions of one action": (
        "report.yml",
        "checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1",
        "checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v6.0.2",
        "is pinned differently",
    ),
}


def faults(folder: Path) -> str:
    """What is wrong with the workflows in `folder`: linters of `make check`, and checks below."""
    audit = ["zizmor", "--offline", "--persona", "auditor", "--no-progress", "--quiet", str(folder)]
    done = subprocess.run(audit, capture_output=True, text=True, check=False)
    found = [done.stdout + done.stderr] if done.returncode else []
    found += match_schema("vendor.github-workflows", *folder.glob("workflows/*.yml"))
    found += match_schema("vendor.github-actions", *folder.glob("actions/*/action.yml"))
    return "\n".join([*found, *pinned_differently(folder), *endless(folder), *unlocked(folder)])


def match_schema(name: str, *files: Path) -> list[str]:
    """What check-jsonschema says against the files; in this process, which imports it once."""
    paths = [str(path) for path in sorted(files)]
    result = CliRunner().invoke(check_jsonschema.main, ["--builtin-schema", name, *paths])
    return [result.output] if result.exit_code else []


def pinned_differently(folder: Path) -> list[str]:
    """Actions that the files pin to more than one commit, or one commit under two versions."""
    pins: dict[str, set[str]] = {}
    for path in folder.rglob("*.yml"):
        for name, pin in re.findall(r"uses: ([\w./-]+)@(.*)", path.read_text()):
            pins.setdefault(name, set()).add(pin)
    return [
        f"{name} is pinned differently: {sorted(found)}"
        for name, found in pins.items()
        if len(found) > 1
    ]


def endless(folder: Path) -> list[str]:
    return [
        f"{name}: no timeout"
        for name, job in jobs(folder)
        if "timeout-minutes" not in job and "uses" not in job
    ]


def unlocked(folder: Path) -> list[str]:
    """Jobs that may write to the repository and run more than make and gh."""
    writers = [
        name
        for name, job in jobs(folder)
        if {"contents", "pull-requests", "actions"}
        & {key for key, right in job.get("permissions", {}).items() if right == "write"}
        and any(
            re.search("setup|make (?!keep-registry)", str(step)) for step in job.get("steps", [])
        )
    ]
    return [f"{name}: may write to the repository and runs more than it needs" for name in writers]


def jobs(folder: Path) -> list[tuple[str, dict]]:
    parsed = {
        path: YAML(typ="safe").load(path.read_text())
        for path in sorted(folder.glob("workflows/*.yml"))
    }
    return [
        (f"{path.name} {name}", job)
        for path, found in parsed.items()
        for name, job in found["jobs"].items()
    ]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The files under .github, to be spoiled."""
    shutil.copytree(ROOT / ".github", tmp_path / ".github")
    return tmp_path / ".github"


def test_there_is_nothing_to_find(copy: Path) -> None:
    assert faults(copy).strip() == ""


@pytest.mark.parametrize("plant", PLANTS)
def test_each_plant_is_found(copy: Path, plant: str) -> None:
    name, old, new, said = PLANTS[plant]
    path = copy / "workflows" / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    assert said in faults(copy)


def test_a_job_that_may_write_installs_nothing(copy: Path) -> None:
    path = copy / "workflows" / "retrain.yml"
    text = path.read_text()
    at = text.index("      contents: read\n")
    path.write_text(
        text[:at]
        + "      contents: write # to be bold\n"
        + text[at + len("      contents: read\n") :]
    )
    assert "retrain.yml submit: may write to the repository and runs more than it needs" in faults(
        copy
    )


def test_a_runner_that_a_variable_names_trains_or_submits_and_may_write_nothing() -> None:
    named = {
        name: job for name, job in jobs(ROOT / ".github") if "vars." in str(job.get("runs-on"))
    }
    assert list(named) == ["retrain.yml submit", "retrain.yml train"]
    for job in named.values():
        assert job["permissions"] == {"contents": "read"}
        for variables, runner in (({}, "ubuntu-24.04"), ({"PLUMBLINE_RUNNER": "gpu"}, "gpu")):
            assert filled(job["runs-on"], {"vars": variables}, {}) == runner

    def list_started(ref: str, **variables: str) -> list[str]:
        known = {"github": {"ref": ref}, "vars": variables}
        passed = {"success": lambda: True}
        return [name for name, job in named.items() if holds(job["if"], known, passed)]

    main = "refs/heads/main"
    assert list_started(main) == ["retrain.yml train"]
    assert list_started(main, PLUMBLINE_SUBMIT="sbatch job.sh") == ["retrain.yml submit"]
    for variables in ({}, {"PLUMBLINE_SUBMIT": "sbatch job.sh"}):
        assert list_started("refs/pull/1/merge", **variables) == []


def test_scripts_only_call_commands(copy: Path) -> None:
    """What decides stands in commands that have tests, not in a script."""
    steps = [step for _, job in jobs(copy) for step in job.get("steps", [])]
    scripts = [step["run"] for step in steps if "run" in step]
    assert [
        run
        for run in scripts
        if not re.match(r"(make|gh|\.ci/run|\.venv/bin/(plumbline|dvc)) [^;&|\n]*$", run)
    ] == []
