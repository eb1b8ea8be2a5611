"""The selftest passes, and it can fail: without its gate a fault is reported as missed."""

import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.checkouts import Checkout, get_clean_environment

from plumbline import cli
from plumbline.contract.errors import BundleError, ParamsError
from plumbline.contract.loading import load_task
from plumbline.contract.task_packages import list_tasks
from plumbline.evidence import gates, judge
from plumbline_selftest import catalogue, commands, fixture, injection, selftest, states
from plumbline_selftest.gate_faults import plant_nothing
from plumbline_selftest.injection import Outcome
from plumbline_selftest.protocol import Fault, FaultSite

TASK = "text_classification"
GATE_NAMES = [gate.name for gate in gates.GATES]
FAULT = Outcome("a fault", False, "refuse", "floor", "refuse", ("floor",), True)


@pytest.mark.parametrize("task", list_tasks())
def test_names_are_unique_and_gates_exist(task: str) -> None:
    planted = catalogue.list_faults(load_task(task))
    assert Counter(fault.name for fault in planted).most_common(1)[0][1] == 1
    for fault in planted:
        if fault.verdict in ("refuse", "keep"):
            assert fault.gate in GATE_NAMES
        if fault.verdict in ("promote", "pass"):
            assert fault.gate == "none"


def test_every_gate_has_a_fault_that_it_must_refuse() -> None:
    """In some task: what is right for one is planted once."""
    tasks = map(load_task, list_tasks())
    refused = {fault.gate for task in tasks for fault in catalogue.list_faults(task)}
    assert set(GATE_NAMES) - refused == set()


def test_faults_of_a_control_are_left_out_where_nothing_can_be_shuffled() -> None:
    """The network of filter_design learns through the simulator, from no answers."""
    names = {fault.name for fault in catalogue.list_faults(load_task("filter_design"))}
    assert names.isdisjoint({"the model itself as its control", "a model of shuffled labels"})
    assert "predictions edited" in names


def test_a_task_without_faults_is_refused(line_task: object) -> None:
    with pytest.raises(ParamsError, match="the task line offers no faults to plant"):
        selftest.select_faults("line")


def test_an_unknown_task_is_refused() -> None:
    with pytest.raises(ParamsError, match=r"no task 'text_clasification' \(did you mean"):
        selftest.select_faults("text_clasification")


def test_some_can_be_picked_by_name_or_gate() -> None:
    picked = selftest.select_faults(TASK, "Champion")
    assert "the champion again" in [fault.name for fault in picked]
    assert len(picked) < len(selftest.select_faults(TASK))
    with pytest.raises(ParamsError, match=r"--only budgets: no fault .*has this in its name"):
        selftest.select_faults(TASK, "budgets")


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with params.yaml and no data."""
    folder = tmp_path / "empty"
    states.prepare_empty(folder, TASK)
    monkeypatch.chdir(folder)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return folder


def inject(plant: Callable[[FaultSite], None], gate: str, verdict: str) -> Outcome:
    fault = Fault("x", gate, verdict, plant, before="start", until="start")  # type: ignore[arg-type]
    return injection.inject_fault(fault)


@pytest.mark.filterwarnings("ignore")
def test_a_plant_that_crashes_is_not_caught_and_its_traceback_is_kept(
    empty: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def crash(site: FaultSite) -> None:
        site.edit_params("no such text", "")

    outcome = inject(crash, "none", "pass")
    assert (outcome.verdict, outcome.caught) == ("crash", False)
    assert "params.yaml does not contain 'no such text'" in outcome.failed[0]
    assert "Traceback" in capfd.readouterr().err


@pytest.mark.filterwarnings("ignore")
def test_an_error_must_have_the_expected_words(
    empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(command: str) -> None:
        raise BundleError("first line\nthe digest differs")

    monkeypatch.setattr(commands, "run_command", fail)
    assert inject(plant_nothing, "digest", "error").caught
    assert inject(plant_nothing, "digest", "error").failed == ("the digest differs",)
    assert not inject(plant_nothing, "symlink", "error").caught
    assert not inject(plant_nothing, "none", "pass").caught


def show(
    outcomes: list[Outcome], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> tuple[int, str, str]:
    """Run the command over outcomes; return exit code, stdout and stderr."""
    planted = [Fault(o.name, o.gate, "refuse", plant_nothing) for o in outcomes]
    monkeypatch.setattr(selftest, "select_faults", lambda task, only: planted)
    monkeypatch.setattr(selftest, "run", lambda task, faults, with_rates: (o for o in outcomes))
    monkeypatch.setattr("sys.argv", ["plumbline", "selftest", "--only", "a"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    streams = capsys.readouterr()
    return ended.value.code, streams.out, streams.err  # type: ignore[return-value]


def test_false_promotions_and_false_refusals_are_counted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = Outcome("a sound one", True, "promote", "none", "promote", (), True)
    assert show([FAULT, sound], capsys, monkeypatch)[0] == 0
    missed = replace(FAULT, name="a missed one", verdict="promote", caught=False, failed=())
    refused = replace(sound, name="a refused one", verdict="refuse", caught=False, output="why")
    code, printed, message = show([FAULT, missed, sound, refused], capsys, monkeypatch)
    assert code == 1
    assert "2 faults, 1 caught; 2 sound, 1 refused" in printed
    assert "MISSED" in printed
    assert "REFUSED" in printed
    assert "a refused one: the last lines that were printed\nwhy" in printed
    assert "2 of 4 planted" in message
    assert "a missed one; a refused one" in message


@pytest.mark.slow
def test_an_interrupted_selftest_ends_at_once_and_leaves_nothing_behind(tmp_path: Path) -> None:
    started = subprocess.Popen(
        [Path(sys.executable).with_name("plumbline"), "selftest", "--only", "a slow model"],
        cwd=tmp_path,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**get_clean_environment(), "TMPDIR": str(tmp_path)},
    )
    models = "plumbline-selftest-*/evaluate/models/*"
    while not list(tmp_path.glob(models)):  # a worker trains
        assert started.poll() is None
        time.sleep(0.1)
    started.send_signal(signal.SIGINT)
    printed, messages = started.communicate(timeout=600)
    assert started.returncode == 130
    assert printed == "selftest: interrupted; it leaves nothing behind\n"
    assert messages == ""
    assert list(tmp_path.glob("plumbline*")) == []


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fixture") / "checkout"
    states.prepare_fixture(folder, TASK)
    return folder


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_every_fault_is_caught_and_equal_models_are_rarely_promoted(checkout: Checkout) -> None:
    """The faults of other tasks are planted every night, by .github/workflows/nightly.yml."""
    output = checkout.run("plumbline", "selftest").stdout
    planted = catalogue.list_faults(load_task(TASK))
    num_sound = sum(fault.is_sound for fault in planted)
    num_faults = len(planted) - num_sound
    counts = f"{num_faults} faults, {num_faults} caught; {num_sound} sound, 0 refused"
    assert counts in output
    assert "MISSED" not in output
    assert "276 pairs" in output
    assert not list((checkout.path / "mlruns").glob("*.db"))  # no trace in the user's registry


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_gate_that_does_nothing_is_noticed(
    prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = catalogue.list_faults(load_task(TASK))
    fault = next(fault for fault in planted if fault.gate == "calibration")
    kept = tuple(entry for entry in gates.GATES if entry.name != "calibration")
    monkeypatch.setattr(gates, "GATES", kept)
    with fixture.enter_checkout(fixture.copy_fixture(prepared, tmp_path / "copy")):
        outcome = injection.inject_fault(fault)
    assert "calibration" not in outcome.failed
    assert not outcome.caught


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_gates_that_refuse_everything_are_noticed(
    prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = Fault("nothing", "none", "promote", plant_nothing)
    monkeypatch.setattr(
        judge,
        "run_gates",
        lambda asked: [replace(gate, status="fail") for gate in gates.run_gates(asked)],
    )
    with fixture.enter_checkout(fixture.copy_fixture(prepared, tmp_path / "copy")):
        assert not injection.inject_fault(sound).caught
