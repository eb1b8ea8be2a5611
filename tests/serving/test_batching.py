"""Requests that share a call of the predictor: each client gets the answers to its own rows."""

import asyncio
from typing import Any

from plumbline.serving.batching import Batcher
from plumbline.serving.errors import RequestError
from plumbline.serving.inference_request import Columns, InferenceRequest
from plumbline.serving.settings import Limits

BAD = "bad"


class DropsBadRows:
    """A predictor with a mistake: it leaves bad rows out."""

    forms = ("exact",)

    def predict(self, columns: Any, **params: Any) -> Columns:
        return {"answer": [f"to {text}" for text in columns["text"] if text != BAD]}


class AnswersOnce:
    """A predictor with another mistake: one of its columns is no list."""

    forms = ("exact",)

    def predict(self, columns: Any, **params: Any) -> Columns:
        once: Any = 1.0
        return {"answer": list(columns["text"]), "once": once}


def ask(predictor: Any, *texts: list[str]) -> list[Columns | BaseException]:
    """Ask for all `texts` at once: they wait together, so that one call answers them."""

    async def run() -> list[Columns | BaseException]:
        batcher = Batcher(predictor, Limits())
        answers = [
            asyncio.create_task(batcher.answer(InferenceRequest({"text": rows}, {}), 10.0))
            for rows in texts
        ]
        with batcher._wake:  # the predictor's thread cannot take the first one alone
            await asyncio.sleep(0)
        results = await asyncio.gather(*answers, return_exceptions=True)
        await batcher.close()
        return results

    return asyncio.run(run())


def is_model_failed(result: Columns | BaseException) -> bool:
    return isinstance(result, RequestError) and result.status == 500


def test_a_predictor_that_drops_a_row_gives_no_client_the_answer_of_another() -> None:
    first, bad, both, last = ask(DropsBadRows(), ["A"], [BAD], ["B", BAD], ["C", "D"])
    assert first == {"answer": ["to A"]}
    assert last == {"answer": ["to C", "to D"]}
    assert is_model_failed(bad)
    assert is_model_failed(both)


def test_a_column_without_rows_is_the_models_failure() -> None:
    assert all(map(is_model_failed, ask(AnswersOnce(), ["A"], ["B"])))
