"""From answers in long form to one row for each question, with a column for each agent."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from plumbline.contract.errors import DataError
from tasks.answer_consensus.data.records import RecordedAnswer
from tasks.answer_consensus.predictor import find_normaliser

LENGTHS = ("short", "medium", "long")  # thirds of the questions' lengths, where no topic is given


@dataclass(frozen=True)
class Answers:
    """The questions of one split [Q], and what A agents answered."""

    ids: np.ndarray  # [Q], of text, as all that follow up to `groups`
    questions: np.ndarray
    golds: np.ndarray
    labels: np.ndarray  # topic, or length in thirds
    groups: np.ndarray  # of questions that belong together; empty: none
    answers: np.ndarray  # [Q, A]; empty where an agent gave none
    tokens: np.ndarray  # [Q, A]

    def take(self, rows: np.ndarray) -> "Answers":
        """Return some of the questions."""
        return Answers(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))

    @property
    def digests(self) -> list[str]:
        """SHA-256 of each question, without regard to case and blanks."""
        return list(map(digest_question, self.questions))

    @property
    def content_digests(self) -> list[str]:
        """SHA-256 of each question, its gold and what the agents answered, all as they are."""
        columns = (self.questions, self.golds, self.answers, self.tokens)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return [hashlib.sha256(json.dumps(row).encode()).hexdigest() for row in rows]


def build_answers(
    records: Iterable[RecordedAnswer], agents: Sequence[str], normalise: str, notices: list[str]
) -> Answers:
    """Collect the records by question, and check that every agent answered each of them once.

    Raises DataError that names the row. A question that is there under two ids is kept once.
    """
    by_question: dict[str, dict[str, RecordedAnswer]] = {}
    for record in records:
        answered = by_question.setdefault(record.question_id, {})
        if record.agent in answered:
            raise DataError(
                f"{record.place}: agent {record.agent} answered question {record.question_id} "
                f"already in {answered[record.agent].place}; keep one of them, or number them in a "
                "column `sample`"
            )
        _check_question(record, answered, normalise)
        answered[record.agent] = record
    _check_complete(by_question, agents)
    kept = _drop_copies(by_question, notices)
    if not kept:
        raise DataError("data.source has no question; name a file with recorded answers")
    return _join_rows([[answered[name] for name in agents] for answered in kept])


def digest_question(text: str) -> str:
    """Return the SHA-256 of a question, without regard to case and blanks."""
    return hashlib.sha256(" ".join(text.casefold().split()).encode()).hexdigest()


def _check_question(
    record: RecordedAnswer, answered: dict[str, RecordedAnswer], normalise: str
) -> None:
    """Raise DataError where a question has another text, gold, topic or group than in a row before.

    Gold may be written in another form: it is compared as answers are.
    """
    for other in answered.values():
        read = find_normaliser(normalise)
        same_gold = read(record.gold) == read(other.gold)
        for name, is_same in (
            ("question", record.question == other.question),
            ("gold", same_gold),
            ("topic", record.topic == other.topic),
            ("group", record.group == other.group),
        ):
            if not is_same:
                raise DataError(
                    f"{record.place}: {name} of question {record.question_id} is "
                    f"{getattr(record, name)!r:.60}, and {getattr(other, name)!r:.60} in "
                    f"{other.place}; give each question its own id"
                )
        return
    if not find_normaliser(normalise)(record.gold):
        raise DataError(
            f"{record.place}: gold {record.gold!r:.60} of question {record.question_id} holds no "
            f"{normalise}; repair it, or set data.normalise to exact"
        )


def _check_complete(
    by_question: dict[str, dict[str, RecordedAnswer]], agents: Sequence[str]
) -> None:
    missing = []
    for question_id, answered in by_question.items():
        absent = [name for name in agents if name not in answered]
        if absent:
            place = next(iter(answered.values())).place
            missing.append((question_id, absent, place))
    if missing:
        question_id, absent, place = missing[0]
        raise DataError(
            f"question {question_id} ({place}) has no row of {', '.join(absent[:5])}, and "
            f"{len(missing):,} of {len(by_question):,} questions lack an agent; write a row with "
            "an empty answer where an agent failed, or take the agent out of data.agents"
        )


def _drop_copies(
    by_question: dict[str, dict[str, RecordedAnswer]], notices: list[str]
) -> list[dict[str, RecordedAnswer]]:
    """Keep each question once, by its text: a copy in one split would count twice."""
    kept: dict[str, dict[str, RecordedAnswer]] = {}
    for answered in by_question.values():
        kept.setdefault(digest_question(next(iter(answered.values())).question), answered)
    num_copies = len(by_question) - len(kept)
    if num_copies:
        notices.append(f"{num_copies} questions repeat another one's text and were left out")
    return list(kept.values())


def _join_rows(rows: Sequence[Sequence[RecordedAnswer]]) -> Answers:
    firsts = [row[0] for row in rows]
    lengths = np.array([len(record.question) for record in firsts])
    thirds = np.quantile(lengths, (1 / 3, 2 / 3))
    labels = [
        record.topic or LENGTHS[int(np.searchsorted(thirds, length))]
        for record, length in zip(firsts, lengths, strict=True)
    ]
    return Answers(
        ids=np.array([record.question_id for record in firsts], object),
        questions=np.array([record.question for record in firsts], object),
        golds=np.array([record.gold for record in firsts], object),
        labels=np.array(labels, object),
        groups=np.array([record.group or "" for record in firsts], object),
        answers=np.array([[record.answer for record in row] for row in rows], object),
        tokens=np.array([[record.tokens for record in row] for row in rows], np.int64),
    )
