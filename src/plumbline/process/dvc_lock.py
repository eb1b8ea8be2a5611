"""dvc.yaml and dvc.lock, read before DVC reads them: it does not say where one is broken."""

from pathlib import Path

from plumbline.contract.errors import ParamsError
from plumbline.contract.yaml_file import scan_yaml

PIPELINE = Path("dvc.yaml")
LOCK = Path("dvc.lock")
MARKERS = ("<<<<<<< ", ">>>>>>> ")
CHOOSE = "`git checkout --ours {path}` (or --theirs) and `git add {path}`"


def check_files() -> None:
    """Raise ParamsError with file and line where dvc.yaml or dvc.lock cannot be read.

    DVC writes dvc.lock in place, so that a kill or a full disk may cut it off.
    """
    _refuse_markers(PIPELINE)
    if not scan_yaml(PIPELINE):
        raise ParamsError(f"{PIPELINE}: empty; `git checkout {PIPELINE}` restores it")
    if not LOCK.exists():
        return
    _refuse_markers(LOCK)
    problem = f"{LOCK}: empty"
    try:
        if scan_yaml(LOCK):
            return
    except ParamsError as error:
        problem = str(error)
    raise ParamsError(
        f"{problem}; `git checkout {LOCK}` restores it, if it is in git; without it (`rm {LOCK}`) "
        "DVC finds the results of all stages in its cache"
    )


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
