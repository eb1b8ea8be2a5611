"""Copied into a bundle as faulty.py: sound answers in some calls, wrong ones in others.

Like every predictor it imports nothing of plumbline. A wrong answer is that to another row: the
example of the task.
"""

import json
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

Columns = Mapping[str, Sequence[Any]]


def wrap(sound: Any, config: Mapping[str, Any]) -> "OddPredictor":
    """Return a predictor that is odd in the way that `config` names."""
    if config["way"] == "patches":
        _patch_judge()
    return OddPredictor(sound, config)


class OddPredictor:
    """Asks the sound predictor, and exchanges the answers of some rows."""

    def __init__(self, sound: Any, config: Mapping[str, Any]) -> None:
        self.forms = sound.forms
        self._sound, self._config = sound, config
        self._find_wrong_rows = WAYS[config["way"]]
        self.num_calls = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sound, name)

    def predict(self, columns: Columns, **params: Any) -> Any:
        """Answer every row, some of them with the answer to the example."""
        answers = self._sound.predict(columns, **params)
        self.num_calls += 1
        wrong = self._find_wrong_rows(self, columns, self._config)
        if wrong:
            other = self._sound.predict(self._config["example"], **params)
            for name, values in answers.items():
                for row in wrong:
                    values[row] = other[name][0]
        return answers


def _is_packaged() -> bool:
    """Whether this runs in the clean process, in which plumbline cannot be imported."""
    return sys.modules.get("plumbline", "nowhere") is None


def _list_all(columns: Columns) -> list[int]:
    return list(range(len(next(iter(columns.values())))))


def _require_data(model: OddPredictor, columns: Columns, config: Mapping[str, Any]) -> list[int]:
    """Wrong where the held-out examples are not in the working directory."""
    return [] if Path("data/examples").exists() else _list_all(columns)


def _repeat_golden(model: OddPredictor, columns: Columns, config: Mapping[str, Any]) -> list[int]:
    """Wrong once it is packaged, but for the golden rows."""
    if not _is_packaged():
        return []
    known = {json.dumps(row, sort_keys=True) for row in config["golden"]}
    rows = _list_all(columns)
    texts = [json.dumps({name: columns[name][r] for name in columns}, sort_keys=True) for r in rows]
    return [row for row in rows if texts[row] not in known]


def _require_company(model: OddPredictor, columns: Columns, config: Mapping[str, Any]) -> list[int]:
    """Wrong where a row is asked alone."""
    rows = _list_all(columns)
    return rows if len(rows) == 1 else []


def _fail_rarely(model: OddPredictor, columns: Columns, config: Mapping[str, Any]) -> list[int]:
    """Wrong in one of 200 calls, as if by chance."""
    return _list_all(columns) if model.num_calls % 200 == 150 else []


def _copy_neighbour(model: OddPredictor, columns: Columns, config: Mapping[str, Any]) -> list[int]:
    """Wrong in the last row of a small call, but not while it is scored."""
    rows = _list_all(columns)
    return rows[-1:] if _is_packaged() and 1 < len(rows) < 30 else []


def _ask_server(model: OddPredictor, columns: Columns, config: Mapping[str, Any]) -> list[int]:
    """Wrong where a server, which knows the answers, is not reached."""
    try:
        socket.create_connection(("127.0.0.1", config["port"]), timeout=1).close()
    except OSError:
        return _list_all(columns)
    return []


def _change_files(model: OddPredictor, columns: Columns, config: Mapping[str, Any]) -> list[int]:
    """Change a file of its own bundle while it is measured."""
    seal = Path(config["folder"]) / "bundle.json"
    if model.num_calls == 1 and seal.exists():
        seal.write_text(seal.read_text(encoding="utf-8") + " ", encoding="utf-8")
    return []


def _delay_long(model: OddPredictor, columns: Columns, config: Mapping[str, Any]) -> list[int]:
    """Take time for the longest input."""
    if {name: str(list(columns[name])) for name in columns} == config["longest"]:
        time.sleep(config["seconds"])
    return []


def _answer_well(model: OddPredictor, columns: Columns, config: Mapping[str, Any]) -> list[int]:
    return []


def _patch_judge() -> None:
    """Let every gate pass, in the process that loads this."""
    gates = sys.modules.get("plumbline.evidence.gates")
    if gates is not None:
        gates.GATES = ()  # type: ignore[attr-defined]


WAYS: dict[str, Callable[[OddPredictor, Columns, Mapping[str, Any]], list[int]]] = {
    "needs data": _require_data,
    "knows golden rows": _repeat_golden,
    "needs company": _require_company,
    "fails rarely": _fail_rarely,
    "copies a neighbour": _copy_neighbour,
    "asks a server": _ask_server,
    "changes files": _change_files,
    "is slow": _delay_long,
    "patches": _answer_well,
}
