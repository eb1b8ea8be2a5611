"""Policies: given what is known, whom to ask next, or what to answer."""

import math
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

from plumbline import bundle
from plumbline.contract.errors import ParamsError, PlumblineError
from plumbline.process.files import read_json
from plumbline_consult.agents import AgentsFile
from plumbline_consult.calling import AgentOutcome

INPUTS = ("agents", "answers", "budget")
EVERYONE = "all"  # what the command line calls it
ROUNDING = 1e-9  # relative, of sums of costs
OUTPUTS = ("ask", "answer", "confidence", "votes")
Columns = dict[str, list[Any]]
NUMBER = re.compile(r"-?(?:[0-9][0-9,]*(?:\.[0-9]+)?|\.[0-9]+)")
MAX_CHARS = 10_000  # of an answer, from its end
PLACES, EXACT = Decimal("0.0001"), Context(prec=MAX_CHARS + 10)  # of numbers that are compared


@dataclass(frozen=True)
class PolicyDecision:
    """Whom to ask next (nobody: it is decided), and the best answer so far."""

    ask: tuple[str, ...]
    answer: str
    confidence: float
    votes: list[dict[str, Any]]  # of answer and share


@dataclass(frozen=True)
class PolicyConfig:
    """Whom a policy knows, and the form in which it compares answers."""

    agents: list[str]
    form: str  # exact, casefold or number
    costs: list[float]  # of asking each agent, as evaluation counted them; dollars
    max_cost: float  # that one question might cost in evaluation

    def build_columns(self, outcomes: Sequence[AgentOutcome], budget: float) -> Columns:
        """One row of what is known, with what may be spent: less where evaluation had less.

        What agents really cost is counted by `budget`; a policy decides as it was evaluated.
        """
        agents = [outcome.agent for outcome in outcomes]
        costs = dict(zip(self.agents, self.costs, strict=True))
        spent = math.fsum(costs.get(agent, 0.0) for agent in agents)
        left = self.max_cost * (1 + ROUNDING) - spent
        answers = [outcome.answer for outcome in outcomes]
        return {"agents": [agents], "answers": [answers], "budget": [max(0.0, min(budget, left))]}


@dataclass(frozen=True)
class ModelPolicy:
    """A model as the policy; `answer_row` gives its outputs for one row."""

    config: PolicyConfig
    label: str  # who decides, as records name it
    answer_row: Callable[[Columns], Awaitable[Columns]]

    @property
    def form(self) -> str:
        """The form in which answers are compared."""
        return self.config.form

    async def decide(self, outcomes: Sequence[AgentOutcome], budget: float) -> PolicyDecision:
        """Decide by what agents answered, and the dollars that are left.

        Raises what `answer_row` raises: PlumblineError where the model's code fails.
        """
        output = await self.answer_row(self.config.build_columns(outcomes, budget))
        ask, answer, confidence, votes = (output[name][0] for name in OUTPUTS)
        return PolicyDecision((ask,) if ask else (), answer, confidence, votes)


@dataclass(frozen=True)
class Everyone:
    """Before there is a model: all are asked at the same time, then those that see the others."""

    file: AgentsFile
    form: str
    label: str = EVERYONE

    async def decide(self, outcomes: Sequence[AgentOutcome], budget: float) -> PolicyDecision:
        """Ask who was not asked; of equally common answers, the first agent's in the file wins."""
        given = {outcome.agent: outcome.answer for outcome in outcomes}
        agents = self.file.agents
        rest = [name for name in agents if name not in given]
        first = [name for name in rest if not agents[name].sees_others]
        ordered = [given[name] for name in agents if given.get(name)]
        votes = Counter(ordered).most_common()
        shares = [{"answer": text, "share": count / len(ordered)} for text, count in votes]
        best, num_votes = (votes or [("", 0)])[0]
        confidence = num_votes / max(1, len(ordered))
        return PolicyDecision(tuple(first or rest), best, confidence, shares)


Policy = ModelPolicy | Everyone


def read_config(folder: Path, label: str, path: Path, file: AgentsFile) -> PolicyConfig:
    """Read from a verified bundle whom its policy knows.

    PlumblineError if it is not a policy, ParamsError where agents.yaml at `path` lacks some of its
    agents. Agents that only the file has are asked for the records alone, where it says `ask_all`.
    """
    signature = bundle.read_signature(folder)
    inputs = {field.name for field in signature.inputs}
    outputs = {field.name for field in signature.outputs}
    if not (inputs >= set(INPUTS) and outputs >= set(OUTPUTS)):
        raise PlumblineError(
            f"{label}: not a policy: it takes {', '.join(sorted(inputs))} and answers "
            f"{', '.join(sorted(outputs))}; the recipe answer_consensus trains one"
        )
    config = read_json(folder / "config.json")
    missing = [name for name in config["agents"] if name not in file.agents]
    if missing:
        raise ParamsError(
            f"{path}: agents: the policy may ask for {', '.join(missing)}; "
            "describe them there under these names"
        )
    return PolicyConfig(config["agents"], config["normalise"], config["costs"], config["max_cost"])


# How answers are compared: as the predictor of answer_consensus does it, which may not be here.
def load_normaliser(form: str) -> Callable[[str], str]:
    """Return the function of a form; PlumblineError for one that the task does not know."""
    if form not in NORMALISERS:
        known = ", ".join(NORMALISERS)
        raise PlumblineError(f"normalise: {form!r:.60} is not known; expected one of {known}")
    return NORMALISERS[form]


def normalise_case(text: str) -> str:
    """Return the text in lower case, with single blanks."""
    return " ".join(text.casefold().split())


def normalise_number(text: str) -> str:
    """Return the last number in the text, without commas, to 4 places; empty without one."""
    numbers = NUMBER.findall(text[-MAX_CHARS:])
    if not numbers:
        return ""
    value = Decimal(numbers[-1].replace(",", "")).quantize(PLACES, context=EXACT)
    plain = f"{value:f}".rstrip("0").rstrip(".")
    return "0" if plain == "-0" else plain


NORMALISERS: dict[str, Callable[[str], str]] = {
    "exact": str.strip,
    "casefold": normalise_case,
    "number": normalise_number,
}
