"""dvc.yaml and dvc.lock, read before DVC reads them: it does not say where one is broken.

DVC writes dvc.lock in place, so that a kill or a full disk may cut it off. A copy of the last
whole one is kept.
"""

from pathlib import Path

from plumbline.contract import layout
from plumbline.contract.errors import ParamsError
from plumbline.contract.lineage import ask_git
from plumbline.contract.recorded_outputs import DVC_LOCK, read_outputs
from plumbline.contract.yaml_file import scan_yaml
from plumbline.pipeline_run.damaged import put_aside, report

PIPELINE = Path("dvc.yaml")
COPY = Path(".plumbline/dvc.lock")
MARKERS = ("<<<<<<< ", ">>>>>>> ")
CHOOSE = "`git checkout --ours {path}` (or --theirs) and `git add {path}`"


def check_pipeline() -> None:
    """Raise ParamsError with file and line where dvc.yaml cannot be read."""
    _refuse_markers(PIPELINE)
    if not scan_yaml(PIPELINE):
        raise ParamsError(f"{PIPELINE}: empty; `git checkout {PIPELINE}` restores it")


def repair_lock() -> None:
    """Restore dvc.lock from the last run where it is cut off.

    Raises ParamsError with file and line where nothing is there to restore it from, and where a
    merge left its markers, or one side alone.
    """
    if not DVC_LOCK.exists():
        return
    _refuse_markers(DVC_LOCK)
    if ask_git("ls-files", "--unmerged", "--", str(DVC_LOCK)):
        raise ParamsError(
            f"{DVC_LOCK}: git calls it unmerged, so it may hold one side alone; choose one by "
            f"{CHOOSE.format(path=DVC_LOCK)}, then run again"
        )
    problem = _find_problem()
    if problem is None:
        return
    if not COPY.exists():
        raise ParamsError(
            f"{problem}; `git checkout {DVC_LOCK}` restores it, if it is in git; without it "
            f"(`rm {DVC_LOCK}`) DVC finds the results of all stages in its cache"
        )
    aside = put_aside(DVC_LOCK)
    with layout.write_aside(DVC_LOCK) as path:
        path.write_bytes(COPY.read_bytes())
    report(f"{problem}; it is as the last run left it, and the broken one is {aside}")


def keep_copy() -> None:
    """Keep a copy of dvc.lock, if it is whole, for the next run."""
    if DVC_LOCK.exists() and _find_problem() is None:
        content = DVC_LOCK.read_bytes()
        if not COPY.exists() or COPY.read_bytes() != content:
            with layout.write_aside(COPY) as path:
                path.write_bytes(content)


def _find_problem() -> str | None:
    try:
        if not scan_yaml(DVC_LOCK):
            return f"{DVC_LOCK}: empty"
        read_outputs()
    except (ParamsError, ValueError) as error:
        return str(error)
    except (TypeError, KeyError, AttributeError):
        return f"{DVC_LOCK}: a stage has outputs that cannot be read"
    return None


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
