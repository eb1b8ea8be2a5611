"""POST /v1/embeddings as clients of OpenAI's API send it: answers, limits and errors."""

import base64
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.support.serving.lines import Lines, Server, serving
from tests.support.serving.models import NUMBERS, line_task, register_other

from plumbline.contract.task import Field, Param, Signature

PREDICTOR = """
class Lengths:
    forms = ("exact",)

    def predict(self, columns, vectors=False, dimensions=2):
        texts = columns["text"]
        if "" in texts:
            raise ValueError("row 0: text: empty")
        found = [[float(len(text)), 0.5][:dimensions] if vectors else [] for text in texts]
        return {"vector": found, "tokens": [len(text.split()) for text in texts]}


def load(folder, form=None):
    return Lengths()
"""
URI = "models:/lengths@champion"
SIGNATURE = Signature(
    inputs=(Field("text", "string"),),
    outputs=(Field("vector", NUMBERS), Field("tokens", "long")),
    params=(Param("vectors", "boolean", False), Param("dimensions", "long", 2)),
)


@pytest.fixture(scope="module")
def lengths(tmp_path_factory: pytest.TempPathFactory) -> Lines:
    """A model whose vector of a text has its length first."""
    folder = tmp_path_factory.mktemp("lengths")
    predictor = folder / "predictor.py"
    predictor.write_text(PREDICTOR)
    with pytest.MonkeyPatch.context() as patch, Lines(folder).here():
        task = replace(
            line_task(patch)[1],
            signature=SIGNATURE,
            example={"text": ["a"]},
            faulty={},
            predictor=predictor,
        )
        register_other("lengths", task, {}, {"vector": [[]], "tokens": [1]})
    return Lines(folder)


@pytest.fixture(scope="module")
def server(lengths: Lines) -> Iterator[Server]:
    """A server of that model, behind a token."""
    token = lengths.path / "token"
    token.write_text("s" * 32)
    options = ("--token-file", str(token), "--limit", "max_rows=3")
    with serving(lengths, *options, uri=URI) as found:
        yield found


def ask(server: Server, token: str = "s" * 32, **body: Any) -> tuple[int, Any]:
    """The status and the answer to a body that names the model."""
    text = json.dumps({"model": "lengths"} | body)
    headers = {"content_type": "application/json", "authorization": f"Bearer {token}"}
    status, _, raw = server.ask("POST", "/v1/embeddings", text, **headers)
    return status, json.loads(raw)


def test_one_text_and_several(server: Server) -> None:
    status, found = ask(server, input="two words", user="u")
    assert (status, found) == (
        200,
        {
            "object": "list",
            "data": [{"object": "embedding", "index": 0, "embedding": [9.0, 0.5]}],
            "model": "lengths",
            "usage": {"prompt_tokens": 2, "total_tokens": 2},
        },
    )
    status, found = ask(server, input=["a", "b c", "b c d"])
    assert [(row["index"], row["embedding"][0]) for row in found["data"]] == [
        (0, 1),
        (1, 3),
        (2, 5),
    ]
    assert found["usage"]["total_tokens"] == 6


def test_base64_holds_the_same_numbers_and_a_parameter_of_the_model_is_passed(
    server: Server,
) -> None:
    _, found = ask(server, input="abc", encoding_format="base64", dimensions=1)
    (row,) = found["data"]
    assert np.frombuffer(base64.b64decode(row["embedding"]), "<f4").tolist() == [3.0]


@pytest.mark.parametrize(
    ("body", "status", "code", "message"),
    [
        ({"input": [1, 2]}, 400, "BAD_REQUEST", "input: expected a text or a list of texts"),
        ({"input": None}, 400, "BAD_REQUEST", "input: expected"),
        ({"input": []}, 400, "BAD_REQUEST", "no rows"),
        ({"input": ""}, 400, "BAD_REQUEST", "row 0: text: empty"),
        ({"input": ["a"] * 4}, 413, "TOO_MANY_ROWS", "at most 3"),
        ({"input": "a", "encoding_format": []}, 400, "BAD_REQUEST", "encoding_format"),
        ({"input": "a", "other": 1}, 400, "BAD_REQUEST", "takes vectors, dimensions"),
        ({"input": "a", "model": "gpt"}, 404, "NO_SUCH_MODEL", "this server has lengths"),
        ({"input": "a", "token": "wrong"}, 401, "UNAUTHORIZED", "send the token"),
    ],
)
def test_errors_have_the_form_of_that_api(
    server: Server, body: Any, status: int, code: str, message: str
) -> None:
    found, answer = ask(server, **body)
    assert (found, set(answer)) == (status, {"error"})
    error = answer["error"]
    assert (error["type"], error["param"]) == ("invalid_request_error", None)
    assert error["code"] == code
    assert message in error["message"]


def test_a_model_without_vectors_says_so(registered: Lines) -> None:
    with serving(registered, uri="models:/line/1") as found:
        status, answer = ask(found, model="line", input="a")
    assert (status, answer["error"]["code"]) == (404, "NO_VECTORS")


def test_the_champion_alone_gives_vectors_and_their_texts_are_not_logged(lengths: Lines) -> None:
    """Vectors of a canary do not compare with the others in a store; passages are no queries."""
    logged = lengths.path / "requests"
    with serving(lengths, "--shadow", "1", "--log-folder", str(logged), uri=URI) as found:
        assert ask(found, input="a passage")[0] == 200
        assert found.stop() == 0
    assert list(logged.glob("*.parquet")) == []
