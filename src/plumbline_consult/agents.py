"""agents.yaml: who can be asked, at which address, price and limits.

Every problem of the file is named at once, each with its key, and no secret in it.
"""

from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import Field, JsonValue, ValidationError, field_validator
from pydantic_core import ErrorDetails

from plumbline.contract.errors import ParamsError
from plumbline.contract.params import Name, StrictModel
from plumbline.contract.params_file import explain_problem
from plumbline.contract.yaml_file import load_yaml

QUESTION = "{question}"
OTHERS = "{others}"
# Their values are never printed: somebody may have written the key itself.
SECRET_KEYS = ("key_env", "base_url")

Seconds = Annotated[float, Field(gt=0, le=86_400)]
Dollars = Annotated[float, Field(ge=0, le=1_000)]


class Price(StrictModel):
    """Dollars for 1,000 tokens, as params.yaml states them."""

    prompt: Dollars
    completion: Dollars


class AgentEntry(StrictModel):
    """A server that speaks the chat-completions protocol, and how it is asked."""

    base_url: Annotated[str, Field(max_length=2_000)]
    model: Annotated[str, Field(min_length=1, max_length=500)]
    # The name of an environment variable; lower case is refused because keys have it, names not.
    key_env: Annotated[str, Field(pattern=r"^[A-Z_][A-Z0-9_]{0,99}$")] | None = None
    body: dict[str, JsonValue] = Field(default={})  # more keys of the request, such as temperature
    prompt: Annotated[str, Field(max_length=100_000)]
    system: Annotated[str, Field(max_length=100_000)] = ""
    answer_after: Annotated[str, Field(max_length=100)] = ""  # text before the answer
    price: Price
    timeout_s: Seconds = 30.0  # for one attempt
    attempts: Annotated[int, Field(ge=1, le=10)] = 3
    max_parallel: Annotated[int, Field(ge=1, le=1_000)] = 4

    @property
    def sees_others(self) -> bool:
        """Whether the agent is shown the answers that others gave before."""
        return OTHERS in self.prompt

    @field_validator("prompt")
    @classmethod
    def _check_prompt(cls, prompt: str) -> str:
        if QUESTION not in prompt:
            raise ValueError(f"does not contain {QUESTION}; write where the question goes")
        return prompt

    @field_validator("base_url")
    @classmethod
    def _check_url(cls, url: str) -> str:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("expected an address such as https://host/v1")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ValueError("has a user, a query or a fragment; name the key in `key_env`")
        return url.rstrip("/")


class AgentsFile(StrictModel):
    """agents.yaml: the agents by the names that the policy knows, and limits for all of them."""

    deadline_s: Seconds = 60.0  # for one question
    max_cost: Dollars = 1_000.0  # of one question; the cap of the policy holds too
    max_questions: Annotated[int, Field(ge=1, le=1_000)] = 4  # at the same time
    ask_all: Annotated[float, Field(ge=0, le=1)] = 0.0  # share of questions put to every agent
    agents: Annotated[dict[Name, AgentEntry], Field(min_length=1, max_length=1_000)]


def read_agents(path: Path) -> AgentsFile:
    """Read and check the agents in `path`; ParamsError lists every problem."""
    values = load_yaml(path)
    if not isinstance(values, dict):
        raise ParamsError(f"{path}: expected keys and values, such as `agents:`")
    try:
        return AgentsFile.model_validate(values)
    except ValidationError as error:
        problems = [_explain_safely(problem, values) for problem in error.errors()]
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    lines = [f"{path}: {count}; nobody was asked"]
    lines += [f"  {problem}" for problem in problems]
    raise ParamsError("\n".join(lines))


def _explain_safely(problem: ErrorDetails, values: dict[str, Any]) -> str:
    """Explain a problem without the value, where that may be a key or is a whole agent."""
    message = explain_problem(problem, AgentsFile, values)
    is_secret = any(part in SECRET_KEYS for part in problem["loc"])
    if is_secret or isinstance(problem["input"], dict):
        message = message.partition("; found ")[0]
    if "key_env" in problem["loc"]:
        message += "; write the name of an environment variable, such as OPENAI_API_KEY"
    return message
