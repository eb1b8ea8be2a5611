"""Policies: given what is known, whom to ask next, or what to answer."""

import math
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
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
        """One row of what is known."""
        return {
            "agents": [[outcome.agent for outcome in outcomes]],
            "answers": [[outcome.answer for outcome in outcomes]],
            "budget": [self._limit_budget(outcomes, budget)],
        }

    def _limit_budget(self, outcomes: Sequence[AgentOutcome], budget: float) -> float:
        """What may be spent now: what is left, or less where evaluation had less.

        What agents really cost is counted by `budget`; a policy decides as it was evaluated.
        """
        costs = dict(zip(self.agents, self.costs, strict=True))
        spent = math.fsum(costs.get(outcome.agent, 0.0) for outcome in outcomes)
        left = self.max_cost * (1 + ROUNDING) - spent
        return max(0.0, min(budget, left))


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
        (ask,) = output["ask"]
        (answer,) = output["answer"]
        (confidence,) = output["confidence"]
        (votes,) = output["votes"]
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
        best = votes[0][0] if votes else ""
        confidence = votes[0][1] / len(ordered) if votes else 0.0
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
