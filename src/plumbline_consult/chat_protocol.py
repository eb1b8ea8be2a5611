"""The chat-completions protocol: one request, one response, each as JSON."""

import json
import math
from typing import Any, TypeGuard

from plumbline_consult.agents import AgentEntry
from plumbline_consult.replies import AgentError, Prompt, Reply, Usage

MAX_TOKENS = 100_000_000  # a response that states more is not believed
CHARS_OF_TOKEN = 4  # of English text, where a server does not say how many tokens it read


def build_body(agent: AgentEntry, prompt: Prompt) -> bytes:
    """Build the request's body."""
    messages = [{"role": "user", "content": prompt.text}]
    if prompt.system:
        messages.insert(0, {"role": "system", "content": prompt.system})
    body = {"model": agent.model, "messages": messages, "stream": False, **agent.body}
    return json.dumps(body).encode()


def parse_reply(raw: bytes, prompt: Prompt, content_type: str) -> Reply:
    """Read the first choice of a response.

    Raises AgentError, which repeats nothing of the response, where it is not a chat completion.
    """
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        kind = content_type.partition(";")[0].strip()[:60] or "none"
        problem = f"the response is not valid JSON (content type: {kind})"
        raise AgentError("protocol", problem) from None
    if not isinstance(value, dict) or not isinstance(value.get("choices"), list):
        problem = "the response has no list `choices`; is base_url an address ending in /v1?"
        raise AgentError("protocol", problem)
    choice = value["choices"][0] if value["choices"] else {}
    message = choice.get("message") if isinstance(choice, dict) else None
    text = message.get("content") if isinstance(message, dict) else None
    if not isinstance(text, str):
        raise AgentError("protocol", "the response has no text in choices[0].message.content")
    usage = _parse_usage(value.get("usage")) or _estimate_usage(prompt, text)
    return Reply(_replace_surrogates(text), usage, choice.get("finish_reason") == "length")


def read_error_message(raw: bytes) -> str:
    """The server's own words in the body of an error; an empty text where there are none."""
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return ""
    error = value.get("error", value) if isinstance(value, dict) else None
    if isinstance(error, dict):
        error = error.get("message", error.get("detail"))
    return error if isinstance(error, str) else ""


def _replace_surrogates(text: str) -> str:
    """Replace halves of characters, which JSON may escape (`\\ud83d`) and no file can hold."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _parse_usage(value: Any) -> Usage | None:
    if not isinstance(value, dict):
        return None
    prompt_tokens = value.get("prompt_tokens")
    completion_tokens = value.get("completion_tokens")
    if not (_is_count(prompt_tokens) and _is_count(completion_tokens)):
        return None
    if prompt_tokens + completion_tokens == 0:  # some gateways state zeros instead of counting
        return None
    return Usage(prompt_tokens, completion_tokens, False)


def _is_count(value: Any) -> TypeGuard[int]:
    return type(value) is int and 0 <= value <= MAX_TOKENS


def _estimate_usage(prompt: Prompt, text: str) -> Usage:
    """Estimate tokens by the length of what was sent and received."""
    sent = len(prompt.system) + len(prompt.text)
    received = math.ceil(len(text) / CHARS_OF_TOKEN)
    return Usage(max(1, math.ceil(sent / CHARS_OF_TOKEN)), received, True)
