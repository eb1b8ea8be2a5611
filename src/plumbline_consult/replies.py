"""What an agent says, what it used, and why an agent said nothing."""

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from plumbline.process.visible_text import show_line

CHARS_OF_TOKEN = 4  # of English text, where a server does not say how many tokens it read
MAX_SHOWN_CHARS = 200

Reason = Literal[
    "timeout", "rate-limit", "unavailable", "refused", "not-found", "protocol", "paused", "model"
]


@dataclass(frozen=True)
class Usage:
    """Tokens of one request; an estimate where the server did not state them."""

    prompt_tokens: int
    completion_tokens: int
    is_estimate: bool

    @property
    def num_tokens(self) -> int:
        """All tokens."""
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True)
class Reply:
    """The text that an agent wrote."""

    text: str
    usage: Usage
    is_truncated: bool = False  # the text ends at the limit of tokens
    confidence: float | None = None  # by the probabilities of its tokens; None: not stated


@dataclass(frozen=True)
class Prompt:
    """What an agent is asked."""

    text: str
    system: str = ""


class AgentError(Exception):
    """An agent gave no answer; the text says why, without a secret."""

    def __init__(
        self,
        reason: Reason,
        message: str,
        *,
        may_retry: bool = False,
        retry_after_s: float = 0.0,
        may_be_billed: bool = False,
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.may_retry = may_retry
        self.retry_after_s = retry_after_s
        self.may_be_billed = may_be_billed


class Responder(Protocol):
    """One agent, ready to be asked."""

    async def respond(self, prompt: Prompt) -> Reply:
        """Answer once. Raises AgentError."""
        ...

    async def close(self) -> None:
        """Release what it holds."""
        ...


Sleep = Callable[[float], Awaitable[None]]


def estimate_usage(prompt: Prompt, text: str) -> Usage:
    """Estimate tokens by the length of what was sent and received."""
    sent = len(prompt.system) + len(prompt.text)
    return Usage(
        max(1, math.ceil(sent / CHARS_OF_TOKEN)), math.ceil(len(text) / CHARS_OF_TOKEN), True
    )


def clean_text(text: str, limit: int = MAX_SHOWN_CHARS) -> str:
    """One line that a terminal can show, without blanks that follow each other; the rest is cut."""
    line = " ".join(show_line(text[: 4 * limit]).split())
    return line if len(line) <= limit else line[: limit - 3] + "..."
