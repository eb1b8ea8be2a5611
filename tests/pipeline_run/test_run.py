"""`plumbline run` in a real checkout: what it refuses, restores, and says."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.checkouts import Checkout
from tests.support.faults import describe_fault

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def ran(line: Checkout) -> Checkout:
    """The line's checkout after one run."""
    line.run("plumbline", "run")
    line.commit("first")
    return line


def run(checkout: Checkout, *arguments: str, code: int = 0) -> str:
    """Run the pipeline; return what it says on standard error."""
    done = checkout.run("plumbline", "run", *arguments, code=code)
    assert "Traceback" not in done.stderr
    return done.stderr


def test_a_second_run_has_nothing_to_do_and_says_so_in_a_line(ran: Checkout) -> None:
    done = ran.run("plumbline", "run")
    trained = "train nothing, train closed, train gradient, control closed"
    assert done.stdout == f"unchanged: ingest, validate, {trained}, evaluate, register\n"
    assert done.stderr == ""


def test_outputs_that_no_cache_has_are_not_overwritten_from_a_remote(
    ran: Checkout, tmp_path: Path
) -> None:
    ran.run("dvc", "remote", "add", "--local", "--default", "store", str(tmp_path / "store"))
    ran.run("dvc", "push", "--quiet")
    run(ran, "--force", "--single-item", "evaluate")
    before = (ran.path / "reports/evidence.json").read_bytes()
    shutil.rmtree(ran.path / ".dvc/cache")
    said = run(ran, "--pull", code=1)
    assert "has no copy; `plumbline run` without --pull makes it again" in said
    assert "-f" not in said
    assert (ran.path / "reports/evidence.json").read_bytes() == before
    run(ran)
    ran.run("dvc", "remote", "remove", "--local", "store")
    assert "ok   outputs" in ran.run("plumbline", "doctor").stdout


def test_a_full_disk_is_named_where_dvc_then_fails_to_lock(ran: Checkout) -> None:
    fault = describe_fault(ran, r"open|\.dvc/tmp/rwlock w|ENOSPC")
    command = ("plumbline", "run", "--force", "--single-item", "ingest")
    said = ran.run(*command, code=1, **fault).stderr
    assert "no space left on device (ENOSPC); free space on that disk" in said
    assert "another DVC process" not in said
    run(ran)


def test_a_lock_of_dvc_that_is_cut_off_is_named_with_the_remedy(ran: Checkout) -> None:
    lock = ran.path / ".dvc/tmp/rwlock"
    lock.write_text('{"write": {"mod')
    assert "remove it (`rm .dvc/tmp/rwlock`)" in run(ran, "--force", "ingest", code=1)
    lock.unlink()
    assert run(ran) == ""


def test_a_rejection_ends_with_the_stages_own_code_and_sentence(ran: Checkout) -> None:
    params = ran.path / "params.yaml"
    before = params.read_text()
    ran.replace("params.yaml", "max_abs_x: 1.0", "max_abs_x: 0.1")
    said = run(ran, code=1)
    assert "validate: rejected by 1 check of 6" in said
    assert "Calculating" not in said  # Great Expectations' own progress
    assert "run: stopped at validate (exit code 1), which says above why; correct that, " in said
    params.write_text(before)
    run(ran)


SLEEP = """
import os, sys, time
sys.path.insert(0, "src")
import plumbline.entrypoint as entrypoint
def wait(stage, params, task, candidate=None):
    open("started", "w").write(str(os.getpid()))
    time.sleep(3600)
entrypoint.run_stage = wait
sys.exit(entrypoint.main("validate"))
"""


@pytest.fixture
def sleeping(ran: Checkout) -> Checkout:
    """A checkout in which validate sleeps, with commands that are no forks of another process."""
    path = ran.path / "pipelines/validate.py"
    before = path.read_text()
    path.write_text(SLEEP)
    yield Checkout(ran.path)
    path.write_text(before)
    (ran.path / "started").unlink(missing_ok=True)
    run(ran)


def start(checkout: Checkout, *command: str) -> tuple[subprocess.Popen[str], int]:
    """Start a command with the real programs; return it with the pid of the stage that sleeps."""
    folder = Path(sys.executable).parent
    environment = checkout.environment | {"PATH": f"{folder}:{os.environ['PATH']}"}
    process = subprocess.Popen(
        [folder / command[0], *command[1:]], cwd=checkout.path, env=environment,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    started = checkout.path / "started"
    while not (started.exists() and started.read_text()):
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.05)
    return process, int(started.read_text())


def wait_until_gone(pid: int) -> None:
    until = time.monotonic() + 600
    while time.monotonic() < until:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    pytest.fail(f"process {pid} lives on")


def test_a_stage_that_outlived_its_run_is_named(sleeping: Checkout) -> None:
    process, stage = start(sleeping, "plumbline", "run")
    process.kill()
    process.wait()
    process.stderr.close()
    assert f"another stage is running here (validate, pid {stage} on " in run(sleeping, code=1)
    os.kill(stage, signal.SIGTERM)
    wait_until_gone(stage)


def test_a_second_run_names_the_first(sleeping: Checkout) -> None:
    process, stage = start(sleeping, "plumbline", "run")
    said = run(sleeping, code=1)
    assert f"another run is at work here (plumbline run, pid {process.pid} on " in said
    done = sleeping.run(sys.executable, "-P", "pipelines/register.py", code=1)
    assert f"pid {process.pid} on " in done.stderr
    process.send_signal(signal.SIGTERM)
    assert process.wait() == 143
    wait_until_gone(stage)
    with process.stderr:
        assert "stopped at validate (exit code 143)" in process.stderr.read()


def test_a_deleted_registry_is_no_empty_one(ran: Checkout) -> None:
    database = ran.path / "mlruns/mlflow.db"
    kept = database.read_bytes()
    database.unlink()
    message = "line: the journal says that version 1 was registered, and "
    assert message in run(ran, code=1)
    assert message in ran.run("plumbline", "doctor", code=1).stdout
    assert message in ran.run("plumbline", "report", code=1).stderr
    done = ran.run("dvc", "repro", "-q", "--force", "--single-item", "register", code=255)
    assert message in done.stderr
    database.write_bytes(kept)
    assert run(ran) == ""


def test_force_measures_again_where_what_was_measured_is_behind_a_link(
    ran: Checkout, tmp_path: Path
) -> None:
    measured = ran.path / ".plumbline/measured"
    measured.rename(tmp_path / "elsewhere")
    measured.symlink_to(tmp_path / "elsewhere")
    ran.replace("params.yaml", "floor: 0.1\n", "floor: 0.2\n")
    done = ran.run("plumbline", "run", "--force", "--single-item", "evaluate")
    assert "takes what the last evaluation measured" not in done.stdout
