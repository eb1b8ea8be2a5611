"""Known vulnerabilities of locked packages and of images, and secrets in tracked files.

`python -P .ci/scan.py [REPORT ...]` reads requirements*.lock, what git tracks, Grype's reports.
Exit code: 0 nothing found; 1 a finding, or a fault of the allow list; 3 no finding, but the
database of vulnerabilities (PIP_AUDIT_OSV_URL) did not answer for each lock.
"""

import json
import subprocess
import sys
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

ALLOWED, KEYS = Path(".ci/allowed-findings.yaml"), ("id", "reason", "until")
UV = (str(Path(sys.executable).with_name("uv")), "tool", "run", "--quiet")
PIP_AUDIT = ("pip-audit@2.10.0", "-s", "osv", "--disable-pip", "--desc=off", "--format=json")
Rows = list[tuple[str, str]]  # ids and places


def scan(reports: list[Path]) -> int:
    """Print what is found, and return the exit code."""
    allowed, faults = read_allowed(date.today())
    vulnerable, unknown = audit_locks()
    found = {*find_secrets(), *vulnerable, *(row for path in reports for row in read_report(path))}
    new = sorted(row for row in found if not any(fnmatchcase(row[0], key) for key in allowed))
    if new:
        faults.append(f"Remove each finding, or write its id, a reason and a date into {ALLOWED}:")
    lines = [*faults, *(f"{key}: {place}" for key, place in new), *unknown]
    sys.stdout.write("\n".join(lines or ["nothing found"]) + "\n")
    return 1 if faults else 3 if unknown else 0


def read_allowed(today: date) -> tuple[list[str], list[str]]:
    """Return the ids that are allowed today, and what is wrong with other entries."""
    try:
        entries = YAML().load(ALLOWED) or []
        start = YAML().compose(ALLOWED)
    except (YAMLError, OSError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        sys.exit(f"{ALLOWED}:{mark.line + 1 if mark else 1}: no YAML: {error}")
    if not isinstance(entries, list):
        sys.exit(f"{ALLOWED}:{start.start_mark.line + 1}: expected a list of entries")
    allowed, faults = [], []
    for number, entry in enumerate(entries):
        place = f"{ALLOWED}:{entries.lc.item(number)[0] + 1}"
        found = dict(entry) if isinstance(entry, dict) else {}
        key, reason, until = map(found.get, KEYS)
        if not (isinstance(key, str) and reason and type(until) is date):
            wanted = "expected id, reason, until: YYYY-MM-DD"
            faults.append(f"{place}: {wanted}; found {found or entry!r}")
        elif until < today:
            faults.append(f"{place}: {key} was allowed until {until}: judge it again")
        else:
            allowed.append(key)
    return allowed, faults


def audit_locks() -> tuple[Rows, list[str]]:
    """Return ids and places of vulnerabilities, and of which packages nothing is known."""
    found, unknown = [], []
    for lock in sorted(map(str, Path().glob("requirements*.lock"))):
        run = run_tool(*PIP_AUDIT, "--require-hashes", "-r", lock)
        if not run.stdout:
            why = (run.stderr.splitlines() or ["no answer"])[-1]
            return found, [
                f"{lock} and the locks after it: not scanned, as pip-audit did not start or no "
                f"database of vulnerabilities answered (PIP_AUDIT_OSV_URL; else api.osv.dev): {why}"
            ]
        for package in json.loads(run.stdout)["dependencies"]:
            if "skip_reason" in package:
                unknown.append(f"{lock}: {package['skip_reason']}")
            for flaw in package.get("vulns", []):
                place = f"{package['version']} in {lock}, fixed in {flaw['fix_versions']}"
                found.append((f"{flaw['id']} {package['name']}", place))
    return found, unknown


def find_secrets() -> Rows:
    """Return ids and places of what looks like a secret in a tracked file."""
    run = run_tool("detect-secrets@1.5.0", "scan", "--no-verify")  # verifying would send them
    if run.returncode:
        sys.exit(f"detect-secrets: {run.stderr}")
    rows = [row for rows in json.loads(run.stdout)["results"].values() for row in rows]
    return [(f"{row['type']} {row['filename']}", f"line {row['line_number']}") for row in rows]


def read_report(path: Path) -> Rows:
    """Return ids and places of the high and critical vulnerabilities of an image."""
    rows = json.loads(path.read_text(encoding="utf-8"))["matches"]
    bad = [row for row in rows if row["vulnerability"]["severity"] in {"High", "Critical"}]
    return [(f"{row['vulnerability']['id']} {row['artifact']['name']}", str(path)) for row in bad]


def run_tool(*command: str) -> subprocess.CompletedProcess[str]:
    """Run a tool of this version in an environment of its own."""
    return subprocess.run((*UV, *command), capture_output=True, text=True, check=False)


if __name__ == "__main__":
    sys.exit(scan([Path(name) for name in sys.argv[1:]]))
