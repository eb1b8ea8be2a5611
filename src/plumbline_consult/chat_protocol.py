"""The chat-completions protocol: what an agent is shown, and what it answers, each as JSON."""

import hashlib
import json
import math
import random
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from plumbline.process.visible_text import show_line
from plumbline_consult.agents import OTHERS, QUESTION, AgentEntry

CHARS_OF_TOKEN = 4  # of English text, where a server does not say how many tokens it read
MAX_SHOWN_CHARS = 200
MAX_OTHER_CHARS = 500  # of one answer that is shown to another agent
PLACES = re.compile(f"{re.escape(QUESTION)}|{re.escape(OTHERS)}")

Messages = list[dict[str, str]]  # of role and content, as the protocol sends them


@dataclass(frozen=True)
class Reply:
    """The text that an agent wrote, and the tokens that are billed."""

    text: str
    prompt_tokens: int
    completion_tokens: int
    is_truncated: bool  # the text ends at the limit of tokens


class AgentError(Exception):
    """An agent gave no answer; the text says why, without a secret."""

    def __init__(
        self, message: str, *, may_retry: bool = False, retry_after_s: float = 0.0
    ) -> None:
        super().__init__(message)
        self.may_retry = may_retry
        self.retry_after_s = retry_after_s


def clean_text(text: str, limit: int = MAX_SHOWN_CHARS) -> str:
    """One line that a terminal can show, without blanks that follow each other; the rest is cut."""
    line = " ".join(show_line(text[: 4 * limit]).split())
    return line if len(line) <= limit else line[: limit - 3] + "..."


def build_messages(agent: AgentEntry, question: str, others: list[str]) -> Messages:
    """Fill the agent's template; what is filled in is not searched for placeholders again."""
    lines = "\n".join(f"- {answer}" for answer in others) or "(no other answers)"
    values = {QUESTION: question, OTHERS: lines}
    text = PLACES.sub(lambda place: values[place[0]], agent.prompt)
    messages = [{"role": "user", "content": text}]
    if agent.system:
        messages.insert(0, {"role": "system", "content": agent.system})
    return messages


def list_others(question: str, answers: Iterable[str]) -> list[str]:
    """Each different answer once, in an order drawn from the question: no names and no tallies."""
    different = sorted({" ".join(answer.split())[:MAX_OTHER_CHARS] for answer in answers} - {""})
    seed = int.from_bytes(hashlib.sha256(question.encode("utf-8", "replace")).digest()[:8], "big")
    random.Random(seed).shuffle(different)  # noqa: S311  no secret: the same in every run
    return different


def parse_reply(raw: bytes, messages: Messages) -> Reply:
    """Read the first choice of a response.

    Raises AgentError, which repeats nothing of the response, where it is not a chat completion.
    """
    try:
        value = json.loads(raw)
        choice = value["choices"][0]
        raw_text = choice["message"]["content"].encode("utf-16", "surrogatepass")
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        raise AgentError(
            "the response has no text in choices[0].message.content; is base_url an address that "
            "ends in /v1?",
        ) from None
    sent = sum(len(message["content"]) for message in messages)
    text = raw_text.decode("utf-16", "replace")  # JSON may escape half a character
    return Reply(
        text,
        _read_count(value.get("usage"), "prompt_tokens", sent),
        _read_count(value.get("usage"), "completion_tokens", len(text)),
        is_truncated=choice.get("finish_reason") == "length",
    )


def read_error_message(raw: bytes) -> str:
    """The server's own words in the body of an error; an empty text where there are none."""
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return ""
    error = value.get("error", value) if isinstance(value, dict) else None
    if isinstance(error, dict):
        error = error.get("message")
    return error if isinstance(error, str) else ""


def _read_count(usage: Any, key: str, num_chars: int) -> int:
    """Tokens as the server states them; by the length of the text where it states none, or zero."""
    stated = usage.get(key) if isinstance(usage, dict) else None
    if type(stated) is int and stated > 0:
        return stated
    return math.ceil(num_chars / CHARS_OF_TOKEN)


def extract_answer(text: str, answer_after: str) -> str:
    """The text after the last `answer_after`, or all of it where that is absent."""
    return text.rpartition(answer_after)[2].strip() if answer_after else text.strip()
