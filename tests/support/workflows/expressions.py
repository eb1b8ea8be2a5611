"""GitHub's expressions, as far as the workflows use them."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

TOKEN = re.compile(r"'(?:[^']|'')*'|[A-Za-z_][\w.-]*|&&|\|\||!=|==|[!(),]|\s+")
OPERATORS = {"&&": " and ", "||": " or ", "!": " not "}


def filled(text: Any, known: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]]) -> str:
    """A text with all of its ${{ }} replaced."""
    return re.sub(
        r"\$\{\{(.*?)\}\}", lambda found: shown(value(found[1], known, functions)), shown(text)
    )


def holds(
    condition: str | None, known: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]]
) -> bool:
    """Whether an `if:` lets its step or job run; `success()` unless it calls a status function."""
    if condition is None:
        return bool(functions["success"]())
    bare = re.sub(r"^\$\{\{(.*)\}\}$", r"\1", condition.strip(), flags=re.DOTALL)
    asks = re.search(r"\b(success|failure|cancelled|always)\(", bare)
    return bool((asks or functions["success"]()) and value(bare, known, functions))


def value(
    expression: str, known: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]]
) -> Any:
    found, end = [], 0
    for token in TOKEN.finditer(expression):
        assert token.start() == end, f"{expression!r}: cannot read {expression[end:]!r}"
        end = token.end()
        found.append(_python(token[0], expression[end:], functions))
    assert end == len(expression), f"{expression!r}: cannot read {expression[end:]!r}"
    names = {
        "look": lambda path: _look(path, known),
        "contains": _contains,
        "fromJSON": json.loads,
        **functions,
    }
    return eval("".join(found).strip(), {"__builtins__": {}}, names)  # noqa: S307


def shown(found: Any) -> str:
    return "" if found is None else str(found).lower() if isinstance(found, bool) else str(found)


def _python(token: str, rest: str, functions: Mapping[str, Any]) -> str:
    if token[0] == "'":
        return repr(token[1:-1].replace("''", "'"))
    if re.match(r"[A-Za-z_]", token):
        return token if rest.startswith("(") else f"look({token!r})"
    return OPERATORS.get(token, token)


def _look(path: str, known: Mapping[str, Any]) -> Any:
    """What a path such as `steps.verdict.outputs.waits` stands for; what is not there is empty."""
    found: Any = known
    for name in path.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    return "" if found is None else found


def _contains(where: Any, what: Any) -> bool:
    return what in where
