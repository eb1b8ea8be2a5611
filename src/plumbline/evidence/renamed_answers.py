"""A champion's answers in the names that classes have now."""

from collections.abc import Mapping, Sequence
from typing import Any

from plumbline.contract.task import Columns, Predictor

FIELD = "label"  # of an output, at any depth


def rename_answers(predictor: Predictor, renames: Mapping[str, str]) -> Predictor:
    """Return a predictor that answers as `predictor`, but calls classes by their new names.

    `renames` maps old names to new ones; names may be exchanged.
    """
    return _RenamingPredictor(predictor, renames) if renames else predictor


class _RenamingPredictor:
    def __init__(self, predictor: Predictor, renames: Mapping[str, str]) -> None:
        self._predictor = predictor
        self._renames = renames

    @property
    def forms(self) -> Sequence[str]:
        return self._predictor.forms

    def predict(self, columns: Columns, **params: Any) -> dict[str, list[Any]]:
        answers = self._predictor.predict(columns, **params)
        return {name: self._rename(value, name == FIELD) for name, value in answers.items()}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._predictor, name)

    def _rename(self, value: Any, is_label: bool) -> Any:
        if isinstance(value, Mapping):
            return {name: self._rename(inner, name == FIELD) for name, inner in value.items()}
        if isinstance(value, list):
            return [self._rename(inner, is_label) for inner in value]
        if is_label and isinstance(value, str):
            return self._renames.get(value, value)
        return value
