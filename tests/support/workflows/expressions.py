"""GitHub's expressions: literals, names, indices, operators and the functions below.

tests/workflows/test_official_parser.py holds the values against GitHub's own evaluator.
"""

import json
import math
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

Functions = Mapping[str, Callable[..., Any]]
TOKEN = re.compile(
    r"\s*(?:(?P<string>'(?:[^']|'')*')|(?P<number>[+-]?(?:\d[\w.]*|\.\d[\w.]*))"
    r"|(?P<name>[A-Za-z_][\w-]*)|(?P<symbol>&&|\|\||[!=<>]=|[!<>()\[\],.]))"
)
LITERALS = {"true": True, "false": False, "null": None, "NaN": math.nan, "Infinity": math.inf}
# What binds weakest comes first.
LEVELS = (("||",), ("&&",), ("==", "!="), ("<", "<=", ">", ">="))
ORDERS = {"<": operator.lt, ">": operator.gt}


def filled(text: Any, known: Mapping[str, Any], functions: Functions) -> str:
    """A text with all of its ${{ }} replaced."""
    return re.sub(
        r"\$\{\{(.*?)\}\}", lambda found: shown(value(found[1], known, functions)), shown(text)
    )


def holds(condition: str | None, known: Mapping[str, Any], functions: Functions) -> bool:
    """Whether an `if:` lets its step or job run; `success()` unless it calls a status function."""
    if condition is None:
        return bool(functions["success"]())
    bare = re.sub(r"^\$\{\{(.*)\}\}$", r"\1", condition.strip(), flags=re.DOTALL)
    asks = re.search(r"\b(success|failure|cancelled|always)\(", bare)
    return bool((asks or functions["success"]()) and is_truthy(value(bare, known, functions)))


def value(expression: str, known: Mapping[str, Any], functions: Functions) -> Any:
    """What an expression stands for: a string, number, boolean, None, list or dictionary."""
    return Reader(expression, known, functions).read_all()


def shown(found: Any) -> str:
    """A value as a text."""
    match found:
        case None:
            return ""
        case bool():
            return str(found).lower()
        case float() if found.is_integer():
            return str(int(found))
        case float() if math.isinf(found):
            return "Infinity" if found > 0 else "-Infinity"
        case float() if math.isnan(found):
            return "NaN"
        case Mapping():
            return "Object"
        case list():
            return "Array"
    return str(found)


def is_truthy(found: Any) -> bool:
    """Lists and dictionaries are true, even empty ones."""
    if not is_scalar(found):
        return True
    return bool(found) and found == found  # NaN is false


def is_scalar(found: Any) -> bool:
    return not isinstance(found, (Mapping, list))


class Reader:
    """Reads an expression from left to right, and computes it."""

    def __init__(self, expression: str, known: Mapping[str, Any], functions: Functions) -> None:
        self.expression, self.known = expression, known
        self.functions = {name.lower(): call for name, call in {**FUNCTIONS, **functions}.items()}
        self.tokens = _split(expression)

    def read_all(self) -> Any:
        found = self.read_level(0)
        assert self.tokens[0] == ("end", ""), self._complain()
        return found

    def read_level(self, level: int) -> Any:
        if level == len(LEVELS):
            return self.read_unary()
        found = self.read_level(level + 1)
        while self.tokens[0][1] in LEVELS[level] and self.tokens[0][0] == "symbol":
            symbol = self.tokens.pop(0)[1]
            found = _combine(symbol, found, self.read_level(level + 1))
        return found

    def read_unary(self) -> Any:
        if self._take("!"):
            return not is_truthy(self.read_unary())
        found = self.read_primary()
        while True:
            if self._take("."):
                assert self.tokens[0][0] == "name", self._complain()
                found = _look(found, self.tokens.pop(0)[1])
            elif self._take("["):
                found = _look(found, self.read_level(0))
                self._demand("]")
            else:
                return found

    def read_primary(self) -> Any:
        if self._take("("):
            found = self.read_level(0)
            self._demand(")")
            return found
        assert self.tokens[0][0] in {"string", "number", "name"}, self._complain()
        kind, text = self.tokens.pop(0)
        if kind == "string":
            return text[1:-1].replace("''", "'")
        if kind == "number":
            return _read_number(text)
        if self._take("("):
            return self.functions[text.lower()](*self.read_arguments())
        return LITERALS[text] if text in LITERALS else _look(self.known, text)

    def read_arguments(self) -> list[Any]:
        if self._take(")"):
            return []
        arguments = [self.read_level(0)]
        while self._take(","):
            arguments.append(self.read_level(0))
        self._demand(")")
        return arguments

    def _take(self, symbol: str) -> bool:
        if self.tokens[0] != ("symbol", symbol):
            return False
        self.tokens.pop(0)
        return True

    def _demand(self, symbol: str) -> None:
        assert self._take(symbol), self._complain()

    def _complain(self) -> str:
        return f"{self.expression!r}: cannot read {self.tokens[0][1]!r}"


def _split(expression: str) -> list[tuple[str, str]]:
    tokens, end = [], 0
    while expression[end:].strip():
        match = TOKEN.match(expression, end)
        assert match, f"{expression!r}: cannot read {expression[end:]!r}"
        tokens.append((match.lastgroup, match[match.lastgroup]))
        end = match.end()
    return [*tokens, ("end", "")]


def _combine(symbol: str, left: Any, right: Any) -> Any:
    match symbol:
        case "||":
            return left if is_truthy(left) else right
        case "&&":
            return right if is_truthy(left) else left
        case "==" | "!=":
            return _is_equal(left, right) == (symbol == "==")
    order = ORDERS[symbol[0]]
    return (symbol.endswith("=") and _is_equal(left, right)) or _is_ordered(order, left, right)


def _is_equal(left: Any, right: Any) -> bool:
    left, right = _coerce(left, right)
    return left == right if is_scalar(left) else left is right


def _is_ordered(order: Callable[[Any, Any], bool], left: Any, right: Any) -> bool:
    left, right = _coerce(left, right)
    comparable = isinstance(left, (str, float)) and type(left) is type(right)
    return comparable and order(left, right)


def _coerce(left: Any, right: Any) -> tuple[Any, Any]:
    """Strings are compared without case; of two kinds, both become numbers."""
    if isinstance(left, str) and isinstance(right, str):
        return left.upper(), right.upper()
    if left is None and right is None:
        return 0.0, 0.0
    if not is_scalar(left) and not is_scalar(right):
        return left, right
    return _as_number(left), _as_number(right)


def _as_number(found: Any) -> float:
    if isinstance(found, str):
        return _read_number(found)
    return float(found or 0) if is_scalar(found) else math.nan


def _read_number(text: str) -> float:
    text = text.strip()
    if re.fullmatch(r"0x[0-9a-fA-F]+", text):
        return float(int(text, 16))
    is_number = re.fullmatch(r"([+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?Infinity)?", text)
    return float(text or 0) if is_number else math.nan


def _look(found: Any, name: Any) -> Any:
    """A member of a dictionary, in any case, or of a list; what is not there is None."""
    if isinstance(found, Mapping):
        folded = {str(key).lower(): inside for key, inside in found.items()}
        return folded.get(shown(name).lower()) if is_scalar(name) else None
    if isinstance(found, list):
        index = _as_number(name)
        return found[int(index)] if 0 <= index < len(found) else None
    return None


def _contains(where: Any, what: Any) -> bool:
    if isinstance(where, list):
        return any(_is_equal(what, inside) for inside in where)
    return is_scalar(where) and is_scalar(what) and shown(what).lower() in shown(where).lower()


def _starts_with(text: Any, start: Any) -> bool:
    both = is_scalar(text) and is_scalar(start)
    return both and shown(text).upper().startswith(shown(start).upper())


def _ends_with(text: Any, end: Any) -> bool:
    both = is_scalar(text) and is_scalar(end)
    return both and shown(text).upper().endswith(shown(end).upper())


def _join(found: Any, separator: Any = ",") -> str:
    if isinstance(found, list):
        between = shown(separator) if is_scalar(separator) else ","
        return between.join(shown(inside) for inside in found)
    return shown(found) if is_scalar(found) else ""


def _format(text: str, *values: Any) -> str:
    return re.sub(r"\{(\d+)\}", lambda match: shown(values[int(match[1])]), text)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "contains": _contains,
    "startsWith": _starts_with,
    "endsWith": _ends_with,
    "format": _format,
    "join": _join,
    "fromJSON": lambda text: json.loads(text, parse_int=float),
}
