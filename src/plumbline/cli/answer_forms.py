"""How answers are compared: by the function of the task answer_consensus."""

from collections.abc import Callable

from plumbline.contract.errors import PlumblineError


def load_normaliser(form: str) -> Callable[[str], str]:
    """Return the function of a form; PlumblineError for one that the task does not know."""
    from plumbline.tasks.answer_consensus.data.normalisation import find_normaliser

    try:
        return find_normaliser(form)
    except KeyError:
        raise PlumblineError(
            f"normalise: {form!r:.60} is not known; expected exact, casefold or number"
        ) from None
