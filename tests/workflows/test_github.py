"""What commands publish in a workflow, also with hostile texts; and failures of `gh`."""

import json
from pathlib import Path

import pytest
from tests.support.workflows.runner import HUB, parsed_outputs, write_reviews

from plumbline.ci import github, kept_registry
from plumbline.contract.errors import PlumblineError, RefusedError, RegistryError


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A job's surroundings: its files, and a `gh` on PATH whose service lies in a folder."""
    (tmp_path / "gh").write_text(f'#!/bin/sh\nexec python3 "{HUB}" "$@"\n')
    (tmp_path / "gh").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("HUB", str(tmp_path))
    monkeypatch.setenv("GH_TOKEN", json.dumps({"contents": "read", "actions": "read"}))
    for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_REPOSITORY", "owner/router")
    monkeypatch.setenv("GITHUB_RUN_ID", "7")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return tmp_path


def test_a_value_sets_no_other_output(job: Path) -> None:
    told = "keep\nend\nverdict<<end\npromote\nend\nbundle=1"
    github.set_outputs(reason=told, verdict="keep")
    assert parsed_outputs((job / "GITHUB_OUTPUT").read_text()) == {
        "reason": told,
        "verdict": "keep",
    }


def test_an_annotation_is_one_command(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    github.annotate("error", "a,b:c", "50 % wrong\r\n::add-mask::x\n")
    written = capsys.readouterr().out
    assert written == "::error title=a%2Cb%3Ac::50 %25 wrong %0A: :add-mask::x%0A\n"


def test_an_approval_names_who_gave_it_and_needs_a_run(
    job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reviews(*found: tuple[str, str]) -> None:
        write_reviews(job / "7.json", *((who, "production", state) for who, state in found))

    (job / "author").write_text("lin\n")
    assert github.describe_approval("", "c0ffee") == "run 7"  # a person's own run
    for found in ((), (("grace", "rejected"),), (("ada", "approved"), ("lin", "approved"))):
        reviews(*found)
        with pytest.raises(RefusedError, match="somebody else has to"):
            github.describe_approval("ada", "c0ffee")
    reviews(("ada", "approved"), ("grace", "approved"))
    both = "approved by ada: looked at it; approved by grace: looked at it; run 7"
    assert github.describe_approval("ada", "c0ffee") == both
    monkeypatch.setenv("GH_TOKEN", "{}")
    with pytest.raises(RegistryError, match=r"gh api .* failed: HTTP 403"):
        github.describe_approval("ada", "c0ffee")
    monkeypatch.delenv("GITHUB_RUN_ID")
    with pytest.raises(PlumblineError, match="is for a job of CI"):
        github.describe_approval("ada", "c0ffee")


def test_no_registry_is_something_else_than_no_answer(
    job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kept_registry.find_newest() is None
    assert kept_registry.name_next(None) == "registry-000001.tar"
    (job / "release").mkdir()
    for name in ("registry-000009.tar", "registry-000010.tar", "registry-99.tar", "other.tar"):
        (job / "release" / name).write_text("a registry")
    assert kept_registry.find_newest() == "registry-000010.tar"
    assert kept_registry.name_next("registry-000010.tar") == "registry-000011.tar"
    monkeypatch.setenv("GH_TOKEN", "{}")
    with pytest.raises(RegistryError, match="gh release view failed: HTTP 403"):
        kept_registry.find_newest()
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(RegistryError, match="GitHub's command `gh`"):
        kept_registry.find_newest()


@pytest.mark.slow
def test_twenty_registries_are_kept_and_only_a_registry_is(
    job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GH_TOKEN", json.dumps({"contents": "write"}))
    folder = job / "kept"
    folder.mkdir()
    for number in range(1, 24):
        (folder / f"registry-{number:06}.tar").write_text("a registry")
        assert kept_registry.keep(folder) == f"registry-{number:06}.tar"
        (folder / f"registry-{number:06}.tar").unlink()
    names = sorted(path.name for path in (job / "release").iterdir())
    assert (len(names), names[0], names[-1]) == (20, "registry-000004.tar", "registry-000023.tar")
    (folder / "registry-000024.tar").symlink_to(job / "release" / names[0])
    with pytest.raises(RegistryError, match=r"expected one file registry-N\.tar"):
        kept_registry.keep(folder)
