"""Vectors of texts, asked for and answered as by OpenAI's `POST /v1/embeddings`.

It asks the first input of a model that has the parameter `vectors` and the outputs `vector` and
`tokens`, the number that was read. What else the body has are parameters; `top_k`, if any, is 0.
"""

import base64
from typing import Any

import numpy as np

from plumbline.serving.errors import BadRequestError, RequestError
from plumbline.serving.inference_request import InferenceRequest, build_request
from plumbline.serving.loaded_model import Answer, LoadedModel
from plumbline.serving.strict_json import parse_json

FORMATS = (None, "float", "base64")
KEYS = ("input", "model", "encoding_format", "user")
NO_VECTORS = RequestError(404, "NO_VECTORS", "this model gives no vectors")


def parse_embeddings_body(
    raw: bytes, model: LoadedModel, max_rows: int
) -> tuple[InferenceRequest, bool]:
    """Return what is asked of `model`, and whether vectors are to be in base64.

    RequestError if the body is not valid, and for a model that gives no vectors.
    """
    body = parse_json(raw)
    if not isinstance(body, dict) or body.get("encoding_format") not in FORMATS:
        raise BadRequestError("expected input, model and an encoding_format of float or base64")
    if body.get("model") != model.cached.name:
        raise RequestError(404, "NO_SUCH_MODEL", f"model: this server has {model.cached.name}")
    signature = model.signature
    params, outputs = signature.params, signature.outputs
    known = [*(each.name for each in params), *(each.name for each in outputs)]
    if not {"vectors", "vector", "tokens"} <= set(known):
        raise NO_VECTORS
    texts = body.get("input")
    if isinstance(texts, str):
        texts = [texts]
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise BadRequestError("input: expected a text or a list of texts, not token ids")
    given = {key: value for key, value in body.items() if key not in KEYS and value is not None}
    given |= {"vectors": True} | dict.fromkeys({"top_k"}.intersection(known), 0)
    request = build_request({signature.inputs[0].name: texts}, given, signature, max_rows)
    return request, body.get("encoding_format") == "base64"


def encode_embeddings(answer: Answer, *, as_base64: bool) -> dict[str, Any]:
    """Build the response: vectors of float32, little-endian in base64, and the tokens read."""
    vectors: list[Any] = answer.columns["vector"]
    if not all(vectors):
        raise NO_VECTORS
    if as_base64:
        vectors = [base64.b64encode(np.array(row, "<f4").tobytes()).decode() for row in vectors]
    count = sum(answer.columns["tokens"])
    data = [{"object": "embedding", "index": i, "embedding": v} for i, v in enumerate(vectors)]
    usage = {"prompt_tokens": count, "total_tokens": count}
    return {"object": "list", "data": data, "model": answer.cached.name, "usage": usage}
