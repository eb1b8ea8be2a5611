"""A request: the side to which it is assigned, and what is logged of the answers to it."""

import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from plumbline.contract.answers import NOTICED, is_other_decision
from plumbline.serving import metrics
from plumbline.serving.inference_request import InferenceRequest
from plumbline.serving.loaded_model import Answer

DICE = random.SystemRandom()
Row = dict[str, Any]


@dataclass
class Exchange:
    """A request, when it came, and to which side it is assigned while a canary is on trial."""

    request: InferenceRequest
    request_id: str
    client_key: str = ""  # of the user or session, as the client sent it
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    assigned: str | None = None
    share: float | None = None  # of all keys, that the canary has
    key: str | None = None  # a digest of `client_key`

    def assign(self, salt: str, share: float) -> bool:
        """Assign it to the canary or the champion; returns whether to the canary.

        The same key and salt give the same side, on every server; a request without a key is
        assigned by its id. Whoever has a side at a small share keeps it at a larger one.
        """
        text = f"{salt} {self.client_key or self.request_id}"
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        is_tried = int(digest, 16) < share * 16**16
        self.assigned = "canary" if is_tried else "champion"
        self.share = share
        self.key = digest if self.client_key else None
        return is_tried

    def compare(self, answer: Answer, tried: Answer) -> int | None:
        """Count the rows on which a tried version is far from the champion, None if it failed.

        Numbers are far apart that differ by more than a hundredth; the metrics count all.
        """
        num_rows, count = self.request.num_rows, metrics.COMPARED.labels
        if not tried.columns:
            count(tried.variant, "failed").inc(num_rows)
            return None
        pairs = [*zip(answer.list_rows(), tried.list_rows(), strict=True)]
        num_differing = sum(is_other_decision(*pair) for pair in pairs)
        count(tried.variant, "differs").inc(num_differing)
        count(tried.variant, "same").inc(num_rows - num_differing)
        return sum(is_other_decision(*pair, NOTICED) for pair in pairs)

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
