"""params.yaml, read once and checked completely: every problem is reported at once."""

import re
from collections.abc import Callable
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from plumbline.contract.errors import ParamsError
from plumbline.contract.params import Params
from plumbline.contract.suggestion import suggest_nearest
from plumbline.contract.yaml_file import load_yaml

MAX_SHOWN_CHARS = 60
# What pydantic calls a mapping; whoever writes YAML knows no class.
PYTHON_NAMES = re.compile(r"a valid dictionary(?: or instance of \w+)?")
P = TypeVar("P", bound=Params)


def read_params(path: Path, get_params_class: Callable[[str], type[P]]) -> P:
    """Return the checked parameters in `path`; `get_params_class` is called with the task's name.

    Raises ParamsError that lists every problem by dotted key, with the nearest valid name if one
    is close.
    """
    values = load_yaml(path)
    if not isinstance(values, dict):
        raise ParamsError(
            f"{path}: expected keys and values at the top, found {type(values).__name__}"
        )
    task = values.get("task")
    if not isinstance(task, str):
        raise ParamsError(f"{path}: task: name the task to run, such as text_classification")
    params_class = get_params_class(task)
    try:
        return params_class.model_validate(values)
    except ValidationError as error:
        problems = [explain_problem(problem, params_class, values) for problem in error.errors()]
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    lines = [f"{path}: {count}; nothing was started"]
    lines += [f"  {problem}" for problem in problems]
    raise ParamsError("\n".join(lines))


def explain_problem(problem: ErrorDetails, model: type[BaseModel], values: dict[str, Any]) -> str:
    """One line for one pydantic error: dotted key, what is wrong, nearest valid name, value."""
    keys = _drop_union_tags(problem["loc"], values, names_key=problem["type"] == "missing")
    key, value = ".".join(map(str, keys)), problem["input"]
    match problem["type"]:
        case "extra_forbidden":
            valid = sorted(_list_fields(model, keys[:-1], values))
            hint = suggest_nearest(str(keys[-1]), valid) or f"; known here: {', '.join(valid)}"
            return f"{key}: unknown key{hint}"
        case "missing":
            return f"{key}: missing"
        case "invalid_key":
            return f"{key}: a key is text; if this ends a number, write a point for its comma"
        case "union_tag_invalid" | "union_tag_not_found":
            return _explain_kind(key, problem, value)
    message = PYTHON_NAMES.sub("keys and values", problem["msg"].removeprefix("Value error, "))
    if not keys:
        return message
    hint = ""
    if problem["type"] == "literal_error" and isinstance(value, str):
        expected = problem.get("ctx", {}).get("expected", "").replace(" or ", ", ")
        hint = suggest_nearest(value, [option.strip("' ") for option in expected.split(",")])
    return f"{key}: {message[:1].lower()}{message[1:]}; found {_shorten(value)}{hint}"


def _explain_kind(key: str, problem: ErrorDetails, value: Any) -> str:
    tags = problem.get("ctx", {}).get("expected_tags", "").split(",")
    valid = [tag.strip("' ") for tag in tags]
    kind = value.get("kind") if isinstance(value, dict) else value
    hint = suggest_nearest(str(kind), valid) if kind else ""
    expected = ", ".join(valid) or "the known kinds"
    return f"{key}.kind: expected one of {expected}; found {_shorten(kind)}{hint}"


def _drop_union_tags(
    location: tuple[int | str, ...], values: Any, *, names_key: bool
) -> list[int | str]:
    """Return the parts of `location` that are in the file, and its last part if it `names_key`.

    pydantic mixes union tags into a location, such as a class or `function-after[...]`.
    """
    keys: list[int | str] = []
    for index, part in enumerate(location):
        if _has_part(values, part):
            values = values[part]
            keys.append(part)
        elif index == len(location) - 1 and names_key:
            keys.append(part)
    return keys


def _has_part(values: Any, part: int | str) -> bool:
    if isinstance(values, dict):
        return part in values
    return isinstance(values, list) and isinstance(part, int) and part < len(values)


def _list_fields(annotation: Any, keys: list[int | str], values: Any) -> set[str]:
    """Return the valid field names at `keys`; at a union, the `kind` in the file decides."""
    models = _list_models(annotation, values)
    if not keys:
        return {name for model in models for name in model.model_fields}
    fields: set[str] = set()
    for model in models:
        if keys[0] in model.model_fields:
            inner = model.model_fields[str(keys[0])].annotation
            fields |= _list_fields(inner, keys[1:], values[keys[0]])
    if not fields and get_args(annotation):
        fields = _list_fields(get_args(annotation)[-1], keys[1:], values[keys[0]])
    return fields


def _list_models(annotation: Any, values: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    if get_origin(annotation) is Annotated:
        return _list_models(get_args(annotation)[0], values)
    if get_origin(annotation) not in (Union, UnionType):
        return []
    models: list[type[BaseModel]] = []
    for part in get_args(annotation):
        models += _list_models(part, values)
    kind = values.get("kind") if isinstance(values, dict) else None
    fields = [model.model_fields.get("kind") for model in models]
    named = zip(models, fields, strict=True)
    return [one for one, field in named if field and kind in get_args(field.annotation)] or models


def _shorten(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= MAX_SHOWN_CHARS else text[: MAX_SHOWN_CHARS - 3] + "..."
