"""dvc.yaml and dvc.lock, read before DVC reads them: it does not say where one is broken."""

from pathlib import Path

from plumbline.contract.errors import ParamsError
from plumbline.contract.yaml_file import scan_yaml
from plumbline.process.lineage import ask_git

PIPELINE = Path("dvc.yaml")
LOCK = Path("dvc.lock")
MARKERS = ("<<<<<<< ", ">>>>>>> ")
CHOOSE = "`git checkout --ours {path}` (or --theirs) and `git add {path}`"


def check_pipeline() -> None:
    """Raise ParamsError with file and line where dvc.yaml cannot be read."""
    _refuse_markers(PIPELINE)
    if not scan_yaml(PIPELINE):
        raise ParamsError(f"{PIPELINE}: empty; `git checkout {PIPELINE}` restores it")


def check_lock() -> None:
    """Raise ParamsError with file and line where dvc.lock cannot be read, or holds one side alone.

    DVC writes it in place, so that a kill or a full disk may cut it off.
    """
    if not LOCK.exists():
        return
    _refuse_markers(LOCK)
    if ask_git("ls-files", "--unmerged", "--", str(LOCK)):
        raise ParamsError(
            f"{LOCK}: git calls it unmerged, so it may hold one side alone; choose one by "
            f"{CHOOSE.format(path=LOCK)}, then run again"
        )
    problem = _find_problem()
    if problem is not None:
        raise ParamsError(
            f"{problem}; `git checkout {LOCK}` restores it, if it is in git; without it "
            f"(`rm {LOCK}`) DVC finds the results of all stages in its cache"
        )


def _find_problem() -> str | None:
    try:
        return None if scan_yaml(LOCK) else f"{LOCK}: empty"
    except ParamsError as error:
        return str(error)


def _refuse_markers(path: Path) -> None:
    if not path.exists():
        raise ParamsError(f"{path}: does not exist; run from the top of the repository")
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    for number, line in enumerate(lines, start=1):
        if line.startswith(MARKERS):
            raise ParamsError(
                f"{path}:{number}: a merge left its markers here; edit the file and `git add` it, "
                f"or choose a side by {CHOOSE.format(path=path)}, then run again"
            )
