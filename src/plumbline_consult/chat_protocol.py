"""The chat-completions protocol: one request, one response, each as JSON."""

import json
import math
from typing import Any, TypeGuard

from plumbline_consult.agents import Endpoint
from plumbline_consult.replies import AgentError, Prompt, Reply, Usage, estimate_usage

LEAST_LOGPROB = -1e6
MAX_TOKENS = 100_000_000  # a response that states more is not believed


def build_body(agent: Endpoint, prompt: Prompt) -> bytes:
    """Build the request's body."""
    messages = [{"role": "user", "content": prompt.text}]
    if prompt.system:
        messages.insert(0, {"role": "system", "content": prompt.system})
    body = {"model": agent.model, "messages": messages, "stream": False, **agent.body}
    if agent.logprobs:
        body["logprobs"] = True
    return json.dumps(body).encode()


def parse_reply(raw: bytes, prompt: Prompt, content_type: str) -> Reply:
    """Read the first choice of a response.

    Raises AgentError, which repeats nothing of the response, where it is not a chat completion.
    """
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        kind = content_type.partition(";")[0].strip()[:60] or "none"
        raise _refuse(f"the response is not valid JSON (content type: {kind})") from None
    if not isinstance(value, dict) or not isinstance(value.get("choices"), list):
        raise _refuse("the response has no list `choices`; is base_url an address ending in /v1?")
    if not value["choices"]:
        raise _refuse("the response has an empty list `choices`")
    choice = value["choices"][0]
    message = choice.get("message") if isinstance(choice, dict) else None
    text = message.get("content") if isinstance(message, dict) else None
    if not isinstance(text, str):
        raise _refuse("the response has no text in choices[0].message.content")
    usage = _parse_usage(value.get("usage")) or estimate_usage(prompt, text)
    is_truncated = choice.get("finish_reason") == "length"
    confidence = _average_probability(choice.get("logprobs"))
    return Reply(_replace_surrogates(text), usage, is_truncated, confidence)


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


def _average_probability(value: Any) -> float | None:
    """Return the geometric mean of the tokens' probabilities, 0 to 1; None where it is not stated.

    By length, as Malinin and Gales (2021): else a long answer would always be unsure.
    """
    tokens = value.get("content") if isinstance(value, dict) else None
    if not isinstance(tokens, list) or not tokens:
        return None
    total = 0.0
    for token in tokens:
        logprob = token.get("logprob") if isinstance(token, dict) else None
        if isinstance(logprob, bool) or not isinstance(logprob, int | float):
            return None
        if not LEAST_LOGPROB <= logprob <= 0:  # NaN, too
            return None
        total += logprob
    return math.exp(total / len(tokens))


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


def _refuse(message: str) -> AgentError:
    return AgentError("protocol", message, may_be_billed=True)
