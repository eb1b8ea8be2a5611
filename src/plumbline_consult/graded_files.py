"""Write graded records as the long form that the source of answer_consensus reads."""

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plumbline.contract.errors import ParamsError
from plumbline.process.files import write_aside
from plumbline_consult.grading import GradedRecord

NAMES = ("question_id", "question", "gold", "agent", "answer", "tokens", "confidence")
ENDINGS = (".csv", ".jsonl", ".parquet")


@dataclass(frozen=True)
class AgentSummary:
    """How one agent did on the graded questions, and what 1,000 of its tokens cost in the mean."""

    agent: str
    num_answers: int
    num_missing: int
    num_right: int
    price: float  # dollars of 1,000 tokens
    cost: float  # dollars of one answer


def check_target(path: Path, overwrite: bool) -> None:
    """ParamsError where `path` has another ending than can be written, or exists."""
    if path.suffix not in ENDINGS:
        raise ParamsError(f"{path}: expected a name that ends in {', '.join(ENDINGS)}")
    if path.exists() and not overwrite:
        raise ParamsError(f"{path}: exists; replace it with --overwrite, or choose another name")


def write_records(path: Path, records: Sequence[GradedRecord]) -> None:
    """Write `records` in the format of the path's ending; the file appears when it is complete."""
    rows = [{name: getattr(record, name) for name in NAMES} for record in records]
    with write_aside(path) as aside:
        if path.suffix == ".parquet":
            _write_parquet(aside, rows)
        elif path.suffix == ".jsonl":
            lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
            aside.write_text("".join(lines), encoding="utf-8")
        else:
            with aside.open("w", encoding="utf-8", newline="") as file:
                writer = csv.DictWriter(file, NAMES)
                writer.writeheader()
                writer.writerows(rows)


def summarise_agents(records: Sequence[GradedRecord], normalise: Any) -> list[AgentSummary]:
    """Summarise each agent, in the order of the records."""
    grouped: dict[str, list[GradedRecord]] = {}
    for record in records:
        grouped.setdefault(record.agent, []).append(record)
    return [_summarise_agent(agent, answers, normalise) for agent, answers in grouped.items()]


def _summarise_agent(agent: str, answers: list[GradedRecord], normalise: Any) -> AgentSummary:
    num_missing = sum(not record.answer for record in answers)
    num_right = 0
    for record in answers:
        answer = normalise(record.answer)
        num_right += bool(answer) and answer == normalise(record.gold)
    cost = sum(record.cost for record in answers)
    tokens = sum(record.tokens for record in answers)
    price = 1000 * cost / tokens if tokens else 0.0
    return AgentSummary(agent, len(answers), num_missing, num_right, price, cost / len(answers))


def _write_parquet(path: Path, rows: list[dict[str, Any]]) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.Table.from_pylist(rows), path)
