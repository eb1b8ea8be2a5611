"""A kill or a refused write at six places, and what the next run makes of what it left."""

import json

import pytest
from tests.support.checkouts import Checkout
from tests.support.faults import describe_fault

pytestmark = pytest.mark.slow
RUN = ("plumbline", "run")
SCORE = ("plumbline", "score", "models:/line@champion", "in.csv", "out.csv")
# In the order in which a first run comes to them; what was done stays done.
FAULTS = {
    "publish": (RUN, r"os.rename|data/examples( |$)|kill", 137),
    "write": (RUN, r"os.rename|reports/validation\.json|ENOSPC", 1),
    "seal": (RUN, r"os.rename|bundle\.json|kill", 137),
    "register": (RUN, "sql|INSERT INTO model_versions|kill", 137),
    "journal": (RUN, "sql|(?s)INSERT INTO plumbline_journal.*'first'|kill", 137),
    "cache": (SCORE, r"os.rename|cache/models/[0-9a-f]+\.[0-9a-f]+ |EIO", 1),
}


def test_the_next_run_continues_after_each_fault(line: Checkout) -> None:
    (line.path / "in.csv").write_text("x\n1.0\n")
    cache = {"PLUMBLINE_CACHE": str(line.path / "cache")}
    for place, (command, fault, code) in FAULTS.items():
        done = line.run(*command, code=None, **cache, **describe_fault(line, fault))
        assert done.returncode == code, f"{place}: {done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr
        if "ENOSPC" in fault:
            assert "no space left on device" in done.stderr
        if place == "journal":
            line.run(*RUN)
    line.run(*SCORE, **cache)
    _, row = (line.path / "out.csv").read_text().splitlines()
    assert float(row.split(",")[1]) == pytest.approx(3, abs=0.05)
    registered = line.read_report("registration")
    assert (registered["verdict"], registered["version"]) == ("promote", "1")
    entries = line.run("plumbline", "journal", "line", "--json").stdout.splitlines()
    assert [json.loads(entry)["action"] for entry in entries] == ["registered", "first"]
    assert "ok   outputs" in line.run("plumbline", "doctor").stdout
    assert not list(line.path.rglob("*.aside*"))
