"""What an agent is shown: the question, and for some the answers of others, without their names."""

import hashlib
import random
import re
from collections.abc import Iterable

from plumbline_consult.agents import OTHERS, QUESTION, AgentEntry
from plumbline_consult.chat_protocol import Messages

MAX_OTHER_CHARS = 500  # of one answer that is shown to another agent
NUMBER = re.compile(r"\s*[:=]?\s*([0-9]{1,3}(?:\.[0-9]{1,12})?|\.[0-9]{1,12})\s*(%?)")
PLACES = re.compile(f"{re.escape(QUESTION)}|{re.escape(OTHERS)}")


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


def extract_answer(text: str, answer_after: str, confidence_after: str) -> str:
    """The text after the last `answer_after`, or all of it where that is absent.

    A confidence that the agent states is left out.
    """
    before, mark, after = text.rpartition(confidence_after) if confidence_after else ("", "", text)
    if mark and not (answer_after and answer_after in after):
        after = before  # the confidence is at the end
    if not answer_after:
        return after.strip()
    return after.rpartition(answer_after)[2].strip()


def extract_confidence(text: str, confidence_after: str) -> float | None:
    """The number after the last `confidence_after`, 0 to 1 or in per cent; None without one."""
    if not confidence_after:
        return None
    _, mark, after = text.rpartition(confidence_after)
    match = NUMBER.match(after) if mark else None
    if match is None:
        return None
    number = float(match[1])
    if match[2] or number > 1:
        number /= 100
    return number if number <= 1 else None
