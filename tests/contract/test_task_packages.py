"""A task of one's own is found in the repository's src/tasks, or by an entry point."""

import sys
from pathlib import Path

import pytest
from tests.support.own_tasks import forget_own_tasks

from plumbline.contract.errors import ParamsError
from plumbline.contract.loading import load_task
from plumbline.contract.task_packages import find_task_folder, find_task_package, list_tasks
from plumbline.init.repository_files import ensure_task_folder
from plumbline.process.files import digest_path

TASK = "TASK = {name!r}\n"


@pytest.fixture
def repository(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    forget_own_tasks(monkeypatch)
    for name in ("acme", "acme.halving", "acme.halving.task"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return folder


def write_task(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "task.py").write_text(TASK.format(name=folder.name))


def test_a_task_in_the_repository_is_found(repository: Path) -> None:
    write_task(repository / "src/tasks/tripling")
    assert find_task_package("tripling") == "tasks.tripling"
    assert find_task_folder("tripling") == repository / "src/tasks/tripling"
    assert load_task("tripling") == "tripling"
    assert {"text_classification", "tripling"} <= set(list_tasks())


@pytest.fixture
def installed(repository: Path) -> Path:
    """The code of the task `half`, which an installed package has."""
    write_task(repository / "site/acme/halving")
    about = repository / "site/acme-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[plumbline.tasks]\nhalf = acme.halving\n")
    sys.path.append(str(repository / "site"))
    return repository / "site/acme/halving"


def test_an_installed_task_is_found_by_its_entry_point(installed: Path) -> None:
    assert load_task("half") == "halving"
    assert "half" in list_tasks()


def test_stages_see_other_code_of_an_installed_task(installed: Path, repository: Path) -> None:
    folder = repository / "src/tasks/half"
    folder.parent.mkdir(parents=True)
    ensure_task_folder("half")
    first = digest_path(folder)
    ensure_task_folder("half")
    assert digest_path(folder) == first
    (installed / "grid.yaml").touch()
    ensure_task_folder("half")
    assert digest_path(folder) != first


def test_a_task_of_the_repository_gets_no_file(repository: Path) -> None:
    write_task(repository / "src/tasks/tripling")
    (repository / "src/tasks/text_classification").mkdir()
    for task in ("tripling", "text_classification"):
        before = digest_path(repository / "src/tasks" / task)
        ensure_task_folder(task)
        assert digest_path(repository / "src/tasks" / task) == before


def test_two_tasks_of_one_name_are_refused(repository: Path) -> None:
    write_task(repository / "src/tasks/text_classification")
    with pytest.raises(ParamsError, match="src/tasks/text_classification has the name of a task"):
        load_task("text_classification")


@pytest.mark.parametrize("other", ["tasks.py", "tasks/__init__.py"])
def test_tasks_of_another_program_are_no_traceback(repository: Path, other: str) -> None:
    write_task(repository / "src/tasks/tripling")
    (repository / "site" / other).parent.mkdir(parents=True)
    (repository / "site" / other).touch()
    sys.path.insert(0, str(repository / "site"))
    with pytest.raises(ParamsError, match=r"tasks\.tripling cannot be imported.*PYTHONPATH"):
        load_task("tripling")


def test_an_unknown_task_is_an_error_that_names_the_nearest(repository: Path) -> None:
    write_task(repository / "src/tasks/tripling")
    assert find_task_package("triplin") is None
    with pytest.raises(ParamsError, match=r"no task .triplin..*tripling"):
        load_task("triplin")
    with pytest.raises(ParamsError, match="`plumbline recipe NAME --use` brings the code of"):
        load_task("circuits")


def test_what_a_task_cannot_import_is_not_called_a_missing_task(repository: Path) -> None:
    write_task(repository / "src/tasks/tripling")
    (repository / "src/tasks/tripling/task.py").write_text("import no_such_library\n")
    with pytest.raises(ModuleNotFoundError, match="no_such_library"):
        load_task("tripling")
