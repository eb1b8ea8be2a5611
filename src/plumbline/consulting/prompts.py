"""What an agent is shown: the question, and for some the answers of others, without their names."""

import hashlib
import random
import re
from collections.abc import Iterable

from plumbline.consulting.agents import OTHERS, QUESTION, TextWriter
from plumbline.consulting.replies import Prompt

MAX_OTHER_CHARS = 500  # of one answer that is shown to another agent
NO_OTHERS = "(no other answers)"
PLACES = re.compile(f"{re.escape(QUESTION)}|{re.escape(OTHERS)}")


def build_prompt(agent: TextWriter, question: str, others: list[str]) -> Prompt:
    """Fill the agent's template; what is filled in is not searched for placeholders again."""
    lines = "\n".join(f"- {answer}" for answer in others) or NO_OTHERS
    values = {QUESTION: question, OTHERS: lines}
    return Prompt(PLACES.sub(lambda place: values[place[0]], agent.prompt), agent.system)


def list_others(question: str, answers: Iterable[str]) -> list[str]:
    """Each different answer once, in an order drawn from the question: no names and no tallies."""
    different = sorted({" ".join(answer.split())[:MAX_OTHER_CHARS] for answer in answers} - {""})
    seed = int.from_bytes(hashlib.sha256(question.encode("utf-8", "replace")).digest()[:8], "big")
    random.Random(seed).shuffle(different)  # noqa: S311  no secret: the same in every run
    return different


def extract_answer(text: str, answer_after: str) -> str:
    """The text after the last `answer_after`, or all of it where that is absent."""
    if not answer_after:
        return text.strip()
    return text.rpartition(answer_after)[2].strip()
