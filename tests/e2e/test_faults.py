"""Faults at single calls of a stage: injected where they should be, healed by the next run."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.checkouts import ROOT
from tests.support.faults.disk import is_permitted
from tests.support.faults.observation import compare
from tests.support.faults.points import Outcome, Point, Results
from tests.support.faults.site import compile_library, copy_folder, restore_folder

FAULTS = [sys.executable, "-m", "tests.support.faults"]
STAGES = ("ingest", "validate", "train", "control", "evaluate", "register")
NUM_POINTS = 4
CODE = """
import os, sys
for number in range(4):
    with open(f"new{number}", "w") as file:
        file.write("x")
    os.replace(f"new{number}", f"old{number}")
"""
needs_library = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None, reason="cc compiles what is preloaded"
)


@needs_library
@pytest.mark.parametrize(
    ("fault", "code", "names", "is_met"),
    [
        ("rename|2|kill", -signal.SIGKILL, ["new1", "old0"], True),
        ("rename|2|EIO", 1, ["new1", "old0"], True),
        ("write|3|ENOSPC", 1, ["new2", "old0", "old1"], True),
        ("rename|9|kill", 0, ["old0", "old1", "old2", "old3"], False),
    ],
)
def test_a_fault_comes_at_the_call_that_it_names(
    fault: str, code: int, names: list[str], is_met: bool, tmp_path: Path
) -> None:
    library, work = tmp_path / "preload.so", tmp_path / "work"
    compile_library(library)
    work.mkdir()
    environment = os.environ | {
        "LD_PRELOAD": str(library),
        "PLUMBLINE_FAULT": f"{work}|{tmp_path}/token|{fault}",
    }
    done = subprocess.run(
        [sys.executable, "-c", CODE], cwd=work, env=environment, capture_output=True, check=False
    )
    assert done.returncode == code
    assert sorted(path.name for path in work.iterdir()) == names
    assert bool((tmp_path / "token").stat().st_size) is is_met


def test_outcomes_are_kept_where_a_kill_cut_the_last_one_off(tmp_path: Path) -> None:
    path = tmp_path / "results"
    points = [Point("line", "ingest", "write", number, "kill") for number in (1, 2, 3)]
    results = Results(path)
    for point in points:
        results.add(Outcome(point, remains=["a file"]))
    os.truncate(path, path.stat().st_size - 9)
    kept = Results(path)
    assert list(kept.outcomes) == points[:2]
    kept.add(Outcome(points[2]))
    kept.add(Outcome(points[1]))
    assert Results(path).outcomes == kept.outcomes
    assert [outcome.is_good for outcome in kept.outcomes.values()] == [False, True, True]


def test_a_state_is_restored_whatever_became_of_it(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    names = ("kept", "changed", "removed", "now_a_folder", "folder/inside", "now_a_file/inside")
    for name in names:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(f"{name} before")
    (source / "link").symlink_to("kept")
    (source / "kept").chmod(0o444)
    copy_folder(source, target)
    kept = (target / "kept").stat().st_ino
    (target / "changed").write_text("changed, longer")
    (target / "folder/inside").write_text("FOLDER/INSIDE BEFORE")
    for name in ("removed", "now_a_folder", "link"):
        (target / name).unlink()
    shutil.rmtree(target / "now_a_file")
    (target / "now_a_file").touch()
    (target / "now_a_folder").mkdir()
    (target / "added/below").mkdir(parents=True)
    restore_folder(source, target)
    difference = ["diff", "--recursive", "--no-dereference", str(source), str(target)]
    assert subprocess.run(difference, capture_output=True, check=False).stdout == b""
    assert (target / "kept").stat().st_ino == kept
    assert (target / "kept").stat().st_mode == (source / "kept").stat().st_mode
    assert (target / "changed").stat().st_mtime_ns == (source / "changed").stat().st_mtime_ns


def test_a_time_that_two_runs_had_in_common_is_no_difference() -> None:
    first = {"reports/evidence.json:.rehearsal.longest_ms": 0.25, "journal": [["promote", 1]]}
    times = compare(first, first, [])
    disturbed = first | {"reports/evidence.json:.rehearsal.longest_ms": 0.26}
    assert compare(first, disturbed, times) == []
    assert compare(first, disturbed | {"journal": []}, times) == ["journal"]


@pytest.mark.skipif(not is_permitted(), reason="no disk can be mounted here")
def test_a_disk_is_full_at_the_page_that_it_names(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from tests.support.faults.disk import Disk, enter_own_mounts
enter_own_mounts()
folder = Path(sys.argv[1])
disk = Disk(folder)
(folder / "before").write_bytes(bytes(10_000))
disk.fill(2)
(folder / "fits").write_bytes(bytes(8192))
try:
    (folder / "full").write_bytes(bytes(1))
except OSError as error:
    print(error.strerror)
disk.free()
(folder / "full").write_bytes(bytes(1))
print(sorted(path.name for path in folder.iterdir()))
disk.close()
"""
    command = [sys.executable, "-c", code, str(tmp_path / "disk")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["No space left on device", "['before', 'fits', 'full']"]
    assert list((tmp_path / "disk").iterdir()) == []


@pytest.mark.slow
@needs_library
def test_the_next_run_heals_what_a_fault_left(tmp_path: Path) -> None:
    command = [*FAULTS, "--results", str(tmp_path / "results"), "--stages", *STAGES]
    numbers = ["--points", str(NUM_POINTS), "--flips", "20"]
    another = {"MLFLOW_TRACKING_URI": f"sqlite:///{tmp_path}/another.db"}
    done = subprocess.run(
        [*command, *numbers],
        cwd=ROOT,
        env=os.environ | another,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = (tmp_path / "results").read_text(encoding="utf-8").split("\n")[1:]
    assert [json.loads(line)["is_met"] for line in lines] == [True] * NUM_POINTS
    again = subprocess.run(
        [*command, "--points", "0", "--flips", "0"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert again.stdout in done.stdout
