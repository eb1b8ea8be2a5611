"""One version that answers: opened by the verified load, and held against its golden rows before it is asked."""

import asyncio
import math
import time
from collections.abc import Callable
from typing import Any

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.errors import BundleError
from plumbline.contract.task import Predictor, Signature
from plumbline.registry.reader.mirror import Copy
from plumbline.serving import metrics
from plumbline.serving.batching import Batcher
from plumbline.serving.inputs import Asked, Columns
from plumbline.serving.settings import Limits

TOLERANCE = 0.01  # of a number: another CPU rounds int8 otherwise, and may not answer otherwise


class Served:
    """A copy that is loaded, checked and asked in batches. Close it when nothing more will be asked."""

    def __init__(self, copy: Copy, predictor: Predictor, limits: Limits) -> None:
        self.copy = copy
        self.signature: Signature = bundle.signature(copy.folder)
        self.example: dict[str, list[Any]] = layout.read_json(copy.folder / bundle.SEAL)["example"]
        self._batcher = Batcher(predictor, limits)

    @classmethod
    async def opened(cls, copy: Copy, limits: Limits) -> "Served":
        """Load and check `copy` beside whatever is answering now. BundleError where it does not answer as measured."""
        return cls(copy, await asyncio.to_thread(_checked, copy), limits)

    @property
    def full(self) -> bool:
        """Whether a request would be refused because too much waits."""
        return self._batcher.full

    async def answer(
        self, asked: Asked, gone: Callable[[], bool], timeout_s: float
    ) -> tuple[Columns, float]:
        """The answers, and the seconds they took, queue included. Raises Refusal."""
        start = time.perf_counter()
        answers = await self._batcher.ask(asked, gone, timeout_s)
        return answers, time.perf_counter() - start

    async def close(self) -> None:
        """End when all that was asked is answered."""
        await self._batcher.close()

    def shown(self, side: str) -> None:
        """Tell the metrics that this version answers on `side`."""
        metrics.SERVED.labels(self.copy.name, side).set(int(self.copy.version))


def alike(one: Any, other: Any) -> bool:
    """The same text, truth or null; numbers within TOLERANCE; of lists and objects only that both are."""
    if isinstance(one, bool | str) or one is None:
        return bool(one == other)
    if (
        isinstance(one, int | float)
        and isinstance(other, int | float)
        and not isinstance(other, bool)
    ):
        return math.isfinite(other) and abs(one - other) <= TOLERANCE * max(1.0, abs(one))
    return type(one) is type(other)


def _checked(copy: Copy) -> Predictor:
    who = f"{copy.name} version {copy.version}"
    predictor = bundle.load(copy.folder)
    golden = layout.read_json(copy.golden)
    try:
        answers = predictor.predict(golden["inputs"], **golden["params"])
    except Exception as error:
        raise BundleError(
            f"{who}: fails on its golden rows ({type(error).__name__}: {error})"
        ) from error
    for column, expected in golden["outputs"].items():
        found = answers.get(column, [])
        wrong = [
            row
            for row, value in enumerate(expected)
            if row >= len(found) or not alike(value, found[row])
        ]
        if wrong:
            raise BundleError(
                f"{who}: answers golden row {wrong[0]} ({column}) otherwise than when it was evaluated"
            )
    return predictor
