"""What an agent says, what it used, and why an agent said nothing."""

from dataclasses import dataclass
from typing import Literal

from plumbline.process.visible_text import show_line

MAX_SHOWN_CHARS = 200

Reason = Literal["timeout", "rate-limit", "unavailable", "refused", "not-found", "protocol"]
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
