"""Recorded answers in long form, one row for each question and agent, as any log has them."""

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from plumbline.contract.errors import DataError
from plumbline.contract.suggestion import suggest_nearest
from plumbline.sources.parts import locate_parts
from plumbline.tables.records import ReadRequest, SourceRow, WantedColumn
from tasks.answer_consensus.params import Columns, RecordedData

NUM_NAMES = 12  # of agents that a message lists
SYNONYMS = {
    "question_id": ("id", "qid", "item", "uid"),
    "question": ("prompt", "input", "text", "problem"),
    "gold": ("target", "label", "truth", "reference", "expected"),
    "agent": ("model", "system", "worker", "annotator"),
    "answer": ("output", "response", "completion", "prediction"),
    "tokens": ("num_tokens", "completion_tokens", "output_tokens", "usage"),
}


class RecordedAnswer(NamedTuple):
    """One answer of one agent, and where it was read."""

    place: str
    question_id: str
    question: str
    gold: str
    agent: str  # its name in params
    answer: str  # empty where it gave none
    tokens: int
    topic: str | None
    group: str | None


def read_records(data: RecordedData, notices: list[str]) -> Iterator[RecordedAnswer]:
    """Yield the answers of the agents that params name; DataError names the row that is wrong."""
    names = {(agent.recorded_as, agent.sample): name for name, agent in data.agents.items()}
    request = ReadRequest(_list_columns(data.columns), refuse_encoding=False, notices=notices)
    others: Counter[str] = Counter()
    seen: set[str] = set()
    for part in locate_parts([(None, data.source)], data.sha256):
        for row in part.read_rows(request):
            place = f"{part.name}, row {row.number}"
            values = _name_values(data.columns, row)
            key = (values["agent"] or "", _read_sample(values, place))
            if key in names:
                seen.add(names[key])
                yield _read_record(values, names[key], place)
            else:
                others[_describe_agent(key)] += 1
    _check_agents(data, seen, others)
    if others:
        listed = ", ".join(sorted(others)[:NUM_NAMES])
        notices.append(f"{others.total()} answers of agents that params do not name: {listed}")


def _list_columns(columns: Columns) -> tuple[WantedColumn, ...]:
    wanted = []
    for name, column in columns.model_dump().items():
        if column is not None:
            wanted.append(WantedColumn(column, f"data.columns.{name}", SYNONYMS.get(name, ())))
    return tuple(wanted)


def _name_values(columns: Columns, row: SourceRow) -> dict[str, str | None]:
    names = [name for name, column in columns.model_dump().items() if column is not None]
    return dict(zip(names, row.values, strict=True))


def _read_record(values: dict[str, str | None], agent: str, place: str) -> RecordedAnswer:
    answer = values["answer"] or ""
    for name in ("question_id", "question"):
        if not (values[name] or "").strip():
            raise DataError(f"{place}: {name} is empty; every row names its question")
    if not (values["gold"] or "").strip():
        raise DataError(
            f"{place}: question {values['question_id']} has no gold; grade it, or leave it out: "
            "without the right answer nothing can be learned from it"
        )
    return RecordedAnswer(
        place=place,
        question_id=str(values["question_id"]),
        question=str(values["question"]),
        gold=str(values["gold"]),
        agent=agent,
        answer=answer,
        tokens=_read_tokens(values, answer, place),
        topic=values.get("topic") or None,
        group=values.get("group") or None,
    )


def _read_tokens(values: dict[str, str | None], answer: str, place: str) -> int:
    if "tokens" not in values:
        return int(bool(answer.strip()))
    number = _read_number(values["tokens"])
    if number is None or number < 0 or not float(number).is_integer():
        raise DataError(
            f"{place}: tokens: expected a whole number, found {values['tokens']!r:.40}; "
            "give what the answer was billed for"
        )
    if number == 0 and answer.strip():
        raise DataError(
            f"{place}: 0 tokens for an answer of {len(answer)} characters; give what it was billed "
            "for, since an agent that costs nothing is always asked"
        )
    return int(number)


def _read_sample(values: dict[str, str | None], place: str) -> int:
    text = values.get("sample")
    if text is None:
        return 0
    number = _read_number(text)
    if number is None or number < 0 or not float(number).is_integer():
        raise DataError(f"{place}: sample: expected a whole number, found {text!r:.40}")
    return int(number)


def _read_number(text: Any) -> float | None:
    try:
        number = float(text)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _check_agents(data: RecordedData, seen: set[str], others: Counter[str]) -> None:
    for name, agent in data.agents.items():
        if name not in seen:
            recorded = sorted(others)
            wanted = _describe_agent((agent.recorded_as, agent.sample))
            hint = suggest_nearest(wanted, recorded)
            listed = ", ".join(recorded[:NUM_NAMES]) or "no other agent"
            raise DataError(
                f"{data.source}: no answer of {wanted}, as which data.agents.{name} is recorded"
                f"{hint}; the file also has {listed}"
            )


def _describe_agent(key: tuple[str, int]) -> str:
    name, sample = key
    return f"{name}, sample {sample}" if sample else name
