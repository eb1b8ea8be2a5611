"""With PLUMBLINE_PUBLIC_KEY set, no command uses a version that is not signed."""

import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.checkouts import LINE
from tests.support.serving.lines import MOODY, Lines
from tests.support.serving.models import line_task, register_lines
from tests.support.serving.moody import EXITS, RAISES
from tests.support.signing_keys import write_keys
from typer.testing import CliRunner

from plumbline.bundle import signatures
from plumbline.cli import app
from plumbline.contract import loading
from plumbline.contract.errors import BundleError, ParamsError, PlumblineError
from plumbline.contract.task import Task
from plumbline.diagnostics.doctor.registry import check_registry
from plumbline.evidence import champion
from plumbline.registry import promotion, signing
from plumbline.registry.reader import find_version, run_files
from plumbline.registry.reader.addresses import BUNDLE_TAG

URI = "models:/line@champion"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Lines:
    """A registry of lines, in a folder with the params of their task; 1 is champion, 2 was."""
    lines = Lines(tmp_path_factory.mktemp("signed-only"))
    register_lines(lines.path)
    lines.champion("2")
    lines.champion("1")
    shutil.copy(LINE / "params.yaml", lines.path)
    return lines


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two pairs of keys: ours and another's."""
    return write_keys(tmp_path_factory.mktemp("keys"))


@pytest.fixture
def task(made: Lines, keys: Path, monkeypatch: pytest.MonkeyPatch) -> Task:
    """The task of a line; the registry is that of the cwd, and only signed versions are used."""
    _, task = line_task(monkeypatch)
    monkeypatch.setattr(loading, "list_tasks", lambda: ["line"])
    monkeypatch.chdir(made.path)
    for name, value in made.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PLUMBLINE_PUBLIC_KEY", str(keys / "ours.pub"))
    return task


def run(*arguments: str, stdin: str = "") -> None:
    """Run a command of plumbline in this process; its error is raised."""
    result = CliRunner().invoke(app, arguments, stdin, catch_exceptions=False)
    assert result.exit_code == 0, result.output


COMMANDS = [
    ("predict", "1.0"),
    ("promote", "line", "3", "--expect", "1", "--override", "--reason", "a test"),
    ("rollback", "line", "--to", "2"),
    ("reproduce", "line"),
    ("serve", URI, "--port", "18999"),
    ("score", URI, "rows.csv", "scored.csv"),
    ("drift", "rows.csv"),
]


@pytest.mark.parametrize("command", [*COMMANDS, ()], ids=lambda command: (*command, "evaluate")[0])
def test_an_unsigned_version_is_refused_before_its_code_runs(
    task: Task, command: tuple[str, ...]
) -> None:
    Path("rows.csv").write_text("x\n1.0\n")
    entries = len(promotion.read_history("line"))
    codes = [f"plumbline_predictor_{digest[:16]}" for digest in digests()]
    for code in codes:
        sys.modules.pop(code, None)
    with pytest.raises(BundleError, match=r"line version \d: is not signed, and only what"):
        run(*command) if command else champion.load_champion("line", task, [])
    assert not [code for code in codes if code in sys.modules]
    assert len(promotion.read_history("line")) == entries
    assert not Path("scored.csv").exists()


def test_doctor_reports_an_unsigned_version_and_how_to_sign_it(task: Task) -> None:
    results = [result for result in check_registry(full=True) if result.what == "versions"]
    unsigned = [result for result in results if "is not signed, and only what" in result.message]
    assert len(unsigned) == len(digests())
    assert unsigned[0].remedy.startswith("`plumbline sign line 1 --key KEY`")
    assert not any(result.ok for result in unsigned)


def test_a_signed_version_is_used_by_all(
    task: Task, keys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = (keys / "ours.pem").read_text()
    run("sign", "line", "1", "--key", "-", stdin=key)  # it is opened although it is not signed
    run("predict", "1.0")
    assert champion.load_champion("line", task, []) is not None
    signing.sign("line", "2", keys / "other.pem")
    with pytest.raises(BundleError, match="line version 2: has no valid signature"):
        run("rollback", "line", "--to", "2")


@pytest.fixture
def unsigned(task: Task, monkeypatch: pytest.MonkeyPatch) -> Task:
    """As `task`, and unsigned versions may be used."""
    monkeypatch.delenv("PLUMBLINE_PUBLIC_KEY")
    return task


def test_a_version_of_another_task_is_not_asked(
    unsigned: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "load_task", lambda _: replace(unsigned, name="x"))
    with pytest.raises(PlumblineError, match=r"line version 1 is of the task line, params.yaml"):
        run("predict", "1.0")


@pytest.mark.parametrize(("exits", "error"), [("1", "SystemExit"), (None, "RuntimeError")])
def test_whatever_a_versions_code_raises_is_an_error_that_names_it(
    unsigned: Task, monkeypatch: pytest.MonkeyPatch, exits: str | None, error: str
) -> None:
    if exits:
        monkeypatch.setenv(EXITS, exits)
    Path("rows.csv").write_text(f"x\n{RAISES}\n")
    for command in (
        ("predict", str(RAISES), "--model", f"models:/line/{MOODY}"),
        ("score", f"models:/line/{MOODY}", "rows.csv", "scored.csv"),
    ):
        with pytest.raises(PlumblineError, match=f"line version 4: cannot .* [(]{error}"):
            run(*command)
    assert not Path("scored.csv").exists()


@pytest.mark.parametrize("value", ["", " "])
def test_an_empty_key_is_an_error_and_not_no_check(
    task: Task, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("PLUMBLINE_PUBLIC_KEY", value)
    with pytest.raises(ParamsError, match="PLUMBLINE_PUBLIC_KEY is empty"):
        run("predict", "1.0")
    monkeypatch.setenv("PLUMBLINE_PRIVATE_KEY", value)
    with pytest.raises(ParamsError, match="PLUMBLINE_PRIVATE_KEY is empty"):
        signatures.find_key("PLUMBLINE_PRIVATE_KEY")


def test_evidence_that_is_not_signed_promotes_nothing(task: Task, keys: Path) -> None:
    signing.sign("line", "3", keys / "ours.pem")
    version = find_version("models:/line/3")
    assert version.run_files is not None
    (signature,) = Path("mlruns").rglob(f"{version.run_id}/**/{run_files.EVIDENCE_SIGNATURE}")
    kept = signature.read_bytes()
    signature.unlink()
    with pytest.raises(BundleError, match=r"is not signed, .*evidence\.sig is missing"):
        run(*COMMANDS[1])
    signature.write_bytes(kept[:-20])
    with pytest.raises(BundleError, match="has no valid signature"):
        run(*COMMANDS[1])
    signature.write_bytes(kept)
    run_files.read_evidence(version, keys / "ours.pub")


def digests() -> list[str]:
    """The bundles of all versions."""
    return [find_version(f"models:/line/{number}").tags[BUNDLE_TAG] for number in range(1, 5)]
