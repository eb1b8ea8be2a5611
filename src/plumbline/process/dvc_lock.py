"""dvc.yaml and dvc.lock, read before DVC reads them: it does not say where one is broken."""

import re
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from plumbline.contract import layout
from plumbline.contract.dotted_keys import flatten
from plumbline.contract.errors import ParamsError
from plumbline.contract.yaml_file import load_yaml

PIPELINE = Path("dvc.yaml")
LOCK = Path("dvc.lock")
BEGAN: ContextVar[tuple[Any, str, str | None]] = ContextVar("params, stage, candidate")
MARKERS = ("<<<<<<< ", ">>>>>>> ")
CHOOSE = "`git checkout --ours {path}` (or --theirs) and `git add {path}`"


def check_files() -> None:
    """Raise ParamsError with file and line where dvc.yaml or dvc.lock cannot be read.

    DVC writes dvc.lock in place, so that a kill or a full disk may cut it off.
    """
    _refuse_markers(PIPELINE)
    if not load_yaml(PIPELINE):
        raise ParamsError(f"{PIPELINE}: empty; `git checkout {PIPELINE}` restores it")
    if not LOCK.exists():
        return
    _refuse_markers(LOCK)
    problem = f"{LOCK}: empty"
    try:
        if load_yaml(LOCK):
            return
    except ParamsError as error:
        problem = str(error)
    raise ParamsError(
        f"{problem}; `git checkout {LOCK}` restores it, if it is in git; without it (`rm {LOCK}`) "
        "DVC finds the results of all stages in its cache"
    )


def refuse_changed_params() -> None:
    """Raise ParamsError where params that the stage in BEGAN depends on are others than before.

    DVC reads them when a stage has ended, and would take its outputs for those of the new values.
    """
    if (began := BEGAN.get(None)) is None:
        return
    before, stage, candidate = began
    now = load_yaml(layout.PARAMS)
    old, new = (dict(flatten(values)) for values in (before, now if isinstance(now, dict) else {}))
    changed = [key for key in {**old, **new} if old.get(key) != new.get(key)]
    if not changed:
        return
    entry = load_yaml(PIPELINE)["stages"][stage]
    names = re.sub(r"\$\{\w+}", str(candidate), " ".join(entry.get("do", entry)["params"]))
    for key in changed:
        if any(f"{key}.".startswith(f"{name}.") for name in names.split()):
            raise ParamsError(
                f"{layout.PARAMS}: {key.partition('://')[0]} was changed while {stage} ran; run "
                "the same command again, or put it back first to keep what was trained"
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
