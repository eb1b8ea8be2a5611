"""Join gold answers to records, so that a policy can be trained on yesterday's questions.

Which agents a policy asks depends on what they answer: its stops select the easy questions. Only
questions that were put to every agent (`asks_all`) are an unbiased sample, so others are left out.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from plumbline.contract.errors import DataError, ParamsError
from plumbline_consult.consultation import name_question
from plumbline_consult.questions import read_columns

WRITTEN = ["question_id", "question", "gold", "agent", "answer", "tokens"]
# Why a question is left out, and what can be done.
WITHOUT_GOLD = "questions without a gold answer"
AMBIGUOUS = "ids of more than one question, left out (keep the lines of one in RECORDS)"
PARTIAL = "questions not put to every agent, left out (ask with --ask-all, or set ask_all)"


@dataclass
class AnswerRecord:
    """One recorded answer, and the right one."""

    question_id: str
    question: str
    agent: str
    answer: str  # empty where the agent gave none
    tokens: int
    cost: float  # dollars
    message: str  # why there is no answer
    asks_all: bool
    normalise: str  # how answers are compared
    gold: str = ""


def read_records(path: Path) -> list[AnswerRecord]:
    """Read what `plumbline consult` appended; DataError names the line that is not of that form."""
    records = []
    keys = [field.name for field in fields(AnswerRecord) if field.name != "gold"]
    try:
        lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except (OSError, UnicodeDecodeError):
        raise DataError(f"{path}: cannot be read; give the file of --records") from None
    for number, line in enumerate(lines, 1):
        try:
            values = json.loads(line)
            records.append(AnswerRecord(**{key: values[key] for key in keys}))
        except (ValueError, TypeError, KeyError):
            raise DataError(
                f"{path}, line {number}: not a record; remove the line, or give the file that "
                "`plumbline consult` appended to (--records)"
            ) from None
    return records


def read_gold(path: Path, normalise: Callable[[str], str]) -> dict[str, str]:
    """Read gold answers by question id; DataError where an id has two that differ."""
    gold: dict[str, str] = {}
    for place, (name, text) in read_columns(path, ["question_id", "gold"]):
        answer = (text or "").strip()
        if not name or not answer:
            continue
        if normalise(gold.setdefault(name, answer)) != normalise(answer):
            raise DataError(f"{place}: the id {name!r:.100} has two gold answers; keep one")
    if not gold:
        raise DataError(f"{path}: no gold answers in the column 'gold'")
    return gold


def grade_records(
    records: list[AnswerRecord], gold: Mapping[str, str]
) -> tuple[list[AnswerRecord], dict[str, list[str]]]:
    """Join `gold` to what can be learned from; the second value lists ids by what is amiss.

    Each question is kept once, with one answer of each agent. Whoever asks a server may choose the
    id, also one of another question: an id of more than one question is left out.
    """
    agents = {record.agent for record in records if record.asks_all}
    questions: dict[str, list[AnswerRecord]] = {}
    for record in records:
        questions.setdefault(record.question_id, []).append(record)
    amiss: dict[str, list[str]] = defaultdict(list)
    graded: list[AnswerRecord] = []
    for name, answers in questions.items():
        chosen = _choose_answers(answers)
        if len({name_question(record.question) for record in answers}) > 1:
            amiss[AMBIGUOUS].append(name)
        elif name not in gold:
            amiss[WITHOUT_GOLD].append(name)
        elif not chosen or not agents <= set(chosen):
            amiss[PARTIAL].append(name)
        else:
            for record in chosen.values():
                record.question = answers[0].question  # they may differ in case and blanks
                record.gold = gold[name]
                graded.append(record)
    return graded, amiss


def check_target(path: Path, overwrite: bool) -> None:
    """ParamsError where `path` does not end in .csv, or exists."""
    if path.suffix != ".csv":
        raise ParamsError(f"{path}: expected a name that ends in .csv")
    if path.exists() and not overwrite:
        raise ParamsError(f"{path}: exists; replace it with --overwrite, or choose another name")


def _choose_answers(answers: list[AnswerRecord]) -> dict[str, AnswerRecord]:
    """One record for each agent of a question that was put to all: the first with an answer."""
    chosen: dict[str, AnswerRecord] = {}
    for record in answers:
        if record.asks_all and chosen.setdefault(record.agent, record).message:
            chosen[record.agent] = record
    return chosen
