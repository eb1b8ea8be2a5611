"""What evaluation asks of the champion's evidence, and on how many rows its answers differ."""

import numpy as np
import pytest

from plumbline.contract.errors import PlumblineError
from plumbline.contract.records import Scores
from plumbline.evidence.champion import NUM_ROWS, measure_disagreement, require_format
from plumbline.evidence.document import FORMAT


class Slope:
    forms = ("exact",)

    def __init__(self, slope: float) -> None:
        self.slope = slope

    def predict(self, columns, **params):
        return {"y": [self.slope * x for x in columns["x"]]}


def score(**columns: list) -> Scores:
    arrays = {name: np.array(values) for name, values in columns.items()}
    return Scores(per_example=arrays, metrics={})


def test_answers_that_scores_hold_are_compared_row_by_row() -> None:
    ours = score(predicted=["a", "b", "c", "a"])
    theirs = score(predicted=["a", "c", "c", "b"])
    measured = measure_disagreement((ours, theirs), (Slope(0), Slope(0)), {"x": []})
    assert measured == {"disagreement": 0.5, "num_rows": 4}


@pytest.mark.parametrize(("other", "share"), [(2.0, 0.0), (2.001, 0.0), (3.0, 0.75)])
def test_without_answers_in_the_scores_both_are_asked(other: float, share: float) -> None:
    """As the server compares: numbers that are nearly equal are the same answer."""
    inputs = {"x": [0.0, 1.0, 2.0, 3.0] * NUM_ROWS}
    scores = score(squared_error=[0.0])
    measured = measure_disagreement(
        (scores, scores), (Slope(2.0), Slope(other)), {"x": sorted(inputs["x"])}
    )
    assert measured == {"disagreement": share, "num_rows": NUM_ROWS}


def test_a_champion_with_evidence_of_another_format_is_named_with_what_to_do() -> None:
    require_format("router version 7", {"format": FORMAT})
    for evidence in ({"format": FORMAT - 1}, {}):
        with pytest.raises(
            PlumblineError, match=r"router version 7: its evidence has format .*`plumbline run`"
        ):
            require_format("router version 7", evidence)
