"""What is printed of answers, of a question, and of what it cost."""

from plumbline_consult.course import Course
from plumbline_consult.outcomes import AgentOutcome, Bill
from plumbline_consult.replies import clean_text

MAX_ANSWER_CHARS = 60


def describe_outcome(outcome: AgentOutcome) -> str:
    """What came of asking one agent, on one line."""
    if outcome.reason:
        return f"{outcome.agent}: no answer ({clean_text(outcome.message)})"
    answer = clean_text(outcome.answer, MAX_ANSWER_CHARS) or "no answer in its text"
    if outcome.is_truncated:
        answer += " (cut off at its limit of tokens)"
    about = "about " if outcome.is_estimate else ""
    cost = f"{about}{outcome.num_tokens:,} tokens, {about}{_format_money(outcome.cost)}"
    return f"{outcome.agent}: {answer} ({outcome.seconds:.1f} s, {cost})"


def describe_bill(bill: Bill) -> str:
    """The sum, with what is estimated said beside it."""
    text = f"{_format_money(bill.cost)} for {bill.num_tokens:,} tokens"
    if bill.estimated_cost:
        text += f", of which {_format_money(bill.estimated_cost)} is an estimate"
    return text


def describe_course(course: Course) -> str:
    """How a consultation ended, how sure the answer is, and what it cost."""
    noun = "agent" if len(course.outcomes) == 1 else "agents"
    asked = f"{len(course.outcomes)} {noun} asked, {describe_bill(course.bill)}"
    if not course.decision.answer:
        reason = clean_text(course.message) or "no agent gave an answer"
        return f"no answer: {reason}; {asked}"
    text = f"confidence {course.decision.confidence:.2f}; {asked}"
    return f"{text}; best so far: {clean_text(course.message)}" if course.message else text


def _format_money(dollars: float) -> str:
    """Dollars with as many places as a small sum needs."""
    return f"${dollars:.2f}" if dollars >= 1 else f"${dollars:.6f}"
