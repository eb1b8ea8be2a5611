"""Errors that a client gets: a status, a stable code and a short text without request content."""

import json
from functools import cached_property

RETRY_AFTER_S = b"1"  # where the status is 429 or 503


class RequestError(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message

    @cached_property
    def body(self) -> bytes:
        """The JSON that the client gets: MLflow's clients read `message`, the others `error`."""
        content = {"error_code": self.code, "message": self.message, "error": self.message}
        return json.dumps(content).encode()

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        """The response's headers, content length included."""
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(self.body)).encode()),
        ]
        if self.status in (429, 503):
            headers.append((b"retry-after", RETRY_AFTER_S))
        if self.status == 401:
            headers.append((b"www-authenticate", b"Bearer"))
        if self.code in ("BODY_TIMEOUT", "TWO_LENGTHS"):
            headers.append((b"connection", b"close"))
        return headers


class BadRequestError(RequestError):
    """400: the request is not valid."""

    def __init__(self, message: str) -> None:
        super().__init__(400, "BAD_REQUEST", message)


class UnsupportedMediaTypeError(RequestError):
    """415: the body is in a format that this route does not read."""

    def __init__(self, message: str) -> None:
        super().__init__(415, "UNSUPPORTED_MEDIA_TYPE", message)


class OverloadedError(RequestError):
    """429: the queue is full."""

    def __init__(self) -> None:
        super().__init__(429, "OVERLOADED", "too many requests are waiting; try again in a moment")


class NotReadyError(RequestError):
    """503: no model is loaded and checked, or the server is shutting down."""

    def __init__(self) -> None:
        super().__init__(503, "NOT_READY", "the model is not ready")


class DeadlineExceededError(RequestError):
    """504: the answer would come too late."""

    def __init__(self) -> None:
        super().__init__(504, "DEADLINE_EXCEEDED", "the answer was not ready before the deadline")
