"""A repository made by an older plumbline, edited by its user, comes to the installed one."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.checkouts import ROOT, find_python, get_clean_environment
from tests.support.other_plumbline import (
    ADDED,
    CHANGES,
    OLDER,
    RETIRED,
    unpack,
    write_other_wheel,
)
from tests.support.own_tasks import forget_own_tasks
from tests.support.tickets import write_tickets
from typer.testing import CliRunner, Result

from plumbline.cli import app
from plumbline.contract.errors import PlumblineError
from plumbline.contract.yaml_file import load_yaml
from plumbline.init import upgrade
from plumbline.init.answers import read_record
from plumbline.init.repository_files import list_parts

pytestmark = pytest.mark.slow

PARAMS, MAKEFILE, README = Path("params.yaml"), Path("Makefile"), Path("README.md")


@pytest.fixture(scope="module")
def made(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository that the older plumbline makes."""
    base = tmp_path_factory.mktemp("older")
    older = write_other_wheel(built, base / "dist", OLDER, CHANGES, ADDED)
    site = unpack(older, base / "installed")
    tickets = write_tickets(base / "tickets.csv", 300)
    code = "from plumbline.cli import main; main()"
    command = [find_python(), "-P", "-c", code, "init", "router", "--data", str(tickets)]
    environment = {**get_clean_environment(), "PYTHONPATH": str(site)}
    subprocess.run(command, cwd=base, env=environment, check=True, capture_output=True)
    return base / "router"


@pytest.fixture
def router(made: Path, built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "router"
    shutil.copytree(made, folder)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "executable", find_python())  # writes the files of both versions
    forget_own_tasks(monkeypatch)
    monkeypatch.setattr(
        upgrade, "write_wheel", lambda target: copy_into(built, target)
    )  # no build: tests/init/test_wheel.py has that
    return folder


def copy_into(built: Path, folder: Path) -> Path:
    folder.mkdir()
    return Path(shutil.copy2(built, folder))


def git(*arguments: str) -> str:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1, f"{path}: {text.count(old)} times: {old!r}"
    path.write_text(text.replace(old, new))


def edit_as_a_user() -> None:
    replace(PARAMS, "planned_looks: 20 ", "planned_looks: 30 ")
    MAKEFILE.write_text(MAKEFILE.read_text() + "\nmine:  ## of my own\n\t@echo mine\n")
    README.write_text(README.read_text() + "\nAsk Ada about the labels.\n")
    Path("src/tasks/mine").mkdir()
    Path("src/tasks/mine/notes.md").write_text("mine\n")
    git("add", "--all")
    git("commit", "--quiet", "--message", "My own edits")


def run_upgrade(*options: str) -> Result:
    return CliRunner().invoke(app, ["upgrade", *options])


def test_edits_of_the_user_are_kept_and_the_rest_is_that_of_the_new_version(router: Path) -> None:
    assert "max_slice_loss" not in PARAMS.read_text()
    edit_as_a_user()
    done = run_upgrade()
    assert done.exit_code == 0, done.output
    # The new key is shown, with its comment; the user's value and lines are there still.
    shown = git("diff", "--cached", "params.yaml")
    assert "+  max_slice_loss: 0.02          # no group may lose" in shown
    evaluation = load_yaml(PARAMS)["evaluation"]
    assert evaluation["planned_looks"] == 30
    assert evaluation["max_slice_loss"] == 0.02
    assert "mine:  ## of my own" in MAKEFILE.read_text()
    assert "list the targets" in MAKEFILE.read_text()
    assert README.read_text().endswith("\nAsk Ada about the labels.\n")
    assert "You need git, make, Python" in README.read_text()
    assert Path("src/tasks/mine/notes.md").read_text() == "mine\n"
    changed = git("diff", "--cached", "--name-only", "--no-renames").splitlines()
    assert changed == [
        ".plumbline-template.json",
        "Makefile",
        "README.md",
        "params.schema.json",
        "params.yaml",
        "requirements.lock",
        RETIRED,
        f"wheels/plumbline-{OLDER}-py3-none-any.whl",
        "wheels/plumbline-0.1.0-py3-none-any.whl",
    ]
    assert [path.name for path in Path("wheels").iterdir()] == ["plumbline-0.1.0-py3-none-any.whl"]
    lock = Path("requirements.lock").read_text()
    assert lock.startswith("./wheels/plumbline-0.1.0-py3-none-any.whl --hash=sha256:")
    assert "alembic==1.1." not in lock
    assert git("diff", "--name-only") == ""
    git("commit", "--quiet", "--message", "Upgrade")
    again = run_upgrade("--check")
    assert (again.exit_code, again.output) == (0, "up to date: plumbline 0.1.0\n")


def test_a_part_is_added_and_comes_along_with_the_next_upgrade(router: Path) -> None:
    with pytest.raises(PlumblineError, match=r"of plumbline 0\.0\.9, .* run `plumbline upgrade`"):
        upgrade.upgrade_repository(Path(), parts=["docker"])
    assert run_upgrade().exit_code == 0
    git("commit", "--quiet", "--message", "Upgrade")
    with pytest.raises(PlumblineError, match="no part 'x'; there are: docker, gitlab, kubernetes"):
        upgrade.upgrade_repository(Path(), parts=["x"])
    before = Path("requirements.lock").read_bytes()
    added = CliRunner().invoke(app, ["upgrade", *(f"--add={part}" for part in list_parts(ROOT))])
    pages = set(re.findall("plumbline docs (.+)", added.output))
    assert len(pages) == 5
    assert pages <= {path.stem for path in ROOT.glob("docs/**/*.md")}
    assert git("diff", "--name-only") == ""
    git("commit", "--quiet", "--message", "Add parts")
    assert {path.name for path in Path("docker").iterdir()} >= {"serve.Dockerfile", "compose.yaml"}
    assert Path("deploy/slurm/pipeline.sh").stat().st_mode & 0o111
    assert Path("requirements.lock").read_bytes() == before
    assert "MODEL=models:/router@champion" in Path("docker/secrets.sh").read_text()
    assert read_record(Path()).answers.parts == list_parts(ROOT)
    Path("notes.txt").write_text("of the user")
    assert "here already" in CliRunner().invoke(app, ["upgrade", "--add", "docker"]).output
    assert git("diff", "--cached", "--name-only") == ""


def test_no_commit_with_what_plumbline_wrote_is_needed(router: Path) -> None:
    """A squash merge leaves none."""
    edit_as_a_user()
    git("reset", "--quiet", "--soft", git("rev-list", "--max-parents=0", "HEAD"))
    git("commit", "--quiet", "--amend", "--message", "All of it")
    assert run_upgrade().exit_code == 0
    assert load_yaml(PARAMS)["evaluation"]["planned_looks"] == 30
    assert "mine:  ## of my own" in MAKEFILE.read_text()


def test_params_that_the_new_version_refuses_are_named(router: Path) -> None:
    replace(PARAMS, "\nseed: 7\n", "\nseed: 7\nretired: 1\n")
    git("commit", "--quiet", "--all", "--message", "A key that only the older version knows")
    done = run_upgrade()
    assert done.exit_code == 1
    assert "params.yaml is not valid for 0.1.0: " in done.output
    assert "retired" in done.output
    assert git("diff", "--name-only") == ""


def test_check_changes_nothing_and_exits_with_1(router: Path) -> None:
    before = git("rev-parse", "HEAD"), git("count-objects"), sorted(router.rglob("*"))
    done = run_upgrade("--check")
    assert done.exit_code == 1
    for part in ("0.0.9 -> 0.1.0", "Makefile", "any.whl"):
        assert part in done.output
    assert "nothing was changed" in done.output
    assert (git("rev-parse", "HEAD"), git("count-objects"), sorted(router.rglob("*"))) == before


def test_a_conflict_is_marked_with_the_way_on_and_back(router: Path) -> None:
    replace(MAKEFILE, "list all targets", "show my targets")
    git("commit", "--quiet", "--all", "--message", "My own words")
    for options in (("--check",), ()):
        done = run_upgrade(*options)
        assert done.exit_code == 1
        assert "  Makefile: both sides changed it\n" in done.output
    assert "  git add Makefile\n" in done.output
    text = MAKEFILE.read_text()
    assert text.index("<<<<<<< yours") < text.index("show my targets")
    assert text.index("list the targets") < text.index(">>>>>>> 0.1.0")
    git("reset", "--quiet", "--hard")
    assert git("status", "--porcelain") == ""
    assert "show my targets" in MAKEFILE.read_text()


def test_a_file_that_one_side_deleted_stays_as_the_user_has_it(router: Path) -> None:
    git("rm", "--quiet", "Makefile")
    retired = Path(RETIRED)
    retired.write_text(retired.read_text() + "echo mine\n")
    git("commit", "--quiet", "--all", "--message", "My own files")
    done = run_upgrade()
    assert done.exit_code == 0, done.output
    assert "Makefile: you deleted it, and the new version changed it" in done.output
    assert f"{RETIRED}: you changed it, and the new version has no such file" in done.output
    assert not MAKEFILE.exists()
    assert "echo mine" in retired.read_text()


def test_what_cannot_be_upgraded_is_refused_with_a_remedy(router: Path, monkeypatch) -> None:
    replace(README, "git, make", "make, git")
    refuse(r"changes are not committed \(README.md\); commit them, or put them aside: `git stash`")
    git("checkout", "README.md")
    monkeypatch.chdir(router / "src")
    refuse("plumbline init` did not make this folder; run `plumbline upgrade` at the top")
    monkeypatch.chdir(router)
    record = Path(".plumbline-template.json")
    replace(record, '"num_rows"', '"number"')
    git("commit", "--quiet", "--all", "--message", "Another answer")
    refuse("not what plumbline wrote .*number")
    git("reset", "--quiet", "--hard", "HEAD~1")
    (old,) = Path("wheels").iterdir()
    old.write_bytes(b"another")
    git("commit", "--quiet", "--all", "--message", "Another wheel")
    refuse(f"{old}: not the file with the SHA-256 that .plumbline-template.json names")
    Path(".plumbline-template.json").write_text("{}")
    refuse("not what plumbline wrote .KeyError: 'answers'.; `git log -- .plumbline-template.json")
    assert git("log", "-1", "--format=%s") == "Another wheel"


def refuse(message: str) -> None:
    for check in (True, False):
        with pytest.raises(PlumblineError, match=message):
            upgrade.upgrade_repository(Path(), check=check)


def test_a_folder_in_another_repository_is_refused(router: Path, tmp_path: Path) -> None:
    shutil.rmtree(router / ".git")
    refuse("not a git repository")
    git("init", "--quiet", str(tmp_path))
    refuse("not the top of its git repository")


def test_a_task_that_does_not_fit_the_new_version_is_named(router: Path) -> None:
    code = Path("src/tasks/mine")
    code.mkdir()
    for name in ("__init__.py", "task.py"):
        (code / name).write_text("")
    (code / "params.py").write_text("from plumbline.contract.task import GoneInThisVersion\n")
    replace(PARAMS, "\ntask: text_classification", "\ntask: mine")
    git("add", "--all")
    git("commit", "--quiet", "--message", "A task of my own")
    done = run_upgrade()
    assert done.exit_code == 1
    assert "GoneInThisVersion" in done.output
    assert "git reset --hard" in done.output
    assert not isinstance(done.exception, ImportError)
