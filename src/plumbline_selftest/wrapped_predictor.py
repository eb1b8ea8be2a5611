"""The predictor of a faulty bundle: faulty.py, if there is one, around the sound predictor.

Like every predictor it goes into a bundle and imports nothing of plumbline.
"""

import json
import types
from pathlib import Path
from typing import Any


def load(folder: Path, form: str | None = None) -> Any:
    """Load the sound predictor, sound.py in `folder`, and wrap it as faulty.py says."""
    folder = Path(folder)
    sound = _run_module(folder / "sound.py").load(folder, form)
    if not (folder / "faulty.py").exists():
        return sound
    config = json.loads((folder / "faulty.json").read_text(encoding="utf-8"))
    return _run_module(folder / "faulty.py").wrap(sound, config)


def _run_module(path: Path) -> Any:
    module = types.ModuleType(path.stem)
    exec(compile(path.read_bytes(), path.name, "exec"), module.__dict__)  # noqa: S102 - sealed files
    return module
