"""One loaded version of the model, checked against its golden rows before it answers requests."""

import asyncio
import time
from dataclasses import dataclass
from typing import Any

from plumbline import bundle
from plumbline.contract.answers import OTHER_MACHINE, is_same_answer
from plumbline.contract.errors import BundleError
from plumbline.contract.task import Predictor, Signature
from plumbline.process.files import read_json
from plumbline.registry.reader.loading import ask_predictor, load_predictor
from plumbline.registry.reader.verified_cache import CachedVersion
from plumbline.serving import metrics
from plumbline.serving.batching import Batcher
from plumbline.serving.errors import RequestError
from plumbline.serving.inference_request import Columns, InferenceRequest
from plumbline.serving.settings import Limits

FULL = 429


@dataclass(frozen=True)
class Answer:
    """An answer, and the version that gave it as `variant`; without columns it gave none."""

    columns: Columns
    cached: CachedVersion
    variant: str
    seconds: float

    def list_rows(self) -> list[dict[str, Any]]:
        """The answer to each row."""
        rows = zip(*self.columns.values(), strict=True)
        return [dict(zip(self.columns, row, strict=True)) for row in rows]


class LoadedModel:
    """A version in memory that answers requests in batches. Close it when it is not needed."""

    def __init__(
        self, cached: CachedVersion, predictor: Predictor, limits: Limits, variant: str
    ) -> None:
        self.cached = cached
        self._variant = variant
        self.signature: Signature = bundle.read_signature(cached.folder)
        # What the files call its inputs that it learned from.
        self.own_columns: dict[str, str] = bundle.read_source(cached.folder).get("columns", {})
        self.example: dict[str, list[Any]] = read_json(cached.folder / bundle.SEAL)["example"]
        self._batcher = Batcher(predictor, limits)

    @classmethod
    async def load(cls, cached: CachedVersion, limits: Limits, variant: str) -> "LoadedModel":
        """Load and check what will answer as `variant` (champion, canary, shadow).

        Raises BundleError if it does not answer its golden rows as it did when it was evaluated.
        """
        predictor = await asyncio.to_thread(_load_checked_predictor, cached)
        model = cls(cached, predictor, limits, variant)
        metrics.MODEL_VERSION.labels(cached.name, variant).set(int(cached.version))
        return model

    @property
    def is_full(self) -> bool:
        """Whether a new request would be refused because the queue is full."""
        return self._batcher.is_full

    async def answer(self, request: InferenceRequest, timeout_s: float) -> Answer:
        """Return the answer, with the seconds it took, queue included. Raises RequestError."""
        start = time.perf_counter()
        columns = await self._batcher.answer(request, timeout_s)
        return Answer(columns, self.cached, self._variant, time.perf_counter() - start)

    async def try_answer(self, request: InferenceRequest, timeout_s: float) -> Answer | None:
        """Return the answer, one without columns if it fails, None if its queue is full."""
        try:
            return await self.answer(request, timeout_s)
        except RequestError as error:
            return None if error.status == FULL else Answer({}, self.cached, self._variant, 0.0)

    async def close(self) -> None:
        """Answer what is queued, then stop."""
        await self._batcher.close()


def _load_checked_predictor(cached: CachedVersion) -> Predictor:
    """Load and check a version; BundleError whatever its code raises."""
    label = f"{cached.name} version {cached.version}"
    predictor = load_predictor(cached.folder, cached.bundle, label)
    golden = read_json(cached.golden)
    try:
        answers = ask_predictor(predictor, golden["inputs"], golden["params"], label)
        mismatch = _find_first_mismatch(golden["outputs"], answers)
    except Exception as error:
        raise BundleError(
            f"{label}: fails on its golden rows ({type(error).__name__}: {error})"
        ) from error
    if mismatch:
        column, row = mismatch
        raise BundleError(
            f"{label}: its answer to golden row {row} ({column}) differs from the answer "
            "when it was evaluated"
        )
    return predictor


def _find_first_mismatch(expected: Columns, answers: Columns) -> tuple[str, int] | None:
    """Return the first column and row that is missing or differs, None if all are equal."""
    for column, values in expected.items():
        actual = answers.get(column, [])
        for row, value in enumerate(values):
            is_there = row < len(actual)
            if not is_there or not is_same_answer(value, actual[row], tolerance=OTHER_MACHINE):
                return column, row
    return None
