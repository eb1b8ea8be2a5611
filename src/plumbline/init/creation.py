"""A repository of one's own, written as a whole or not at all."""

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from keyword import iskeyword
from pathlib import Path
from tempfile import TemporaryDirectory

from plumbline.contract.errors import DataError, ParamsError, PlumblineError
from plumbline.contract.task_packages import find_task_package
from plumbline.init.answers import InitAnswers
from plumbline.init.git import call_git
from plumbline.init.rendering import render_repository
from plumbline.init.survey import FileSurvey, inspect_file
from plumbline.init.wheel import write_wheel
from plumbline.process import leftovers
from plumbline.process.lineage import run_git

RAW = Path("data/raw")
UNUSUAL = re.compile(r"[^\w.-]+")
TASK_NAME = re.compile(r"[a-z][a-z0-9_]*")
NO_IDENTITY = ("-c", "user.name=plumbline", "-c", "user.email=plumbline@localhost")
MAX_NAME = 60  # characters of a registered model's name


@dataclass(frozen=True)
class InitRequest:
    """What a user asks for; what is None is guessed."""

    folder: Path
    data: Path
    test: Path | None
    text: str | None
    labels: Sequence[str]  # none: guessed
    task: str | None = None  # the name of an own task that is made from the example
    separator: str | None = None  # of several labels in a cell; "": a cell is one label
    passage: str | None = None  # the column of what answers a text, for a search


def create_repository(request: InitRequest) -> tuple[FileSurvey, list[str]]:
    """Write the repository, with one commit; return what was seen, and why its params are so.

    Raises PlumblineError where the folder has something in it, and DataError where the file cannot
    be used; then nothing is written.
    """
    folder = request.folder.absolute()
    _check_is_free(folder)
    if request.task is not None:
        _check_task(request.task)
    named = (request.text, request.labels, request.separator, request.passage)
    survey = inspect_file(request.data, *named)
    if survey.passage and (request.test or request.task):
        raise ParamsError(
            "--test and --with-task are for texts with labels; of pairs, rows of --data are held "
            "out, and the whole task comes as src/tasks/retrieval"
        )
    if request.test is not None:
        inspect_file(request.test, survey.text, survey.labels, survey.separator or "")
    folder.parent.mkdir(parents=True, exist_ok=True)
    beside = leftovers.make_aside_folder(folder.parent, folder.name)
    with beside as aside, TemporaryDirectory() as scratch:
        answers = _collect_answers(request, survey)
        proposal = render_repository(aside, answers, write_wheel(Path(scratch)))
        (aside / RAW).mkdir(exist_ok=True)
        for path, copy in _name_copies(request).items():
            copy_one = shutil.copytree if path.is_dir() else shutil.copyfile
            copy_one(path, aside / copy)
        _commit(aside)
        aside.replace(folder)
    return survey, proposal.reasons


def _check_is_free(folder: Path) -> None:
    if folder.is_file():
        raise PlumblineError(f"{folder}: a file; name a new folder")
    present = ", ".join(sorted(path.name for path in folder.glob("*"))[:3])
    if present:
        raise PlumblineError(f"{folder}: not empty (found {present}); name a new folder")


def _check_task(name: str) -> None:
    if not TASK_NAME.fullmatch(name) or iskeyword(name):
        raise ParamsError(
            f"--with-task {name}: expected a name of a package of Python: a letter, then letters, "
            "digits and _, in lower case"
        )
    if find_task_package(name) is not None:
        raise ParamsError(f"--with-task {name}: a task of plumbline has this name; choose another")


def _name_model(folder: str) -> str:
    """Return a name for the registered model; it begins with a letter."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", folder).strip("-_")
    return (name if name[:1].isalpha() else f"model-{name}".rstrip("-"))[:MAX_NAME]


def _collect_answers(request: InitRequest, survey: FileSurvey) -> InitAnswers:
    copies = [copy.as_posix() for copy in _name_copies(request).values()]
    given = len(copies) > 1
    return InitAnswers(
        name=_name_model(request.folder.absolute().name),
        task=request.task,
        file=request.data.name,
        source={"train": copies[0], "validation": None, "test": copies[1]} if given else copies[0],
        text=survey.text,
        label=survey.labels[0] if len(survey.labels) == 1 else survey.labels,
        num_rows=survey.num_rows,
        long_text=survey.long_text,
        english=survey.english,
        majority=round(survey.majority, 4),
        label_separator=survey.separator,
        passage=survey.passage,
        negative=survey.negative,
        held_out=survey.held_out,
    )


def _name_copies(request: InitRequest) -> dict[Path, Path]:
    """Return where in the repository each file of data is copied to."""
    copies: dict[Path, Path] = {}
    for path in filter(None, (request.data, request.test)):
        copy = RAW / UNUSUAL.sub("-", path.name)
        if copy in copies.values():
            raise DataError(f"{path}: has the name of another file; rename one of them")
        copies[path] = copy
    return copies


def _commit(target: Path) -> None:
    call_git(target, "init", "--quiet", "--initial-branch", "main")
    call_git(target, "add", "--all", "--force")  # a user's own list of ignored files does not count
    message = ("commit", "--quiet", "--message", "Begin with plumbline init")
    if run_git("-C", str(target), *message).returncode:  # git may not know who commits
        call_git(target, *NO_IDENTITY, *message)
