"""Read agents.yaml: every problem at once, each with its line and key, and no secret in it."""

import io
from collections.abc import Sequence
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
    """Read and check the agents in `path`; ParamsError lists every problem with its line."""
    values = load_yaml(path)
    if not isinstance(values, dict):
        raise ParamsError(f"{path}: expected keys and values, such as `agents:`")
    try:
        return AgentsFile.model_validate(values)
    except ValidationError as error:
        problems = error.errors()
    text = path.read_text(encoding="utf-8")
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    lines = [f"{path}: {count}; nobody was asked"]
    explained = [(_find_line(text, one["loc"]), _explain_safely(one, values)) for one in problems]
    lines += [f"  {path}:{line}: {message}" for line, message in sorted(explained)]
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


def _find_line(text: str, location: Sequence[int | str]) -> int:
    """The line of the deepest key of `location` that is in the file."""
    from ruamel.yaml import YAML

    node = YAML(typ="rt", pure=True).compose(io.StringIO(text))
    line: int = node.start_mark.line
    for part in location:
        entries = node.value if isinstance(node.value, list) else []
        pairs = [entry for entry in entries if isinstance(entry, tuple)]
        for key, value in pairs:
            if key.value == str(part):
                line = key.start_mark.line
                node = value
                break
    return line + 1
