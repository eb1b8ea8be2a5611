"""On how many rows challenger and champion answer differently: what a canary may be expected to."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from plumbline.contract.answers import count_differing_rows
from plumbline.contract.records import Scores
from plumbline.contract.task import Columns, Predictor, count_rows

NUM_ROWS = 500  # asked of both where scores hold no answers: their share to within 4 points


@dataclass(frozen=True)
class Disagreement:
    """How many of `num_rows` rows of the test split two predictors answer differently."""

    num_rows: int
    num_differing: int

    def describe(self) -> dict[str, Any]:
        """Return what evidence says of it: the share, and the number of rows it is of."""
        return {"disagreement": self.num_differing / self.num_rows, "num_rows": self.num_rows}


def count_disagreement(ours: Scores, theirs: Scores) -> Disagreement | None:
    """Count the rows with different answers; None where the scores hold no answers."""
    one, other = (scores.per_example.get("predicted") for scores in (ours, theirs))
    if one is None or other is None:
        return None
    return Disagreement(len(one), int(np.sum(np.asarray(one) != np.asarray(other))))


def measure_disagreement(
    scores: tuple[Scores, Scores], predictors: tuple[Predictor, Predictor], inputs: Columns
) -> Disagreement:
    """Count the test rows with different answers; both scores are in one order of rows.

    Where the scores hold no answers (`predicted`), both predictors are asked every n-th row, and
    their answers are compared as the server compares those of a canary.
    """
    counted = count_disagreement(*scores)
    if counted is not None:
        return counted
    step = max(1, count_rows(inputs) // NUM_ROWS)
    rows = {name: list(values[::step]) for name, values in inputs.items()}
    answers = [predictor.predict(rows) for predictor in predictors]
    return Disagreement(count_rows(rows), count_differing_rows(*answers))
