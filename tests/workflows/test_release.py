"""A tag becomes a release: from the commit's tests to the wheel and its notes."""

import importlib.util
import re
import tomllib
from pathlib import Path

import pytest
from tests.support.checkouts import ROOT, make_checkout
from tests.support.workflows.runner import Hosting, Job

from plumbline.contract.errors import PlumblineError

spec = importlib.util.spec_from_file_location("release", ROOT / ".ci/release.py")
assert spec is not None
assert spec.loader is not None
release = importlib.util.module_from_spec(spec)
spec.loader.exec_module(release)

CHANGELOG = """# Changelog

## [Unreleased]

### Added
- Not yet.

## [0.1.0] - 2026-11-23

### Added
- `plumbline drift`: [how](docs/how-to/drift.md#how), [there](https://example.org), [below](#fixed).

## [0.0.9] - 2026-10-01

- The first.

## [0.0.8] - 2026-09-01
"""


def test_notes_are_the_section_of_the_version() -> None:
    notes = release.extract_section(CHANGELOG, "0.1.0")
    assert notes.startswith("### Added\n- `plumbline drift`")
    assert "Not yet" not in notes
    assert "The first" not in notes
    assert release.extract_section(CHANGELOG, "0.0.9") == "- The first.\n"


@pytest.mark.parametrize("version", ["0.0.8", "0.2.0", "0x1.0", "Unreleased"])
def test_a_version_of_which_nothing_is_said_is_refused(version: str) -> None:
    with pytest.raises(PlumblineError, match=re.escape(f"no section `## [{version}] - YYYY")):
        release.extract_section(CHANGELOG, version)


def test_the_changelog_has_the_version_of_this_checkout() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert release.extract_section(changelog, project["version"])
    assert changelog.index("## [Unreleased]") < changelog.index(f"## [{project['version']}]")


@pytest.fixture(scope="module")
def hosting(tmp_path_factory: pytest.TempPathFactory) -> Hosting:
    origin = make_checkout(tmp_path_factory.mktemp("origin"))
    (origin.path / "CHANGELOG.md").write_text(CHANGELOG)
    origin.commit("a version")
    return Hosting(origin, tmp_path_factory.mktemp("hosting"))


def pass_tests(hosting: Hosting) -> None:
    """Let the workflow ci have passed on the last commit."""
    head = hosting.origin.head
    (hosting.hub / "passed").write_text(head)


def push_tag(hosting: Hosting, tag: str) -> dict[str, Job]:
    public = {"repository": {"visibility": "public"}}
    return hosting.run("release", ref=f"refs/tags/{tag}", ref_name=tag, event=public)


def results(jobs: dict[str, Job]) -> list[str]:
    return [jobs[name].result for name in ("wheel", "images", "publish")]


@pytest.mark.slow
def test_a_tag_of_a_tested_commit_is_released_and_no_other(hosting: Hosting) -> None:
    refused = ["failure", "skipped", "skipped"]
    jobs = push_tag(hosting, "v0.1.0")
    assert results(jobs) == refused
    assert "tag v0.1.0: the workflow ci has not passed on commit" in jobs["wheel"].log
    pass_tests(hosting)
    jobs = push_tag(hosting, "v0.2.0")
    assert results(jobs) == refused
    assert "tag v0.2.0: pyproject.toml has version 0.1.0; set it there" in jobs["wheel"].log
    assert hosting.told("releases") == []

    jobs = push_tag(hosting, "v0.1.0")
    assert results(jobs) == ["success"] * 3, jobs["wheel"].log + jobs["publish"].log
    ((tag, notes, files),) = hosting.told("releases")
    assert (tag, files) == ("v0.1.0", ["plumbline-0.1.0-py3-none-any.whl"])
    address = "https://github.com/owner/router/blob/v0.1.0/docs/how-to/drift.md#how"
    assert f"[how]({address}), [there](https://example.org), [below](#fixed)." in notes


@pytest.mark.slow
def test_a_tag_beside_main_is_refused(hosting: Hosting, tmp_path: Path) -> None:
    """The clone has the commit of the tag; main is another one."""
    origin = hosting.origin
    pass_tests(hosting)
    origin.run("git", "switch", "-qc", "aside")
    (origin.path / "extra.txt").write_text("a commit that nobody reviewed\n")
    origin.commit("aside")
    pass_tests(hosting)
    try:
        jobs = push_tag(hosting, "v0.1.0")
    finally:
        origin.run("git", "switch", "-q", "main")
    assert results(jobs) == ["failure", "skipped", "skipped"]
    assert "is not in main; tag one that is" in jobs["wheel"].log
