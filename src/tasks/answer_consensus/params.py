"""The types of params.yaml for answer consensus."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, model_validator

from plumbline.contract.params import Name, Params, Share, StrictModel, Validation
from plumbline.contract.search import TunableConfig

GENERATED = "generated"
Positive = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(ge=1)]


class Agent(StrictModel):
    """One agent: a model with one prompt, and one of its samples where several were drawn."""

    recorded_as: str  # in the column `agent`
    sample: Annotated[int, Field(ge=0)]  # in the column `sample`; 0 where there is none
    model: str  # agents of one model are what self-consistency votes over
    price: Positive  # dollars of 1000 tokens


class Columns(StrictModel):
    """What the columns of the source are called; null: there is none."""

    question_id: str
    question: str
    gold: str
    agent: str
    answer: str
    tokens: str | None  # null: each answer counts as one
    sample: str | None
    topic: str | None
    group: str | None  # questions of one template, which belong in one split


class SplitShares(StrictModel):
    """Shares of questions that are held out; by the digest of the question, or of its group."""

    validation: Annotated[float, Field(gt=0, lt=0.5)]
    test: Annotated[float, Field(gt=0, lt=0.8)]


class Talent(StrictModel):
    """How a generated agent answers; see data/generated.py."""

    ability: float
    tokens: Count  # of an answer, in the mean


class GeneratedRecords(StrictModel):
    """Generated records; see data/generated.py."""

    num_questions: Count
    wrong_answers: Annotated[int, Field(ge=2, le=1000)]  # that a question has
    copy_share: Share  # of an agent's wrong answers, that are its model's
    talents: Annotated[Mapping[Name, Talent], Field(min_length=2)]


class RecordedData(StrictModel):
    """Recorded answers in long form: one row for each question and agent."""

    source: str  # a file, glob or URL; or `generated`
    sha256: Mapping[str, str]
    watch: str
    columns: Columns
    normalise: Literal["exact", "casefold", "number"]  # before answers are compared
    agents: Annotated[Mapping[Name, Agent], Field(min_length=2, max_length=64)]
    max_cost: Positive | None  # dollars that one question may cost; null: no cap
    mean_cost: Positive  # dollars that a question may cost in the mean
    split: SplitShares
    generated: GeneratedRecords | None

    @model_validator(mode="after")
    def _check_agents(self) -> "RecordedData":
        recorded = [(agent.recorded_as, agent.sample) for agent in self.agents.values()]
        for one in recorded:
            if recorded.count(one) > 1:
                raise ValueError(f"agents: two are recorded as {one[0]}, sample {one[1]}")
        if self.columns.sample is None and any(sample for _, sample in recorded):
            raise ValueError("agents: a sample above 0, and columns.sample is null")
        return self

    @model_validator(mode="after")
    def _check_generated(self) -> "RecordedData":
        if (self.source == GENERATED) != (self.generated is not None):
            raise ValueError("generated: is set where source is `generated`, and null elsewhere")
        if self.generated is not None and list(self.generated.talents) != list(self.agents):
            raise ValueError("generated.talents: name the agents of data.agents, in their order")
        if self.split.validation + self.split.test >= 1:
            raise ValueError("split: validation and test leave nothing to train on")
        return self


class RecordChecks(Validation):
    """What records must be."""

    max_missing_share: Share  # of the answers of any agent


class FixedVote(StrictModel):
    """The fixed set of agents with the best vote on train that `mean_cost` pays for.

    single: one agent · plurality: one vote each
    """

    kind: Literal["single", "plurality"]


class LogitConfig(TunableConfig):
    """Conditional logit (McFadden 1974): each agent's vote has a weight.

    It also decides whom to ask next, and when to stop.
    """

    kind: Literal["logit"]
    order: Literal["cheap_first", "value"]  # value: the most expected certainty for its price
    stop_at: Annotated[float, Field(gt=0, le=1)] | None  # null: chosen on validation, by mean_cost
    subsets: Count  # random sets of agents of each question, to learn from

    ridge: Positive  # added to the loss: this times half the squared weights


Candidate = Annotated[FixedVote | LogitConfig, Field(discriminator="kind")]


class ConsensusParams(Params):
    """params.yaml with task: answer_consensus."""

    task: Literal["answer_consensus"]
    data: RecordedData
    validation: RecordChecks
    candidates: Annotated[Mapping[Name, Candidate], Field(min_length=1)]


PARAMS = ConsensusParams
