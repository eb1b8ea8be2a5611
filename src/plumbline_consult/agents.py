"""The types of agents.yaml: who can be asked, at which address, price and limits."""

from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, JsonValue, field_validator, model_validator

from plumbline.contract.params import Name, StrictModel

QUESTION = "{question}"
OTHERS = "{others}"
# What an endpoint's request body gets from its agent, and from nobody else.
OWN_KEYS = frozenset({"model", "messages", "stream", "n", "logprobs"})

Seconds = Annotated[float, Field(gt=0, le=86_400)]
Dollars = Annotated[float, Field(ge=0, le=1_000)]


class Price(StrictModel):
    """Dollars for 1,000 tokens, as params.yaml states them."""

    prompt: Dollars
    completion: Dollars


class Breaker(StrictModel):
    """After this many failures in a row an agent is not asked for a while."""

    failures: Annotated[int, Field(ge=1, le=1_000)] = 5
    pause_s: Seconds = 30.0


class AgentEntry(StrictModel):
    """What agents of every kind have."""

    timeout_s: Seconds = 30.0  # for one attempt
    attempts: Annotated[int, Field(ge=1, le=10)] = 3
    max_parallel: Annotated[int, Field(ge=1, le=1_000)] = 4
    breaker: Breaker = Breaker()

    @property
    def sees_others(self) -> bool:
        """Whether the agent is shown the answers that others gave before."""
        return False


class TextWriter(AgentEntry):
    """What agents that write text have: a prompt, and where the answer is in the text."""

    prompt: Annotated[str, Field(max_length=100_000)]
    system: Annotated[str, Field(max_length=100_000)] = ""
    sees: Literal["question", "others"] = "question"
    answer_after: Annotated[str, Field(max_length=100)] = ""  # text before the answer
    confidence_after: Annotated[str, Field(max_length=100)] = ""  # text before what it states

    @property
    def sees_others(self) -> bool:
        """Whether the agent is shown the answers that others gave before."""
        return self.sees == "others"

    @model_validator(mode="after")
    def _check_prompt(self) -> Self:
        if QUESTION not in self.prompt:
            raise ValueError(f"prompt: does not contain {QUESTION}; write where the question goes")
        has_others = OTHERS in self.prompt
        if self.sees_others and not has_others:
            raise ValueError(f"prompt: does not contain {OTHERS}, but `sees` is others; add it")
        if has_others and not self.sees_others:
            raise ValueError(f"prompt: contains {OTHERS}; set `sees: others`")
        return self


class Endpoint(TextWriter):
    """A server that speaks the chat-completions protocol."""

    kind: Literal["endpoint"]
    base_url: Annotated[str, Field(max_length=2_000)]
    model: Annotated[str, Field(min_length=1, max_length=500)]
    # The name of an environment variable; lower case is refused because keys have it, names not.
    key_env: Annotated[str, Field(pattern=r"^[A-Z_][A-Z0-9_]{0,99}$")] | None = None
    body: dict[str, JsonValue] = Field(default={})  # more keys of the request, such as temperature
    logprobs: bool = False  # its tokens' mean probability is its confidence
    price: Price

    @field_validator("base_url")
    @classmethod
    def _check_url(cls, url: str) -> str:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("expected an address such as https://host/v1")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ValueError("has a user, a query or a fragment; name the key in `key_env`")
        return url.rstrip("/")

    @model_validator(mode="after")
    def _check_confidence(self) -> Self:
        if self.logprobs and self.confidence_after:
            raise ValueError("logprobs: is on, and confidence_after is set too; choose one")
        return self

    @field_validator("body")
    @classmethod
    def _check_body(cls, body: dict[str, JsonValue]) -> dict[str, JsonValue]:
        taken = sorted(OWN_KEYS & set(body))
        if taken:
            raise ValueError(f"{', '.join(taken)} cannot be set here")
        return body


class LocalText(TextWriter):
    """A Hugging Face text-generation model in a folder."""

    kind: Literal["local"]
    folder: str
    max_new_tokens: Annotated[int, Field(ge=1, le=100_000)] = 256
    max_parallel: Annotated[int, Field(ge=1, le=1)] = 1
    attempts: Annotated[int, Field(ge=1, le=1)] = 1
    price: Price = Price(prompt=0.0, completion=0.0)


class RegisteredModel(AgentEntry):
    """A registered plumbline model, which answers a question by one of its output columns."""

    kind: Literal["registered"]
    model: Annotated[str, Field(pattern=r"^models:/.+")]
    question_column: str
    answer_column: str
    confidence_column: str = ""
    price_of_answer: Dollars = 0.0
    attempts: Annotated[int, Field(ge=1, le=1)] = 1


AnyAgent = Annotated[Endpoint | LocalText | RegisteredModel, Field(discriminator="kind")]


class AgentsFile(StrictModel):
    """agents.yaml: the agents by the names that the policy knows, and limits for all of them."""

    deadline_s: Seconds = 60.0  # for one question
    max_cost: Dollars | None = None  # of one question; None: as the policy was trained
    max_questions: Annotated[int, Field(ge=1, le=1_000)] = 4  # at the same time
    max_parallel: Annotated[int, Field(ge=1, le=10_000)] = 16  # requests at the same time
    agents_at_once: Annotated[int, Field(ge=1, le=100)] = 1  # of one question; all are paid
    ask_all: Annotated[float, Field(ge=0, le=1)] = 0.0  # share of questions put to every agent
    agents: Annotated[dict[Name, AnyAgent], Field(min_length=1, max_length=1_000)]
