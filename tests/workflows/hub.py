"""A hosting service in a folder: its releases, approvals, pull requests, and who may do what with which token.

Run as `gh`, it is the command of that name as far as the workflows use it; a token holds the permissions of its job.
"""

import json
import os
import shutil
import sys
from pathlib import Path

ORDER = {"none": 0, "read": 1, "write": 2}


def main(arguments: list[str]) -> str:
    here = Path(os.environ["HUB"])
    release = here / "release"
    match arguments:
        case ["release", "view", "registry", *rest]:
            allow("contents", "read")
            if not release.is_dir():
                sys.exit("release not found")
            return "\n".join(path.name for path in sorted(release.iterdir())) if "--jq" in rest else "registry"
        case ["release", "create", "registry", *_]:
            allow("contents", "write")
            release.mkdir()
            return ""
        case ["release", "download", "registry", "--pattern", name, "--dir", folder]:
            allow("contents", "read")
            shutil.copy2(release / name, Path(folder) / name)
            return ""
        case ["release", "upload", "registry", name]:
            allow("contents", "write")
            if (release / name).exists():
                sys.exit(f"asset under the same name already exists: [{name}]")
            shutil.copy2(name, release / name)
            return ""
        case ["api", path] if path.endswith("/approvals"):
            allow("actions", "read")
            return (here / "approvals.json").read_text()
        case ["workflow", "run", name, "--ref", "main", "--field", reason]:
            allow("actions", "write")
            add(here / "asked.json", [name, reason])
            return ""
        case ["pr", "comment", number, "--body-file", body, "--edit-last", "--create-if-none"]:
            allow("pull-requests", "write")
            add(here / "comments.json", [number, Path(body).read_text()])
            return ""
        case ["pr", "view", branch, *_]:
            allow("pull-requests", "read")
            sys.exit(0 if branch in entries(here / "pulls.json") else f'no pull requests found for branch "{branch}"')
        case ["pr", "create", "--head", branch, "--fill"]:
            allow("pull-requests", "write")
            add(here / "pulls.json", branch)
            return ""
        case ["auth", "setup-git"]:
            allow("contents", "write")
            return ""
    sys.exit(f"unknown command: gh {' '.join(arguments)}")


def allow(scope: str, least: str) -> None:
    """End with the service's own refusal where the token does not reach."""
    permissions = json.loads(os.environ.get("GH_TOKEN") or "{}")
    if ORDER[permissions.get(scope, "none")] < ORDER[least]:
        sys.exit(f"HTTP 403: Resource not accessible by integration ({scope}: {least})")


def entries(path: Path) -> list:
    return json.loads(path.read_text()) if path.exists() else []


def add(path: Path, entry: object) -> None:
    path.write_text(json.dumps([*entries(path), entry]))


if __name__ == "__main__":
    sys.stdout.write(main(sys.argv[1:]) + "\n")
