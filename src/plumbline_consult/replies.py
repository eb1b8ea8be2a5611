"""What an agent says, what it used, and why an agent said nothing."""

from dataclasses import dataclass
from typing import Literal

from plumbline.process.visible_text import show_line

MAX_SHOWN_CHARS = 200

Reason = Literal["timeout", "rate-limit", "unavailable", "refused", "not-found", "protocol"]


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
    is_truncated: bool  # the text ends at the limit of tokens


@dataclass(frozen=True)
class Prompt:
    """What an agent is asked."""

    text: str
    system: str = ""


class AgentError(Exception):
    """An agent gave no answer; the text says why, without a secret."""

    def __init__(
        self, reason: Reason, message: str, *, may_retry: bool = False, retry_after_s: float = 0.0
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.may_retry = may_retry
        self.retry_after_s = retry_after_s


def clean_text(text: str, limit: int = MAX_SHOWN_CHARS) -> str:
    """One line that a terminal can show, without blanks that follow each other; the rest is cut."""
    line = " ".join(show_line(text[: 4 * limit]).split())
    return line if len(line) <= limit else line[: limit - 3] + "..."
