"""`plumbline init` writes a whole repository, or nothing."""

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator
from tests.support.checkouts import ROOT
from tests.support.own_tasks import forget_own_tasks
from tests.support.tickets import write_set_tickets, write_tickets
from typer.testing import CliRunner

from plumbline.cli import app
from plumbline.contract.errors import DataError, ParamsError, PlumblineError
from plumbline.contract.task_packages import find_task_package
from plumbline.contract.yaml_file import load_yaml
from plumbline.init import creation
from plumbline.init.creation import InitRequest, create_repository

TOP = {"src", "dvc.yaml", "params.yaml", "pyproject.toml", ".github", "tests", "wheels"}


@pytest.fixture(scope="module")
def tickets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tickets(tmp_path_factory.mktemp("data") / "my tickets.csv", 300)


@pytest.fixture
def quick_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    """No build: tests/init/test_wheel.py has that."""

    def write(folder: Path) -> Path:
        wheel = folder / "plumbline-0.1.0-py3-none-any.whl"
        wheel.write_bytes(b"a wheel")
        return wheel

    monkeypatch.setattr(creation, "write_wheel", write)


def find_tool(name: str) -> str:
    return str(Path(sys.executable).with_name(name))


def run_git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def router(tmp_path: Path, tickets: Path, quick_wheel: None) -> Path:
    folder = tmp_path / "my-router"
    folder.mkdir()  # an empty one may be there
    create_repository(InitRequest(folder, tickets, None, None, ()))
    return folder


def test_it_is_a_git_repository_with_all_that_a_run_needs(router: Path, tickets: Path) -> None:
    assert {path.name for path in router.iterdir()} >= TOP
    assert len(run_git(router, "ls-files").splitlines()) <= 35
    assert run_git(router, "status", "--porcelain") == ""
    assert run_git(router, "log", "--format=%s") == "Begin with plumbline init"
    params = load_yaml(router / "params.yaml")
    assert params["data"]["source"] == "data/raw/my-tickets.csv"
    assert params["registry"]["model"] == "my-router"
    assert (router / params["data"]["source"]).read_bytes() == tickets.read_bytes()
    assert (router / "README.md").read_text().startswith("# my-router\n")
    assert "url = ../../my-router.dvc" in (router / ".dvc/config").read_text()


def test_an_editor_checks_the_params_by_a_schema(router: Path) -> None:
    params = (router / "params.yaml").read_text()
    assert params.startswith("# yaml-language-server: $schema=params.schema.json\n")
    schema = json.loads((router / "params.schema.json").read_text())
    check = Draft202012Validator(schema)
    assert list(check.iter_errors(yaml.safe_load(params))) == []
    wrong = yaml.safe_load(params.replace("confidence:", "confidense:"))
    assert any("confidense" in error.message for error in check.iter_errors(wrong))


def test_the_lock_names_the_wheel_by_its_digest(router: Path) -> None:
    first, rest = (router / "requirements.lock").read_text().split("\n", 1)
    digest = hashlib.sha256(b"a wheel").hexdigest()
    assert first == f"./wheels/plumbline-0.1.0-py3-none-any.whl --hash=sha256:{digest}"
    assert rest == (ROOT / "requirements.lock").read_text()


def test_a_folder_with_something_in_it_is_not_touched(
    tmp_path: Path, tickets: Path, quick_wheel: None
) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(PlumblineError, match=r"not empty \(found notes.txt\); name a new folder"):
        create_repository(InitRequest(tmp_path, tickets, None, None, ()))
    with pytest.raises(PlumblineError, match="a file; name a new folder"):
        create_repository(InitRequest(tmp_path / "notes.txt", tickets, None, None, ()))
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_nothing_is_left_of_what_fails(
    tmp_path: Path, tickets: Path, quick_wheel: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DataError):
        create_repository(InitRequest(tmp_path / "a", tmp_path / "no.csv", None, None, ()))

    def fail(target: Path) -> None:
        raise PlumblineError("git is ill")

    monkeypatch.setattr(creation, "_commit", fail)
    with pytest.raises(PlumblineError, match="git is ill"):
        create_repository(InitRequest(tmp_path / "a", tickets, None, None, ()))
    assert list(tmp_path.iterdir()) == []


def test_given_test_rows_are_a_second_file(
    tmp_path: Path, tickets: Path, quick_wheel: None
) -> None:
    test = write_tickets(tmp_path / "test.csv", 90)
    create_repository(InitRequest(tmp_path / "a", tickets, test, None, ()))
    source = load_yaml(tmp_path / "a/params.yaml")["data"]["source"]
    assert (source["train"], source["validation"]) == ("data/raw/my-tickets.csv", None)
    assert source["test"] == "data/raw/test.csv"
    assert (tmp_path / "a" / source["test"]).read_bytes() == test.read_bytes()
    with pytest.raises(DataError, match="has the name of another file"):
        create_repository(InitRequest(tmp_path / "b", tickets, tickets, None, ()))


def test_the_readme_names_no_file_that_was_not_written(
    tmp_path: Path, router: Path, quick_wheel: None
) -> None:
    rows = ["query,passage", *(f"where is it {row},Send parcel {row} back." for row in range(99))]
    (tmp_path / "pairs.csv").write_text("\n".join(rows), encoding="utf-8")
    search = tmp_path / "search"
    create_repository(InitRequest(search, tmp_path / "pairs.csv", None, None, ()))
    for folder in (router, search):
        text = (folder / "README.md").read_text(encoding="utf-8")
        assert ("tests/behaviour.csv" in text) == (folder / "tests/behaviour.csv").exists()


def test_recipes_and_pages_are_those_of_the_wheel(
    router: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget_own_tasks(monkeypatch)
    monkeypatch.chdir(router)
    assert not (router / "docs").exists()
    for name in run_git(router, "ls-files").splitlines():
        assert not re.search(rb"docs/[\w/-]+\.md", Path(name).read_bytes()), name
    assert "operate                    Promote, roll back" in call("docs")
    assert call("docs", "operate") == (ROOT / "docs/how-to/operate.md").read_text()
    assert "did you mean operate?" in refuse("docs", "operat")
    assert "signal_extraction " in call("recipe")
    assert "All keys: `plumbline docs params`." in call("recipe", "text_classification")
    # The recipe brings its task, on whose folder the stages depend, in place of one without code.
    (router / "src/tasks/signal_extraction").mkdir()
    assert "now the recipe filter_design" in call("recipe", "filter_design", "--use")
    assert "see `plumbline docs filter_design`" in Path("params.yaml").read_text()
    assert "now the recipe signal_extraction" in call("recipe", "signal_extraction", "--use")
    for name in ("task.py", "data/ingestion.py", "faults/params.yaml"):
        path = Path("src/tasks/signal_extraction", name)
        assert (router / path).read_bytes() == (ROOT / path).read_bytes()
    own = router / "src/tasks/text_classification/my_model.py"
    own.touch()
    assert "now the recipe quick" in call("recipe", "quick", "--use")
    assert own.exists()
    (router / "recipes").mkdir()
    (router / "recipes/mine.yaml").write_text("# My own.\n")
    assert "mine                       My own." in call("recipe")


def call(*command: str) -> str:
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    return done.output


def refuse(*command: str) -> str:
    done = CliRunner().invoke(app, command)
    assert isinstance(done.exception, PlumblineError)
    return str(done.exception)


def test_an_example_of_an_own_task_has_its_name(
    tmp_path: Path, tickets: Path, quick_wheel: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_repository(InitRequest(tmp_path / "a", tickets, None, None, (), "tickets"))
    monkeypatch.chdir(tmp_path / "a")
    forget_own_tasks(monkeypatch)
    assert load_yaml(Path("params.yaml"))["task"] == "tickets"
    assert Path("tests/test_tickets.py").is_file()
    assert "own_task" not in run_git(Path(), "ls-files")
    for path in (Path("tests/test_tickets.py"), *Path("src").rglob("*.py")):
        assert "own_task" not in path.read_text()
    assert "with_task" not in run_git(Path(), "ls-files")
    assert find_task_package("tickets") == "tasks.tickets"


def test_a_task_that_cannot_have_its_name_is_refused(tmp_path: Path, tickets: Path) -> None:
    def refuse(name: str, message: str) -> None:
        with pytest.raises(ParamsError, match=message):
            create_repository(InitRequest(tmp_path / "a", tickets, None, None, (), name))

    refuse("text_classification", "a task of plumbline has this name; choose another")
    for name in ("My-Task", "3rd", "class", "../x", ""):
        refuse(name, "expected a name of a package of Python")
    assert not (tmp_path / "a").exists()


def test_the_command_shows_what_it_saw(tmp_path: Path, tickets: Path, quick_wheel: None) -> None:
    data = tmp_path / "a.csv"
    data.write_text(tickets.read_text().replace(" ", " \u00e9"), encoding="cp1252")
    said = call("init", str(tmp_path / "my router"), "--data", str(data))
    for part in (
        "300 rows\n  text: 'body', 12 words",
        "label: 'queue', 3 classes: billing (100)",
        "not UTF-8, read as Windows-1252: 300 rows\n  of more than 5 %, `make run`",
        "not used: id",
        f"cd '{tmp_path}/my router'",
    ):
        assert part in said


def test_the_command_shows_that_cells_hold_several_labels(
    tmp_path: Path, quick_wheel: None
) -> None:
    data = tmp_path / "sets.csv"
    write_set_tickets(data, 300)
    said = call("init", str(tmp_path / "a"), "--data", str(data))
    assert "labels: 'queues', several in a cell (label_separator: ';'), 3 labels: " in said
    assert "the rarest label is" in said
    assert "if that is wrong, begin again: `--label-separator ''`: a cell" in said
    assert load_yaml(tmp_path / "a/params.yaml")["data"]["columns"]["label_separator"] == ";"
    said = call("init", str(tmp_path / "b"), "--data", str(data), "--label-separator", "")
    assert "label: 'queues', 16 classes: " in said  # as the labels of a cell are in any order
    assert "label_separator" not in (tmp_path / "b/params.yaml").read_text()
    named = ("--label", "body", "--label", "queues", "--label-separator", ";")
    said = refuse("init", str(tmp_path / "c"), "--data", str(data), *named)
    assert "each of body, queues is one label; name one column with --label" in said


def test_the_workflows_are_valid_for_github(router: Path) -> None:
    for schema, pattern in (("workflows", "workflows/*.yml"), ("actions", "actions/*/action.yml")):
        files = [str(path) for path in (router / ".github").glob(pattern)]
        command = [
            find_tool("check-jsonschema"),
            "--builtin-schema",
            f"vendor.github-{schema}",
            *files,
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
    command = [find_tool("zizmor"), "--offline", "--persona", "auditor", "--quiet", ".github"]
    done = subprocess.run(command, cwd=router, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
