"""A repository of one's own, written as a whole or not at all."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plumbline.contract import layout, leftovers
from plumbline.contract.errors import DataError, PlumblineError
from plumbline.contract.lineage import run_git
from plumbline.entrypoint import load_params
from plumbline.init import differences, repository_files
from plumbline.init.proposal import Proposal, propose_params
from plumbline.init.survey import FileSurvey, inspect_file
from plumbline.init.wheel import write_wheel

RAW = Path("data/raw")
TEMPLATE = Path("template")
PARAMS_TEMPLATE = Path("recipes/text_classification.yaml")
LOCK = Path("requirements.lock")
NOT_WRITTEN = (Path(repository_files.PROJECT), PARAMS_TEMPLATE, differences.TABLE)
UNUSUAL = re.compile(r"[^\w.-]+")
MAX_NAME = 60  # characters of a registered model's name
NO_IDENTITY = ("-c", "user.name=plumbline", "-c", "user.email=plumbline@localhost")


@dataclass(frozen=True)
class InitRequest:
    """What a user asks for; columns that are None are guessed."""

    folder: Path
    data: Path
    test: Path | None
    text: str | None
    label: str | None


@dataclass(frozen=True)
class NewRepository:
    """What was seen, and what was made of it."""

    survey: FileSurvey
    proposal: Proposal


def create_repository(request: InitRequest) -> NewRepository:
    """Write the repository, with one commit.

    Raises PlumblineError where the folder has something in it, and DataError where the file cannot
    be used; then nothing is written.
    """
    folder = request.folder.absolute()
    _check_is_free(folder)
    survey = inspect_file(request.data, request.text, request.label)
    if request.test is not None:
        inspect_file(request.test, survey.text, survey.label)
    with _write_beside(folder) as aside:
        name = _name_model(folder.name)
        _write_files(aside, name)
        source = _copy_data(request, aside)
        proposal = _write_params(aside, survey, source, name)
        _commit(aside)
    return NewRepository(survey, proposal)


def _check_is_free(folder: Path) -> None:
    if folder.is_dir():
        present = sorted(path.name for path in folder.iterdir())
        if present:
            raise PlumblineError(
                f"{folder}: not empty (found {', '.join(present[:3])}); name a new folder"
            )
    elif folder.exists():
        raise PlumblineError(f"{folder}: a file; name a new folder")


@contextmanager
def _write_beside(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder that becomes `folder` if the block succeeds."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with leftovers.make_aside_folder(folder.parent, folder.name) as aside:
        yield aside
        aside.chmod(0o755)
        aside.replace(folder)


def _name_model(folder: str) -> str:
    """Return a name for the registered model; it begins with a letter."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", folder).strip("-_")
    return (name if name[:1].isalpha() else f"model-{name}".rstrip("-"))[:MAX_NAME]


def _write_files(target: Path, name: str) -> None:
    """Write all that does not depend on the data."""
    root = repository_files.find_root()
    for path in repository_files.list_carried(root):
        if path in NOT_WRITTEN:
            continue
        own = path.relative_to(TEMPLATE) if path.is_relative_to(TEMPLATE) else path
        text = (root / path).read_text(encoding="utf-8")
        (target / own).parent.mkdir(parents=True, exist_ok=True)
        (target / own).write_text(differences.adapt(own, text, root, name), encoding="utf-8")
        (target / own).chmod(0o755 if own.suffix == ".sh" else 0o644)
    layout.write_json(target / layout.CHAMPION, {})
    wheel = write_wheel(target / "wheels")
    lock = target / LOCK
    line = f"./{wheel.relative_to(target)} --hash=sha256:{layout.digest(wheel)}\n"
    lock.write_text(line + lock.read_text(encoding="utf-8"), encoding="utf-8")


def _copy_data(request: InitRequest, target: Path) -> Any:
    """Copy the files into data/raw; return data.source."""
    copies = []
    for path in filter(None, (request.data, request.test)):
        copy = RAW / UNUSUAL.sub("-", path.name)
        if (target / copy).exists():
            raise DataError(f"{path}: has the name of another file; rename one of them")
        shutil.copyfile(path, target / copy)
        copies.append(copy.as_posix())
    if request.test is None:
        return copies[0]
    return {"train": copies[0], "validation": None, "test": copies[1]}


def _write_params(target: Path, survey: FileSurvey, source: Any, name: str) -> Proposal:
    template = (repository_files.find_root() / PARAMS_TEMPLATE).read_text(encoding="utf-8")
    data = {"source": source, "watch": RAW.as_posix()}
    proposal = propose_params(template, survey, data, name)
    path = target / layout.PARAMS
    path.write_text(proposal.text, encoding="utf-8")
    load_params(path)  # what `make run` would refuse is not written
    return proposal


def _commit(target: Path) -> None:
    identity = () if run_git("config", "user.email").stdout.strip() else NO_IDENTITY
    for command in (
        ("init", "--quiet", "--initial-branch", "main"),
        ("add", "--all"),
        (*identity, "commit", "--quiet", "--message", "Begin with plumbline init"),
    ):
        _require_success(run_git("-C", str(target), *command))


def _require_success(done: subprocess.CompletedProcess[str]) -> None:
    if done.returncode:
        raise PlumblineError(f"`{' '.join(done.args)}` failed: {done.stderr.strip()}")
