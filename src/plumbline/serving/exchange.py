"""A request and the answers to it, as the request log keeps them."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from plumbline.serving.inference_request import InferenceRequest
from plumbline.serving.loaded_model import Answer

DICE = random.SystemRandom()
Row = dict[str, Any]


@dataclass
class Exchange:
    """A request, when it came, and to which side its key was assigned if a canary is on trial."""

    request: InferenceRequest
    request_id: str
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    assigned: str | None = None
    share: float | None = None  # of the keys, that the canary has
    key: str | None = None

    def make_rows(self, answers: tuple[Answer, ...]) -> Iterator[list[Row]]:
        """Make what is logged of each row: a row for each answer, of which the first was shown.

        All rows of one row share `draw`, a number from 0 to below 1 that chance gives it: by it
        the rows are drawn that people label, so that nobody can choose them.
        """
        shared = [self._describe(answer, answer is answers[0]) for answer in answers]
        for number in range(self.request.num_rows):
            own: Row = {"row": number, "draw": DICE.random()}
            for name, values in self.request.columns.items():
                own[f"input.{name}"] = values[number]
            rows = [known | own for known in shared]
            for row, answer in zip(rows, answers, strict=True):
                for name, values in answer.columns.items():
                    row[f"output.{name}"] = values[number]
            yield rows

    def _describe(self, answer: Answer, shown: bool) -> Row:
        return {
            "at": self.at,
            "request_id": self.request_id,
            "model": answer.cached.name,
            "version": answer.cached.version,
            "bundle": answer.cached.bundle,
            "side": answer.variant,
            "shown": shown,
            "ms": round(1000 * answer.seconds, 3) if answer.columns else None,
            "assigned": self.assigned,
            "share": self.share,
            "key": self.key,
        }
