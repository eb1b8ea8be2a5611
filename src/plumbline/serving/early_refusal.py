"""Refuse a POST for a full queue before the application sees it, in the application's bytes.

Where requests come many times faster than the model answers them, refusals take from the model what
they cost. Whatever is not plain is left to the application.
"""

import re
from functools import cached_property

from prometheus_client import Counter
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from plumbline.serving import metrics
from plumbline.serving.access import AccessRules
from plumbline.serving.errors import OverloadedError, RequestError
from plumbline.serving.guards import EXTRA_HEADERS, choose_request_id
from plumbline.serving.router import TrafficRouter

PLAIN_PATH = re.compile(rb"/[A-Za-z0-9_./-]*")
Headers = list[tuple[bytes, bytes]]


class EarlyRefusals:
    """Makes the answers of one server to requests for which its queue has no room."""

    def __init__(self, access: AccessRules, router: TrafficRouter) -> None:
        self._access = access
        self._router = router
        self._start, self._end = b"", b""  # of the answer, around the request's id
        self._made_for: tuple[Headers, int] = ([], 0)

    @property
    def is_due(self) -> bool:
        """Whether a POST would be refused now."""
        return self._router.is_full

    def make_answer(self, url: bytes, headers: Headers, own_headers: Headers) -> bytes | None:
        """Return all bytes of the refusal, and count it; None where the application has to answer.

        It does for any request that would get another error. `own_headers` are what uvicorn adds
        to every answer, a list that it replaces each second.
        """
        if PLAIN_PATH.fullmatch(url) is None:
            return None
        try:
            self._access.check(url.decode(), headers)
        except RequestError:
            return None
        retry_after_s = self._router.retry_after_s
        if self._made_for[0] is not own_headers or self._made_for[1] != retry_after_s:
            self._prepare_answer(own_headers, retry_after_s)
        self._counter.inc()
        return self._start + choose_request_id(headers) + self._end

    def _prepare_answer(self, own_headers: Headers, retry_after_s: int) -> None:
        error = OverloadedError(retry_after_s)
        pairs = [*own_headers, *error.headers, *EXTRA_HEADERS]
        lines = [name + b": " + value + b"\r\n" for name, value in pairs]
        self._start = b"".join([STATUS_LINE[error.status], *lines, b"x-request-id: "])
        self._end = b"\r\n\r\n" + error.body
        self._made_for = (own_headers, retry_after_s)

    @cached_property
    def _counter(self) -> Counter:
        return metrics.REQUESTS.labels("?", 429)
