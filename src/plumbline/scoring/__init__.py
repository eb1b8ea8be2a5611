"""Score files of any size with a registered model that was verified; needs no MLflow, no torch."""

from plumbline.scoring.folder_scorer import FolderSummary, make_local_engine, score_folder
from plumbline.scoring.folders import is_folder
from plumbline.scoring.request import ScoringRequest
from plumbline.scoring.scorer import ScoringSummary, score
from plumbline.scoring.spark_engine import make_spark_engine

__all__ = [
    "FolderSummary",
    "ScoringRequest",
    "ScoringSummary",
    "is_folder",
    "make_local_engine",
    "make_spark_engine",
    "score",
    "score_folder",
]
