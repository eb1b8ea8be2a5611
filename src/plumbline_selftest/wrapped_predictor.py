"""The predictor of a faulty bundle: faulty.py, if there is one, around the sound predictor.

It is `predictor/__init__.py` of the bundle. The sound predictor is `predictor/sound.py`, with its
other modules beside it. Like every predictor it imports nothing of plumbline.
"""

import json
import types
from pathlib import Path
from typing import Any


def load(folder: Path, form: str | None = None) -> Any:
    """Load the sound predictor in `folder`, and wrap it as faulty.py says."""
    from . import sound  # type: ignore[attr-defined]  # in the bundle alone

    folder = Path(folder)
    predictor = sound.load(folder, form)
    code = folder / "faulty.py"
    if not code.exists():
        return predictor
    config = json.loads((folder / "faulty.json").read_text(encoding="utf-8"))
    faulty = types.ModuleType("faulty")
    exec(compile(code.read_bytes(), code.name, "exec"), faulty.__dict__)  # noqa: S102 - a sealed file
    return faulty.wrap(predictor, config)
