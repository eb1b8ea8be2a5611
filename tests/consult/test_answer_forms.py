"""Live answers are compared as the predictor of answer_consensus compares them."""

import pytest

from plumbline.contract.errors import PlumblineError
from plumbline_consult.answer_forms import NORMALISERS, load_normaliser
from tasks.answer_consensus import predictor

ANSWERS = ["", " Paris ", "paris\n is", "it is 1,024.50", "-0", "no 3 but 3.00004", "7" * 20_000]


def test_each_form_is_that_of_the_predictor() -> None:
    assert list(NORMALISERS) == list(predictor.NORMALISERS)
    for form, normalise in predictor.NORMALISERS.items():
        assert list(map(load_normaliser(form), ANSWERS)) == list(map(normalise, ANSWERS))


def test_another_form_is_refused() -> None:
    with pytest.raises(PlumblineError, match="expected one of exact, casefold, number"):
        load_normaliser("sound")
