"""An agent behind HTTP; whatever the server does, the outcome is a reply or an AgentError."""

import os
from dataclasses import replace

import httpx2

from plumbline.contract.errors import ParamsError
from plumbline.sources.http_download import build_tls_context
from plumbline_consult.agents import AgentEntry
from plumbline_consult.chat_protocol import (
    AgentError,
    Messages,
    Reason,
    Reply,
    build_body,
    clean_text,
    parse_reply,
    read_error_message,
)

MAX_BODY = 1_000_000  # bytes; answers are recorded and shown to other agents
MAX_ERROR_BODY = 20_000
REMEDIES = {
    401: "the key was not accepted; check key_env",
    403: "the key may not use this model",
    404: "unknown model or address; check model and base_url",
}
TRANSIENT = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})


class EndpointClient:
    """Sends one request for each question; follows no redirect, so the key goes to one host."""

    def __init__(self, name: str, agent: AgentEntry) -> None:
        self._agent = agent
        self._key = read_key(name, agent.key_env)
        # Identity: a compressed body could be far larger than what MAX_BODY bounds.
        headers = {"content-type": "application/json", "accept-encoding": "identity"}
        if self._key:
            headers["authorization"] = f"Bearer {self._key}"
        limits = httpx2.Limits(max_connections=agent.max_parallel)
        try:
            self._client = httpx2.AsyncClient(
                headers=headers, limits=limits, timeout=None, verify=build_tls_context()
            )
        except (ImportError, ValueError, httpx2.InvalidURL) as error:  # SOCKS without its package
            raise ParamsError(
                f"agents.{name}: the proxy in ALL_PROXY, HTTPS_PROXY or HTTP_PROXY cannot be used "
                f"({clean_text(str(error))}); name one by http://, or unset it; for a SOCKS proxy: "
                "pip install socksio"
            ) from None
        self._url = f"{agent.base_url}/chat/completions"

    async def respond(self, messages: Messages) -> Reply:
        """Answer once. Raises AgentError; the caller limits the time."""
        body = build_body(self._agent, messages)
        try:
            async with self._client.stream("POST", self._url, content=body) as response:
                return await self._read(response, messages)
        except httpx2.ConnectError as error:
            message = f"unreachable: no connection to base_url ({clean_text(str(error))})"
            raise AgentError("unavailable", message, may_retry=True) from None
        except httpx2.TransportError:
            message = "the connection ended before the response was complete"
            raise AgentError("unavailable", message, may_retry=True) from None
        except (httpx2.HTTPError, httpx2.InvalidURL):
            raise AgentError("refused", "the request cannot be sent; check base_url") from None

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _read(self, response: httpx2.Response, messages: Messages) -> Reply:
        status = response.status_code
        if status == 200:
            reply = parse_reply(await _read_body(response, MAX_BODY), messages)
            return replace(reply, text=self._hide_key(reply.text))  # it is recorded and printed
        if 300 <= status < 400:
            raise AgentError("protocol", f"HTTP {status}: redirect; write its address in base_url")
        raise AgentError(
            _name_reason(status),
            await self._describe_status(response),
            may_retry=status in TRANSIENT,
            retry_after_s=_read_seconds(response.headers.get("retry-after", "")),
        )

    async def _describe_status(self, response: httpx2.Response) -> str:
        status = response.status_code
        if status in REMEDIES:  # such bodies repeat parts of the key
            return f"HTTP {status}: {REMEDIES[status]}"
        try:
            text = read_error_message(await _read_body(response, MAX_ERROR_BODY))
        except (AgentError, httpx2.HTTPError):
            text = ""
        text = self._hide_key(text)
        return f"HTTP {status}: {clean_text(text)}" if text else f"HTTP {status}"

    def _hide_key(self, text: str) -> str:
        return text.replace(self._key, "[key]") if self._key else text


def read_key(name: str, key_env: str | None) -> str:
    """Read an agent's key from the environment; an empty text where it needs none."""
    if key_env is None:
        return ""
    key = os.environ.get(key_env, "").strip()
    if not key:
        raise ParamsError(
            f"agents.{name}.key_env: the environment variable {key_env} is not set; "
            f"set it (export {key_env}=...), or remove key_env where no key is needed"
        )
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ParamsError(
            f"agents.{name}.key_env: {key_env} contains blanks or characters that are not ASCII"
        )
    return key


def _name_reason(status: int) -> Reason:
    if status == 429:
        return "rate-limit"
    if status == 404:
        return "not-found"
    return "unavailable" if status in TRANSIENT or status >= 500 else "refused"


def _read_seconds(retry_after: str) -> float:
    """The seconds of a Retry-After header; 0 where it is absent or a date."""
    return float(retry_after[:10]) if retry_after.isascii() and retry_after.isdecimal() else 0.0


async def _read_body(response: httpx2.Response, limit: int) -> bytes:
    raw = bytearray()  # not a list of parts: millions of a byte each would fill the memory
    async for part in response.aiter_raw():
        raw += part
        if len(raw) > limit:
            raise AgentError("protocol", f"the response has more than {limit:,} bytes")
    return bytes(raw)
