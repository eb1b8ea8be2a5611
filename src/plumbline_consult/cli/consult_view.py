"""What `plumbline consult` shows while agents are asked: a table, or lines where it is piped."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from plumbline_consult.course import Asking, ConsultationResult, Observer, Question
from plumbline_consult.outcomes import AgentOutcome, Bill
from plumbline_consult.policy import PolicyDecision
from plumbline_consult.replies import clean_text

BAR = 24  # characters of a full bar
NUM_VOTES = 6
MAX_ANSWER_CHARS = 60
MAX_ID_CHARS = 40


def format_money(dollars: float) -> str:
    """Dollars with as many places as a small sum needs."""
    return f"${dollars:.2f}" if dollars >= 1 else f"${dollars:.6f}"


def describe_outcome(outcome: AgentOutcome) -> str:
    """What came of asking one agent, in a few words."""
    if outcome.reason:
        return f"no answer ({clean_text(outcome.message)})"
    answer = clean_text(outcome.answer, MAX_ANSWER_CHARS) or "no answer in its text"
    return f"{answer} (cut off at its limit of tokens)" if outcome.is_truncated else answer


def describe_cost(outcome: AgentOutcome) -> str:
    """Seconds, tokens and dollars of one agent."""
    about = "about " if outcome.is_estimate else ""
    cost = f"{about}{outcome.num_tokens:,} tokens, {about}{format_money(outcome.cost)}"
    return f"{outcome.seconds:.1f} s, {cost}"


def describe_bill(bill: Bill) -> str:
    """The sum, with what is estimated or not known said beside it."""
    text = f"{format_money(bill.cost)} for {bill.num_tokens:,} tokens"
    if bill.estimated_cost:
        text += f", of which {format_money(bill.estimated_cost)} is an estimate"
    if bill.num_unknown:
        noun = "request" if bill.num_unknown == 1 else "requests"
        text += f"; {bill.num_unknown} {noun} without an answer may be billed too"
    return text


def sum_bills(bills: Sequence[Bill]) -> Bill:
    """The bill of several questions."""
    return Bill(
        sum(bill.cost for bill in bills),
        sum(bill.estimated_cost for bill in bills),
        sum(bill.num_tokens for bill in bills),
        sum(bill.num_unknown for bill in bills),
    )


def describe_result(result: ConsultationResult) -> str:
    """How a consultation ended, how sure the answer is, and what it cost."""
    noun = "agent" if len(result.outcomes) == 1 else "agents"
    asked = f"{len(result.outcomes)} {noun} asked, {describe_bill(result.bill)}"
    if not result.answer:
        reason = clean_text(result.message) or "no agent gave an answer"
        return f"no answer: {reason}; {asked}"
    text = f"confidence {result.confidence:.2f}; {asked}"
    return f"{text}; best so far: {clean_text(result.message)}" if result.message else text


@dataclass
class LineView(Observer):
    """One line for each answer."""

    console: Console

    def end_agent(self, question: Question, outcome: AgentOutcome, asking: Asking) -> None:
        """Print what came."""
        detail = "" if outcome.reason else f" ({describe_cost(outcome)})"
        if asking.chosen == "ask_all":
            detail += " [for the records]"
        line = f"{outcome.agent}: {describe_outcome(outcome)}{detail}"
        self.console.print(line, markup=False)


@dataclass
class FailureView(Observer):
    """One line for each agent that failed, with its question; for many questions."""

    console: Console

    def end_agent(self, question: Question, outcome: AgentOutcome, asking: Asking) -> None:
        """Print why there is no answer."""
        if outcome.reason:
            name = clean_text(question.id, MAX_ID_CHARS)
            line = f"{name}: {outcome.agent}: {describe_outcome(outcome)}"
            self.console.print(line, markup=False)


@dataclass
class AgentRow:
    """One row of the table."""

    agent: str
    outcome: AgentOutcome | None = None


@dataclass
class TableView(Observer):
    """A table that grows while agents are asked; for one question on a terminal."""

    console: Console
    rows: list[AgentRow] = field(default_factory=list)
    decision: PolicyDecision | None = None

    def __post_init__(self) -> None:
        self._live = Live(self._draw(), console=self.console, refresh_per_second=8)

    def __enter__(self) -> "TableView":
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def start_agent(self, question: Question, agent: str) -> None:
        """Add a row."""
        self.rows.append(AgentRow(agent))
        self._live.update(self._draw())

    def end_agent(self, question: Question, outcome: AgentOutcome, asking: Asking) -> None:
        """Complete the row."""
        for row in self.rows:
            if row.agent == outcome.agent:
                row.outcome = outcome
        self._live.update(self._draw())

    def show_decision(self, question: Question, decision: PolicyDecision) -> None:
        """Show the shares of the answers."""
        self.decision = decision
        self._live.update(self._draw())

    def _draw(self) -> RenderableType:
        table = Table("agent", "answer", "time, tokens, cost", box=None, pad_edge=False)
        for row in self.rows:
            if row.outcome is None:
                table.add_row(Text(row.agent), Text("asking ...", style="yellow"), "")
                continue
            style = "red" if row.outcome.reason else "green"
            answer = Text(describe_outcome(row.outcome), style=style)
            table.add_row(Text(row.agent), answer, describe_cost(row.outcome))
        return Group(table, *self._draw_votes())

    def _draw_votes(self) -> list[Text]:
        votes = sorted(
            self.decision.votes if self.decision else [], key=lambda vote: -vote["share"]
        )
        return [
            Text(
                f"{_draw_bar(vote['share'])} {vote['share']:6.1%}  {clean_text(vote['answer'], 60)}"
            )
            for vote in votes[:NUM_VOTES]
        ]


def _draw_bar(share: float) -> str:
    full = round(BAR * min(1.0, max(0.0, share)))
    return "#" * full + "." * (BAR - full)
