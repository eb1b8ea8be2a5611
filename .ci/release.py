"""A tag becomes a release: only of a tested commit of main, with notes from CHANGELOG.md.

`python -P .ci/release.py TAG FOLDER` checks the tag that is checked out, and writes
FOLDER/notes.md.
"""

import os
import re
import sys
from importlib.metadata import version
from pathlib import Path

from plumbline.ci.github import run_gh
from plumbline.contract.errors import PlumblineError
from plumbline.process.lineage import ask_git, run_git

CHANGELOG = Path("CHANGELOG.md")
NOTES = "notes.md"
SECTION = r"(?ms)^## \[{version}\] - \d{{4}}-\d\d-\d\d\n(.*?)(?=^## \[|\Z)"


def write_notes(tag: str, folder: Path) -> Path:
    """Write the notes of the release; their links lead to the files of this tag.

    Raises PlumblineError for a tag that must not be released.
    """
    number = tag.removeprefix("v")
    if number != version("plumbline"):
        raise PlumblineError(
            f"tag {tag}: pyproject.toml has version {version('plumbline')}; "
            "set it there, commit, and tag that commit vX.Y.Z"
        )
    _require_tested_commit(tag)
    notes = extract_section(CHANGELOG.read_text(encoding="utf-8"), number)
    address = f"{os.environ['GITHUB_SERVER_URL']}/{os.environ['GITHUB_REPOSITORY']}/blob/{tag}/"
    path = folder / NOTES
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(re.sub(r"\]\((?![a-z]+:|#)", f"]({address}", notes), encoding="utf-8")
    return path


def extract_section(changelog: str, number: str) -> str:
    """Return what the changelog says of a version; raises PlumblineError where it says nothing."""
    match = re.search(SECTION.format(version=re.escape(number)), changelog)
    if match is None or not match[1].strip():
        raise PlumblineError(
            f"{CHANGELOG}: no section `## [{number}] - YYYY-MM-DD` with text; move the lines "
            "under [Unreleased] there"
        )
    return match[1].strip() + "\n"


def _require_tested_commit(tag: str) -> None:
    """Raise PlumblineError where the commit is not one of main, or its tests have not passed."""
    commit = ask_git("rev-parse", "HEAD") or ""
    if run_git("merge-base", "--is-ancestor", "HEAD", "origin/main").returncode:
        raise PlumblineError(f"tag {tag}: commit {commit[:12]} is not in main; tag one that is")
    query = ("--workflow", "ci.yml", "--commit", commit, "--status", "success")
    if run_gh("run", "list", *query, "--json", "databaseId", "--jq", "length").strip() == "0":
        raise PlumblineError(
            f"tag {tag}: the workflow ci has not passed on commit {commit[:12]}; when it has, run "
            "this job again"
        )


if __name__ == "__main__":
    try:
        sys.stdout.write(f"wrote {write_notes(sys.argv[1], Path(sys.argv[2]))}\n")
    except PlumblineError as error:
        sys.exit(f"release: {error}")
