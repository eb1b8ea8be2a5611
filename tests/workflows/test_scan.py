"""`make scan` finds secrets and vulnerable packages; what is allowed has a reason and a date."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.checkouts import ROOT
from tests.support.loopback import Answer, Request, serve_answers

LOCK = f"six==1.17.0 --hash=sha256:{'0' * 64}\n"
SECRET = f'key = "AKIA{"IOSFODNN7EXAMPLX"}"\n'
ENTRY = "- {id: AWS Access Key a.*, reason: made up, until: 2999-01-01}\n"
PACKAGE = {"name": "six", "ecosystem": "PyPI"}
RANGE = {"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "1.18"}]}
FLAW = {"id": "PYSEC-1", "affected": [{"package": PACKAGE, "ranges": [RANGE]}]}
NOWHERE = "http://127.0.0.1:9/"


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    """OSV's protocol: six 1.17.0 has a flaw at /flawed, and none elsewhere."""

    def answer(request: Request) -> Answer:
        return Answer(json.dumps({"vulns": [FLAW]} if request.path == "/flawed" else {}).encode())

    with serve_answers(answer) as address:
        yield address


def scan(folder: Path, text: str, allowed: str, osv_url: str, *reports: str) -> tuple[int, str]:
    (folder / ".ci").mkdir()
    files = {"a.py": text, "requirements.lock": LOCK, ".ci/allowed-findings.yaml": allowed}
    for name, content in files.items():
        (folder / name).write_text(content)
    for words in ("init -q", "add -A"):
        subprocess.run(["git", *words.split()], cwd=folder, check=True)
    command = [sys.executable, "-P", ROOT / ".ci/scan.py", *reports]
    env = os.environ | {"PIP_AUDIT_OSV_URL": osv_url}
    run = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    return run.returncode, run.stdout + run.stderr


@pytest.mark.slow
def test_what_is_unknown_is_not_taken_for_clean(tmp_path: Path, database: str) -> None:
    (tmp_path / "known").mkdir()
    assert scan(tmp_path / "known", SECRET, ENTRY, f"{database}/") == (0, "nothing found\n")
    (tmp_path / "unknown").mkdir()
    code, said = scan(tmp_path / "unknown", SECRET, ENTRY, NOWHERE)
    assert code == 3
    assert said.startswith("requirements.lock and the locks after it: not scanned, ")
    assert "no database of vulnerabilities answered (PIP_AUDIT_OSV_URL; " in said


@pytest.mark.slow
def test_findings_are_named_with_their_place(tmp_path: Path, database: str) -> None:
    flaw = {"id": "CVE-1", "severity": "High"}
    row = {"vulnerability": flaw, "artifact": {"name": "libc6"}}
    (tmp_path / "image.json").write_text(json.dumps({"matches": [row]}))
    code, said = scan(tmp_path, SECRET, "", f"{database}/flawed", "image.json")
    assert code == 1
    assert said.splitlines()[1:] == [
        "AWS Access Key a.py: line 1",
        "CVE-1 libc6: image.json",
        "PYSEC-1 six: 1.17.0 in requirements.lock, fixed in ['1.18']",
    ]


WANTED = "expected id, reason, until: YYYY-MM-DD; found"


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("reason: made up, ", "", f"{WANTED} {{'id': 'AWS"),
        ("2999-01-01", "2999-01-01 10:00:00", f"{WANTED} {{'id': 'AWS"),
        ("2999-01-01", "2020-01-01", "AWS Access Key a.* was allowed until 2020-01-01"),
        ("AWS Access Key a.*", "7", f"{WANTED} {{'id': 7"),
        (ENTRY, "- AWS Access Key a.*", f"{WANTED} 'AWS Access Key a.*'"),
        ("made up,", "[made up,", "no YAML: "),
        ("- {id", "{id", "expected a list of entries"),
        (ENTRY, "AWS Access Key a.*", "expected a list of entries"),
    ],
)
@pytest.mark.slow
def test_an_entry_needs_a_reason_and_a_date(
    old: str, new: str, fault: str, tmp_path: Path, database: str
) -> None:
    code, said = scan(tmp_path, "", f"# why\n{ENTRY.replace(old, new)}", database)
    assert (code, said.split(": ", 1)[0]) == (1, ".ci/allowed-findings.yaml:2")
    assert fault in said
    assert "Traceback" not in said
