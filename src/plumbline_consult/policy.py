"""The policy: given what is known, whom to ask next, or what to answer."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from plumbline import bundle
from plumbline.contract.errors import ParamsError, PlumblineError
from plumbline.contract.task import Predictor
from plumbline.process.files import read_json
from plumbline.registry.reader.loading import ask_predictor
from plumbline_consult.agents import AgentsFile

INPUTS = ("agents", "answers", "budget")
CONFIG = "config.json"
ROUNDING = 1e-9  # relative, of sums of costs
OUTPUTS = ("ask", "answer", "confidence", "votes")
CONFIDENCES = "confidences"


@dataclass(frozen=True)
class KnownAnswers:
    """What is known of one question when the policy looks."""

    agents: list[str]  # that have answered or failed
    answers: list[str]  # of each; empty where it failed
    confidences: list[float | None]  # that each stated
    budget: float  # dollars that are left


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
    stated: list[float]  # the confidence of each agent in the mean; 0 where records had none
    has_confidences: bool  # the model has a column for them

    def build_columns(self, known: KnownAnswers) -> dict[str, list[Any]]:
        """One row of what is known.

        Agents that state no confidence have their mean, as in evaluation; a policy whose records
        had no confidences gets no such column.
        """
        columns: dict[str, list[Any]] = {
            "agents": [known.agents],
            "answers": [known.answers],
            "budget": [self._limit_budget(known)],
        }
        if self.has_confidences and any(self.stated):
            means = dict(zip(self.agents, self.stated, strict=True))
            columns[CONFIDENCES] = [
                [
                    means.get(name, 0.0) if confidence is None else confidence
                    for name, confidence in zip(known.agents, known.confidences, strict=True)
                ]
            ]
        return columns

    def _limit_budget(self, known: KnownAnswers) -> float:
        """What may be spent now: what is left, or less where evaluation had less.

        What agents really cost is counted by `budget`; a policy decides as it was evaluated.
        """
        costs = dict(zip(self.agents, self.costs, strict=True))
        spent = math.fsum(costs.get(name, 0.0) for name in known.agents)
        left = self.max_cost * (1 + ROUNDING) - spent
        return max(0.0, min(known.budget, left))


class Policy(Protocol):
    """Decides; it knows nothing but the answers that were paid for."""

    @property
    def label(self) -> str:
        """Who decides, as records name it."""
        ...

    @property
    def form(self) -> str:
        """How answers are compared: exact, casefold or number."""
        ...

    async def decide(self, known: KnownAnswers) -> PolicyDecision:
        """Decide. Raises PlumblineError where the model's code fails."""
        ...


class PredictorPolicy:
    """A predictor in this process as the policy."""

    def __init__(
        self, predictor: Predictor, params: Mapping[str, Any], label: str, config: PolicyConfig
    ) -> None:
        self._predictor = predictor
        self._params = params
        self._config = config
        self.label = label
        self.form = config.form

    async def decide(self, known: KnownAnswers) -> PolicyDecision:
        """Ask the predictor; it answers in milliseconds, so no thread is used."""
        columns = self._config.build_columns(known)
        try:
            output = ask_predictor(self._predictor, columns, self._params, self.label)
        except ValueError as error:
            raise PlumblineError(f"{self.label}: {error}") from None
        return read_decision(output)


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
            f"{', '.join(sorted(outputs))}; train one with `plumbline recipe use answer_consensus`"
        )
    config = read_json(folder / CONFIG)
    try:
        policy = PolicyConfig(
            config["agents"],
            config["normalise"],
            config["costs"],
            config["max_cost"],
            config["stated"],
            CONFIDENCES in inputs,
        )
    except KeyError as error:
        raise PlumblineError(f"{label}: {CONFIG} has no {error}; train it again") from None
    _check_agents(policy, path, file)
    return policy


def _check_agents(policy: PolicyConfig, path: Path, file: AgentsFile) -> None:
    missing = [name for name in policy.agents if name not in file.agents]
    if missing:
        others = [name for name in file.agents if name not in policy.agents]
        hint = f"; only the file has {', '.join(others)}" if others else ""
        raise ParamsError(
            f"{path}: agents: the policy may ask for {', '.join(missing)}; "
            f"describe them there under these names{hint}"
        )


def read_decision(output: Mapping[str, Sequence[Any]]) -> PolicyDecision:
    """Read the one row that a policy answered."""
    (ask,) = output["ask"]
    (answer,) = output["answer"]
    (confidence,) = output["confidence"]
    (votes,) = output["votes"]
    return PolicyDecision((ask,) if ask else (), answer, confidence, votes)
