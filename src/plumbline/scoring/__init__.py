"""Score files of any size with a registered model that was verified; needs no MLflow, no torch."""

from plumbline.scoring.request import ScoringRequest
from plumbline.scoring.scorer import ScoringSummary, score

__all__ = ["ScoringRequest", "ScoringSummary", "score"]
