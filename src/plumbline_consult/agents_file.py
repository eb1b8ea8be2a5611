"""Read agents.yaml: every problem at once, each with its key, and no secret in it."""

from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from plumbline.contract.errors import ParamsError
from plumbline.contract.params_file import explain_problem
from plumbline.contract.yaml_file import load_yaml
from plumbline_consult.agents import AgentsFile

# Their values are never printed: somebody may have written the key itself.
SECRET_KEYS = ("key_env", "base_url")


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
