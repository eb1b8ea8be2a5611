"""Answers about texts that are asked for again, kept without the texts."""

import functools
import hashlib
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

from plumbline.tasks.text_classification.expectations.text_chunks import ListedTexts, Texts

Answer = TypeVar("Answer")
AskTexts = Callable[..., Answer]  # of (known texts, checked texts, settings ...)


def keep_recent(num_answers: int) -> Callable[[AskTexts[Answer]], AskTexts[Answer]]:
    """Keep the last answers of a function, by digests of both texts; a caller changes none."""

    def wrap(ask: AskTexts[Answer]) -> AskTexts[Answer]:
        answers: dict[tuple[Hashable, ...], Answer] = {}  # the latest is the last one

        @functools.wraps(ask)
        def ask_or_recall(known: Texts, checked: Sequence[str], *settings: Hashable) -> Answer:
            key = (_digest_texts(known), _digest_texts(ListedTexts(checked)), *settings)
            answer = answers.pop(key) if key in answers else ask(known, checked, *settings)
            answers[key] = answer
            if len(answers) > num_answers:
                del answers[next(iter(answers))]
            return answer

        return ask_or_recall

    return wrap


def _digest_texts(texts: Texts) -> bytes:
    """Return a digest of the texts in these chunks."""
    return hashlib.sha256(texts.fold(_digest_chunk, lambda one, other: one + other, b"")).digest()


def _digest_chunk(texts: list[str]) -> bytes:
    total = hashlib.sha256()
    for text in texts:
        total.update(text.encode("utf-8", "surrogatepass") + b"\0")
    return total.digest()
