"""What an agent is shown: the question, and for some the answers of others, without their names."""

import hashlib
import random
import re
from collections.abc import Iterable

from plumbline_consult.agents import OTHERS, QUESTION, AgentEntry
from plumbline_consult.chat_protocol import Messages

MAX_OTHER_CHARS = 500  # of one answer that is shown to another agent
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


def extract_answer(text: str, answer_after: str) -> str:
    """The text after the last `answer_after`, or all of it where that is absent."""
    return text.rpartition(answer_after)[2].strip() if answer_after else text.strip()
