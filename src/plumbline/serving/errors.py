"""Errors that a client gets: a status, a stable code and a short text without request content."""

from plumbline.contract.errors import PlumblineError


class RequestError(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message


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


def describe_error(error: Exception) -> str:
    """Describe an error of a model's code, or of the registry, in one line of the log."""
    return str(error) if isinstance(error, PlumblineError) else f"{type(error).__name__}: {error}"
