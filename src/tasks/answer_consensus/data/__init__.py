"""From recorded answers to questions on disk, and back."""

from tasks.answer_consensus.data.ingestion import ingest, list_rows
from tasks.answer_consensus.data.inputs import list_columns, read_inputs
from tasks.answer_consensus.data.play import AskedCourse, play
from tasks.answer_consensus.data.storage import (
    AnswerSetting,
    read_answers,
    read_paid_setting,
    read_setting,
    shuffle_labels,
)
from tasks.answer_consensus.data.tables import Answers
from tasks.answer_consensus.predictor import find_normaliser

__all__ = [
    "AnswerSetting",
    "Answers",
    "AskedCourse",
    "find_normaliser",
    "ingest",
    "list_columns",
    "list_rows",
    "play",
    "read_answers",
    "read_inputs",
    "read_paid_setting",
    "read_setting",
    "shuffle_labels",
]
