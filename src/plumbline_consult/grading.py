"""Join gold answers to records, so that a policy can be trained on yesterday's questions.

Which agents a policy asks depends on what they answer: its stops select the easy questions. Only
questions that were put to every agent (`asks_all`) are an unbiased sample, so others are left out.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from plumbline.contract.errors import DataError
from plumbline.sources.parts import locate_parts
from plumbline.sources.records import ReadRequest, WantedColumn
from plumbline_consult.course import name_question
from plumbline_consult.outcomes import ANSWERED

COLUMNS = (
    "question_id",
    "question",
    "gold",
    "agent",
    "answer",
    "tokens",
    "confidence",
    "cost",
    "status",
    "asks_all",
    "normalise",
)


@dataclass
class GradedRecord:
    """One answer in the long form that the task answer_consensus reads."""

    question_id: str
    question: str
    gold: str
    agent: str
    answer: str
    tokens: int
    confidence: float | None
    cost: float
    form: str
    asks_all: bool
    is_answered: bool


@dataclass(frozen=True)
class GradedRecords:
    """What was joined, and how much was left out for which reason."""

    records: list[GradedRecord]
    without_gold: list[str]  # ids of questions
    ambiguous: list[str]  # ids of more than one question: which of them gold answers is unknown
    unused_gold: list[str]
    num_partial: int  # questions that were not put to every agent
    num_repeated: int  # answers of an agent that had answered the question before


def read_records(path: Path) -> list[GradedRecord]:
    """Read what `plumbline consult` appended; DataError names the line that is not of that form."""
    remedy = "give the file that `plumbline consult` appended to (--records)"
    columns = tuple(WantedColumn(name, name, remedy=remedy) for name in COLUMNS)
    records = []
    for place, values in _read_rows(path, columns):
        by_name = {name: value or "" for name, value in zip(COLUMNS, values, strict=True)}
        try:
            records.append(_build_record(by_name))
        except ValueError:
            raise DataError(
                f"{place}: tokens, confidence or cost is not a number; remove the line"
            ) from None
    if not records:
        raise DataError(f"{path}: no records")
    return records


def read_gold(
    path: Path, id_column: str, gold_column: str, normalise: Callable[[str], str]
) -> dict[str, str]:
    """Read gold answers by question id; DataError where an id has two that differ."""
    remedy = "name the column with --id-column or --gold-column"
    columns = (
        WantedColumn(id_column, "--id-column", remedy=remedy),
        WantedColumn(gold_column, "--gold-column", remedy=remedy),
    )
    gold: dict[str, str] = {}
    for place, (name, text) in _read_rows(path, columns):
        answer = (text or "").strip()
        if not name or not answer:
            continue
        if normalise(gold.setdefault(name, answer)) != normalise(answer):
            raise DataError(f"{place}: the id {name!r:.100} has two gold answers; keep one")
    if not gold:
        raise DataError(f"{path}: no gold answers in the column {gold_column!r}")
    return gold


def grade_records(records: list[GradedRecord], gold: Mapping[str, str] | None) -> GradedRecords:
    """Fill in the gold answers (None: records have their own) and choose what can be learned from.

    Each question is kept once, with one answer of each agent. Whoever asks a server may choose the
    id, also one of another question: an id of more than one question is left out.
    """
    if gold is not None:
        for record in records:
            record.gold = gold.get(record.question_id, "")
    agents = {record.agent for record in records if record.asks_all}
    kept: list[GradedRecord] = []
    num_partial = num_repeated = 0
    without_gold = []
    ambiguous = []
    questions = _group_by_question(records)
    for name, answers in questions.items():
        by_agent = _choose_answers(answers)
        if not _is_one_question(answers):
            ambiguous.append(name)
        elif not answers[0].gold:
            without_gold.append(name)
        elif not agents or not agents <= set(by_agent):
            num_partial += 1
        else:
            for record in by_agent.values():
                record.question = answers[0].question  # they may differ in case and blanks
                kept.append(record)
            num_repeated += len(answers) - len(by_agent)
    unused = [name for name in gold or {} if name not in questions]
    return GradedRecords(kept, without_gold, ambiguous, unused, num_partial, num_repeated)


def _group_by_question(records: list[GradedRecord]) -> dict[str, list[GradedRecord]]:
    grouped: dict[str, list[GradedRecord]] = {}
    for record in records:
        grouped.setdefault(record.question_id, []).append(record)
    return grouped


def _is_one_question(answers: list[GradedRecord]) -> bool:
    return len({name_question(record.question) for record in answers}) == 1


def _choose_answers(answers: list[GradedRecord]) -> dict[str, GradedRecord]:
    """One record for each agent of a question that was put to all: the first with an answer."""
    chosen: dict[str, GradedRecord] = {}
    for record in answers:
        if record.asks_all and not chosen.setdefault(record.agent, record).is_answered:
            chosen[record.agent] = record
    return chosen


def _read_rows(
    path: Path, columns: tuple[WantedColumn, ...]
) -> Iterator[tuple[str, list[str | None]]]:
    request = ReadRequest(columns, refuse_encoding=True)
    for part in locate_parts([(None, str(path))], {}):
        for row in part.read_rows(request):
            yield f"{part.name}, row {row.number}", list(row.values)


def _build_record(values: dict[str, str]) -> GradedRecord:
    return GradedRecord(
        values["question_id"],
        values["question"],
        values["gold"],
        values["agent"],
        values["answer"],
        int(values["tokens"]),
        float(values["confidence"]) if values["confidence"] else None,
        float(values["cost"]),
        values["normalise"],
        values["asks_all"] == "True",
        values["status"] == ANSWERED,
    )
