"""The expressions of workflows, by GitHub's own evaluator."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from tests.support.workflows.github_parser import GitHubParser, install_parser

STATUS = ("success", "failure", "cancelled", "always")
find_parser = cache(install_parser)


def fill(texts: Mapping[str, Any], known: Mapping[str, Any], *, is_fine: bool) -> dict[str, str]:
    """Return the texts with all of their ${{ }} replaced; `is_fine`: nothing failed so far."""
    parts = {key: re.split(r"\$\{\{(.*?)\}\}", _show(text)) for key, text in texts.items()}
    expressions = [part for found in parts.values() for part in found[1::2]]
    values = iter(_evaluate(expressions, known, is_fine))
    for found in parts.values():
        found[1::2] = [next(values) for _ in found[1::2]]
    return {key: "".join(found) for key, found in parts.items()}


def holds(condition: str | None, known: Mapping[str, Any], *, is_fine: bool) -> bool:
    """Whether an `if:` lets its step or job run; `success()` unless it calls a status function."""
    bare = re.sub(r"^\$\{\{(.*)\}\}$", r"\1", (condition or "success()").strip(), flags=re.DOTALL)
    asks = re.search(rf"\b({'|'.join(STATUS)})\(", bare)
    return (is_fine or bool(asks)) and _evaluate([f"!!({bare})"], known, is_fine) == ["true"]


def _evaluate(expressions: list[str], known: Mapping[str, Any], is_fine: bool) -> list[str]:
    if not expressions:
        return []
    parser: GitHubParser = find_parser()
    status = dict(zip(STATUS, (is_fine, not is_fine, False, True), strict=True))
    answers = parser.evaluate(expressions, known, status)
    for expression, (kind, text) in zip(expressions, answers, strict=True):
        assert kind != "error", f"{expression}: {text}"
    return [text or "" for _, text in answers]


def _show(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
