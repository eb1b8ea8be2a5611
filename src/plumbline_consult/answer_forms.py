"""How answers are compared: by the functions that a bundle of answer_consensus carries."""

from collections.abc import Callable

from plumbline.contract.errors import PlumblineError


def load_normaliser(form: str) -> Callable[[str], str]:
    """Return the function of a form; PlumblineError for one that the task does not know."""
    # The predictor, not the task's data: a server has none of the libraries of training.
    from plumbline.tasks.answer_consensus.predictor import NORMALISERS

    if form not in NORMALISERS:
        known = ", ".join(NORMALISERS)
        raise PlumblineError(f"normalise: {form!r:.60} is not known; expected one of {known}")
    return NORMALISERS[form]
