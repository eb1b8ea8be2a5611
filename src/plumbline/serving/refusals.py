"""How a request is refused: a status, a stable code, and a short text that repeats nothing of the request."""

import json

RETRY_AFTER_S = 1


class Refusal(Exception):  # noqa: N818  (it is an answer)
    """A request that gets an error in place of an answer."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message

    @property
    def body(self) -> bytes:
        """The JSON that the client gets."""
        return json.dumps({"error_code": self.code, "message": self.message}).encode()

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        """The response's headers, content length included."""
        found = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(self.body)).encode()),
        ]
        if self.status in (429, 503):
            found.append((b"retry-after", str(RETRY_AFTER_S).encode()))
        if self.status == 401:
            found.append((b"www-authenticate", b"Bearer"))
        if self.status == 408:
            found.append((b"connection", b"close"))
        return found


def bad(message: str) -> Refusal:
    """400: the request cannot be understood."""
    return Refusal(400, "BAD_REQUEST", message)


def overloaded() -> Refusal:
    """429: as much waits as can be answered in time."""
    return Refusal(429, "OVERLOADED", "too much is waiting; try again in a moment")


def late() -> Refusal:
    """504: the answer would come too late."""
    return Refusal(504, "DEADLINE_EXCEEDED", "the answer was not ready in time")


def not_ready() -> Refusal:
    """503: no model is loaded and checked, or the server is about to end."""
    return Refusal(503, "NOT_READY", "the model is not ready")
