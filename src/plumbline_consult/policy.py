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
    pending: tuple[str, ...] = ()  # being asked: it looks as if they gave no answer


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
    has_confidences: bool = True  # the model has a column for them

    def build_columns(self, known: KnownAnswers) -> dict[str, list[Any]]:
        """One row of what is known.

        Agents that state no confidence have their mean, as in evaluation; a policy whose records
        had no confidences gets no such column.
        """
        agents = [*known.agents, *known.pending]
        costs = dict(zip(self.agents, self.costs, strict=True))
        reserved = math.fsum(costs.get(name, 0.0) for name in known.pending)
        columns: dict[str, list[Any]] = {
            "agents": [agents],
            "answers": [[*known.answers, *("" for _ in known.pending)]],
            "budget": [self.limit_budget(agents, known.budget - reserved)],
        }
        if self.has_confidences and any(self.stated):
            means = dict(zip(self.agents, self.stated, strict=True))
            stated = [*known.confidences, *(None for _ in known.pending)]
            columns[CONFIDENCES] = [
                [
                    means.get(name, 0.0) if confidence is None else confidence
                    for name, confidence in zip(agents, stated, strict=True)
                ]
            ]
        return columns

    def limit_budget(self, agents: list[str], budget: float) -> float:
        """What may be spent after asking `agents`: `budget`, or less where evaluation had less.

        What agents really cost is counted by `budget`; a policy decides as it was evaluated.
        """
        costs = dict(zip(self.agents, self.costs, strict=True))
        spent = math.fsum(costs.get(name, 0.0) for name in agents)
        left = self.max_cost * (1 + ROUNDING) - spent
        return max(0.0, min(budget, left))


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
        return read_decision(output, self.label)


def check_agents(config: PolicyConfig, path: Path, file: AgentsFile) -> None:
    """ParamsError where the policy knows agents that agents.yaml at `path` lacks.

    Agents that only the file has are asked for the records alone, where it says `ask_all`.
    """
    missing = [name for name in config.agents if name not in file.agents]
    if missing:
        others = [name for name in file.agents if name not in config.agents]
        hint = f"; only the file has {', '.join(others)}" if others else ""
        raise ParamsError(
            f"{path}: agents: the policy may ask for {', '.join(missing)}; "
            f"describe them there under these names{hint}"
        )


def read_config(folder: Path, label: str) -> PolicyConfig:
    """Read from a verified bundle whom its policy knows; PlumblineError if it is not a policy."""
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
        names = [str(name) for name in config["agents"]]
        costs = [float(cost) for cost in config["costs"]]
        policy = PolicyConfig(
            names,
            str(config["normalise"]),
            costs,
            float(config["max_cost"]),
            [float(mean) for mean in config["stated"]],
            CONFIDENCES in inputs,
        )
        policy.build_columns(KnownAnswers([], [], [], 0.0))
    except (KeyError, TypeError, ValueError):
        raise PlumblineError(
            f"{label}: {CONFIG} does not say agents, costs, max_cost, stated and normalise; "
            "train it again"
        ) from None
    return policy


def read_decision(output: Mapping[str, Sequence[Any]], label: str) -> PolicyDecision:
    """Read the one row that a policy answered; PlumblineError where it is of another form."""
    try:
        (ask,) = output["ask"]
        (answer,) = output["answer"]
        (confidence,) = output["confidence"]
        (votes,) = output["votes"]
        shares = [{"answer": str(v["answer"]), "share": float(v["share"])} for v in votes]
        names = (ask,) if isinstance(ask, str) else tuple(ask)
        return PolicyDecision(tuple(filter(None, names)), str(answer), float(confidence), shares)
    except (KeyError, TypeError, ValueError):
        message = f"its answer is not of the form {', '.join(OUTPUTS)}"
        raise PlumblineError(f"{label}: {message}") from None
