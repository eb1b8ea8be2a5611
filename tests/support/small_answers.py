"""Recorded answers that are learned from in seconds: parameters, examples, rows in long form."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from plumbline.contract.yaml_file import load_yaml
from tasks.answer_consensus.params import ConsensusParams

ROOT = Path(__file__).resolve().parents[2]
FIXTURE = ROOT / "src/tasks/answer_consensus/faults/params.yaml"
COLUMNS = ("question_id", "question", "gold", "agent", "answer", "tokens")


def values(**data: Any) -> dict[str, Any]:
    """The params of the selftest with fewer questions, and changes of `data`."""
    loaded: dict[str, Any] = load_yaml(FIXTURE)
    loaded["data"] |= data
    if loaded["data"]["generated"] is not None:
        loaded["data"]["generated"]["num_questions"] = 900
    loaded["validation"]["min_rows"] = 50
    return loaded


def small_params(**data: Any) -> ConsensusParams:
    """As `values`, checked."""
    return ConsensusParams.model_validate(values(**data))


def file_params(path: Path, agents: Mapping[str, str], **data: Any) -> ConsensusParams:
    """Params that read `path`; `agents` are names, each with what it is recorded as."""
    named = {
        name: {"recorded_as": recorded, "sample": 0, "model": name, "price": 0.01}
        for name, recorded in agents.items()
    }
    columns = {name: name for name in COLUMNS}
    absent = {"sample": None, "topic": None, "group": None}
    given = {"columns": columns | absent, "source": str(path), "agents": named, "generated": None}
    return small_params(**given | data)


def list_rows(
    num_questions: int = 60, agents: Iterable[str] = ("ada", "bob")
) -> list[dict[str, Any]]:
    """Rows in long form: ada is always right, every other agent on two of three questions."""
    rows = []
    for number in range(num_questions):
        for place, agent in enumerate(agents):
            right = place == 0 or (number + place) % 3
            row = {
                "question_id": f"q{number}",
                "question": f"How much is {number} and seven, asked as number {number * 7919}?",
                "gold": str(number + 7),
                "agent": agent,
                "answer": str(number + 7 if right else number + 8 + place),
                "tokens": 10 * (place + 1),
            }
            rows.append(row)
    return rows


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    """Write rows as CSV; the path."""
    pd.DataFrame(rows, dtype=object).to_csv(path, index=False)
    return path
