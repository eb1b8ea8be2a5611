"""An agent behind HTTP; whatever the server does, the outcome is a reply or an AgentError."""

import contextlib
import json
import os
from dataclasses import replace

import httpx2

from plumbline.contract.errors import ParamsError
from plumbline.sources.http_download import build_tls_context
from plumbline_consult.agents import AgentEntry
from plumbline_consult.chat_protocol import (
    AgentError,
    Messages,
    Reply,
    clean_text,
    parse_reply,
    read_error_message,
)

MAX_BODY = 1_000_000  # bytes; answers are recorded and shown to other agents
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
        own = {"model": self._agent.model, "messages": messages, "stream": False}
        body = json.dumps({**self._agent.body, **own}).encode()
        try:
            async with self._client.stream("POST", self._url, content=body) as response:
                return await self._read(response, messages)
        except httpx2.ConnectError as error:
            message = f"unreachable: no connection to base_url ({clean_text(str(error))})"
            raise AgentError(message, may_retry=True) from None
        except httpx2.TransportError:
            message = "the connection ended before the response was complete"
            raise AgentError(message, may_retry=True) from None
        except (httpx2.HTTPError, httpx2.InvalidURL):
            raise AgentError("the request cannot be sent; check base_url") from None

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _read(self, response: httpx2.Response, messages: Messages) -> Reply:
        status = response.status_code
        if status == 200:
            reply = parse_reply(await _read_body(response), messages)
            return replace(reply, text=self._hide_key(reply.text))  # it is recorded and printed
        if 300 <= status < 400:
            raise AgentError(f"HTTP {status}: redirect; write its address in base_url")
        raise AgentError(
            await self._describe_status(response),
            may_retry=status in TRANSIENT,
            retry_after_s=_read_seconds(response.headers.get("retry-after", "")),
        )

    async def _describe_status(self, response: httpx2.Response) -> str:
        status = response.status_code
        text = REMEDIES.get(status, "")  # such bodies repeat parts of the key
        if not text:
            with contextlib.suppress(AgentError, httpx2.HTTPError):
                text = self._hide_key(read_error_message(await _read_body(response)))
        return f"HTTP {status}: {clean_text(text)}".removesuffix(": ")

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


def _read_seconds(retry_after: str) -> float:
    """The seconds of a Retry-After header; 0 where it is absent or a date."""
    return float(retry_after[:10]) if retry_after.isascii() and retry_after.isdecimal() else 0.0


async def _read_body(response: httpx2.Response) -> bytes:
    raw = bytearray()  # not a list of parts: millions of a byte each would fill the memory
    async for part in response.aiter_raw():
        raw += part
        if len(raw) > MAX_BODY:
            raise AgentError(f"the response has more than {MAX_BODY:,} bytes")
    return bytes(raw)
