"""Read request bodies within their limits; write answers and errors as strict JSON."""

import asyncio
from typing import Any

from fastapi import Request, Response
from pydantic import BaseModel, ConfigDict
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from plumbline.contract.answers import NOT_FINITE
from plumbline.serving.errors import RequestError
from plumbline.serving.loaded_model import Answer
from plumbline.serving.settings import Limits
from plumbline.serving.strict_json import encode_json

ERROR_CODES = {404: "NOT_FOUND", 405: "METHOD_NOT_ALLOWED"}
ERROR_STATUSES = (400, 401, 403, 404, 405, 408, 413, 415, 421, 429, 500, 503, 504)
EMBEDDINGS = "/v1/embeddings"  # whose clients want another form of errors
SERVERS_FAULT = 500  # this status and those above it
RETRY = {"retry-after": "1"}
MORE_HEADERS = {401: {"www-authenticate": "Bearer"}, 429: RETRY, 503: RETRY}


class ErrorBody(BaseModel):
    """The JSON of an error: MLflow's clients read `message`, the others `error`."""

    model_config = ConfigDict(extra="forbid")

    error_code: str
    message: str
    error: str


class EmbeddingsErrorBody(BaseModel):
    """The JSON of an error as clients of OpenAI's API read it."""

    error: dict[str, str | None]


async def read_body(request: Request, limits: Limits) -> bytes:
    """Read the whole body. Raises RequestError (413, 408) if it is too large or too slow."""
    too_large = RequestError(
        413, "BODY_TOO_LARGE", f"body too large: at most {limits.body_bytes} bytes in one request"
    )
    if int(request.headers.get("content-length") or 0) > limits.body_bytes:
        raise too_large
    parts = []
    size = 0
    try:
        async with asyncio.timeout(limits.read_timeout_s):
            async for part in request.stream():
                size += len(part)
                if size > limits.body_bytes:
                    raise too_large
                parts.append(part)
    except TimeoutError:
        raise RequestError(408, "BODY_TIMEOUT", "timeout while the body was read") from None
    except ClientDisconnect:
        raise RequestError(400, "DISCONNECTED", "the client disconnected") from None
    return b"".join(parts)


def make_json_response(value: Any) -> Response:
    """Return `value` as a JSON response. Raises RequestError (500) for NaN and infinity."""
    try:
        raw = encode_json(value)
    except ValueError:
        raise RequestError(500, "MODEL_FAILED", NOT_FINITE) from None
    return Response(raw, media_type="application/json")


def make_answer_response(value: Any, answer: Answer) -> Response:
    """Return `value` as a JSON response with headers that tell who answered."""
    response = make_json_response(value)
    response.raw_headers += [
        (b"x-plumbline-version", answer.cached.version.encode()),
        (b"x-plumbline-side", answer.variant.encode()),
        (b"x-plumbline-ms", f"{1000 * answer.seconds:.1f}".encode()),
    ]
    return response


def make_error_response(error: RequestError, path: str) -> Response:
    """Return the error as a client of `path` gets it."""
    content: dict[str, Any] = {"error_code": error.code, "message": error.message}
    content["error"] = error.message
    if path == EMBEDDINGS:
        kind = "server_error" if error.status >= SERVERS_FAULT else "invalid_request_error"
        about = {"message": error.message, "type": kind, "param": None, "code": error.code}
        content = {"error": about}
    headers = dict(MORE_HEADERS.get(error.status, {}))
    if error.code == "BODY_TIMEOUT":
        headers["connection"] = "close"  # the rest of the request may still come
    return Response(encode_json(content), error.status, headers, "application/json")


async def handle_error(request: Request, error: Exception) -> Response:
    """Answer with an error: a RequestError, a route or method that is none, or a mistake of ours.

    uvicorn logs the traceback of the last.
    """
    path = request.url.path
    match error:
        case RequestError():
            return make_error_response(error, path)
        case HTTPException():
            code = ERROR_CODES.get(error.status_code, "BAD_REQUEST")
            message = "no such route or method; see /openapi.json"
            response = make_error_response(RequestError(error.status_code, code, message), path)
            response.headers.update(error.headers or {})
            return response
    return make_error_response(
        RequestError(500, "INTERNAL", "internal server error; see the server's log"), path
    )
