"""What `plumbline consult` prints: answers to stdout, what was done for them to stderr."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from plumbline.process.visible_text import dump_visibly, show_line
from plumbline_consult.calling import AgentOutcome
from plumbline_consult.chat_protocol import clean_text
from plumbline_consult.course import Course, describe_as_json

MAX_ANSWER_CHARS = 60
MAX_ID_CHARS = 40


@dataclass(frozen=True)
class Printer:
    """Prints what comes, or with `as_json` a JSON object for each question and nothing else."""

    as_json: bool
    is_alone: bool  # there is one question: its id is left out

    def print_outcome(self, course: Course, outcome: AgentOutcome) -> None:
        """Print what came of asking an agent."""
        if not self.as_json:
            text = f"{self._name(course)}{_describe_outcome(outcome)}"
            print(text, file=sys.stderr, flush=True)

    def print_course(self, course: Course) -> None:
        """Print the answer, how sure it is, and what it cost."""
        if self.as_json:
            print(dump_visibly(describe_as_json(course)), flush=True)
            return
        print(f"{self._name(course)}{_describe_course(course)}", file=sys.stderr, flush=True)
        name = "" if self.is_alone else f"{show_line(course.question.id)}\t"
        print(f"{name}{show_line(course.decision.answer)}", flush=True)

    def print_total(self, courses: Sequence[Course]) -> None:
        """Print what many questions cost."""
        if self.is_alone or self.as_json:
            return
        num_answered = sum(bool(course.decision.answer) for course in courses)
        bill = _describe_bill(courses)
        text = f"{num_answered:,} of {len(courses):,} questions answered, {bill}"
        print(text, file=sys.stderr)

    def _name(self, course: Course) -> str:
        return "" if self.is_alone else f"{clean_text(course.question.id, MAX_ID_CHARS)}: "


def _describe_outcome(outcome: AgentOutcome) -> str:
    if outcome.status != "answered":
        return f"{outcome.agent}: no answer ({clean_text(outcome.message)})"
    answer = clean_text(outcome.answer, MAX_ANSWER_CHARS) or "no answer in its text"
    if outcome.truncated:
        answer += " (cut off at its limit of tokens)"
    cost = f"{outcome.tokens:,} tokens, ${outcome.cost:.6f}"
    return f"{outcome.agent}: {answer} ({outcome.seconds:.1f} s, {cost})"


def _describe_course(course: Course) -> str:
    noun = "agent" if len(course.outcomes) == 1 else "agents"
    asked = f"{len(course.outcomes)} {noun} asked, {_describe_bill([course])}"
    if not course.decision.answer:
        reason = clean_text(course.message) or "no agent gave an answer"
        return f"no answer: {reason}; {asked}"
    text = f"confidence {course.decision.confidence:.2f}; {asked}"
    return f"{text}; best so far: {clean_text(course.message)}" if course.message else text


def _describe_bill(courses: Sequence[Course]) -> str:
    num_tokens = sum(course.num_tokens for course in courses)
    return f"${sum(course.cost for course in courses):.6f} for {num_tokens:,} tokens"
