"""Records of what a user sees: what runs, what is compared, and what is let pass."""

import subprocess
from pathlib import Path

from tests.support.checkouts import ROOT, get_clean_environment
from tests.support.net import list_differences, list_figures, read_figures, write_programs


def make_record(cpu_s: float, **changes: object) -> dict:
    run = {
        "exit": 0,
        "verdict": "promote",
        "gates": {"floor": {"status": "pass", "measured": 0.8}},
        "files": ["dvc.lock", "reports/evidence.json"],
        "figures": {"all": {"cpu_s": cpu_s}},
    }
    return {"machine": "one", "runs": {"quick": run | changes}}


def test_seconds_are_shown_and_do_not_count_as_a_difference() -> None:
    before, after = make_record(100.0), make_record(50.0)
    assert list_differences(before, after) == []
    (line,) = list_figures(before, after)
    assert line.split() == ["/quick/all/cpu_s", "100.000", "->", "50.000", "0.50"]


def test_a_changed_value_a_new_line_and_another_machine_are_differences() -> None:
    after = make_record(
        1.0,
        gates={"floor": {"status": "fail", "measured": 0.8}},
        files=["a_new_file", "dvc.lock", "reports/evidence.json"],
    )
    assert list_differences(make_record(1.0), after | {"machine": "other"}) == [
        "- /machine one",
        "+ /machine other",
        "+ /runs/quick/files: a_new_file ",
        "- /runs/quick/gates/floor/status pass",
        "+ /runs/quick/gates/floor/status fail",
    ]


def test_a_run_that_one_record_lacks_is_not_compared() -> None:
    before, after = make_record(1.0), make_record(1.0)
    after["runs"]["set banking77"] = {"exit": 1, "figures": {}}
    assert list_differences(before, after) == []
    assert len(list_figures(before, after)) == 1


def test_programs_need_no_path_and_record_what_a_stage_used(tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    write_programs(programs)
    assert read_figures(programs) == {}  # of a run that ended before its first stage
    environment = {**get_clean_environment(), "PATH": str(programs), "PYTHONPATH": f"{ROOT}/src"}
    for command in (["plumbline", "--version"], ["python", "-c", "pass"]):
        subprocess.run(command, env=environment, check=True)
    assert list(read_figures(programs)) == ["pass"]
