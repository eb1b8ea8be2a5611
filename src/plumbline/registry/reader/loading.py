"""Run a registered version's own code: whatever it raises, the error names the version."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from plumbline import bundle
from plumbline.contract.errors import BundleError, PlumblineError
from plumbline.contract.task import Predictor


def load_predictor(folder: Path, digest: str, label: str) -> Predictor:
    """Build the predictor of a verified bundle; BundleError where its code fails or exits."""
    try:
        return bundle.load(folder, expected=digest)
    except (PlumblineError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise BundleError(f"{label}: cannot be loaded ({_describe(error)})") from error


def ask_predictor(
    predictor: Predictor,
    columns: Mapping[str, Sequence[Any]],
    params: Mapping[str, Any],
    label: str,
) -> dict[str, list[Any]]:
    """Answer every row. ValueError names a bad row; PlumblineError where the code fails."""
    try:
        return predictor.predict(columns, **params)
    except (PlumblineError, KeyboardInterrupt, ValueError):
        raise
    except BaseException as error:
        raise PlumblineError(f"{label}: cannot answer ({_describe(error)})") from error


def _describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:300]
