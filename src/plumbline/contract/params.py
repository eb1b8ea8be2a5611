"""params.yaml, read once and checked whole: values live in YAML, constraints in the types below.

A task adds its own `data`, `candidates` and `evaluation` to the shapes shared by all (see `Params`). Nothing here has a
default: a value that changes a result is written down in params.yaml, or the file is refused.
"""

import difflib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from plumbline.contract.errors import ParamsError

MAX_BYTES = 1_000_000
MAX_DEPTH = 20
REFERENCE = "fp32"  # the form that a model was trained in: others have to answer as it does

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,39}$")]
Share = Annotated[float, Field(ge=0, le=1)]


class StrictModel(BaseModel):
    """Frozen, strict and closed: an unknown key is an error, and text is never taken for a number."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)


class Training(StrictModel):
    """How candidates that learn by gradient are trained; what is learned stands with each candidate."""

    device: Literal["auto", "cuda", "mps", "cpu"]
    precision: Literal["auto", "bf16", "fp32"]
    compile: Literal["auto", "on", "off"]
    checkpoint_every_steps: Annotated[int, Field(ge=1)]


class Control(StrictModel):
    """Which candidates are also trained on shuffled answers, from which nothing can be learned."""

    candidates: list[Name]
    max_rows: Annotated[int, Field(ge=1)]  # of train


class Champion(StrictModel):
    """What it takes to follow the champion."""

    policy: Literal["better", "not-worse"]
    margin: Annotated[
        float, Field(ge=0)
    ]  # better: surely by more than this; not-worse: surely by no more than this


class Leakage(StrictModel):
    """How much of a held-out split may also stand in a split before it."""

    exact: Share
    near: Share
    group: Share


class Behaviour(StrictModel):
    """The share of cases of each kind that the winner must get right."""

    invariance: Share
    direction: Share
    minimum: Share


class Parity(StrictModel):
    """How close another form of the winner must come to REFERENCE, to be served in its place."""

    max_loss: Annotated[float, Field(ge=0)]  # it must surely lose no more
    min_agreement: Share  # of rows that both answer alike


class Budget(StrictModel):
    """What the winner may cost to run; null: as much as it likes."""

    one_p95_ms: Annotated[float, Field(gt=0)] | None
    batch_p95_ms: Annotated[float, Field(gt=0)] | None  # of 32 rows
    rss_mb: Annotated[float, Field(gt=0)] | None  # of a process that answers with the package
    bundle_mb: Annotated[float, Field(gt=0)] | None


class Evaluation(StrictModel):
    """What a winner has to show, in the task's metric, before it may be promoted."""

    confidence: Annotated[float, Field(gt=0.5, le=0.9999)]
    floor: float  # the worse end of the score's interval must reach this
    min_gain_over_baseline: Annotated[
        float, Field(ge=0)
    ]  # the worse end of the gain's interval must reach this
    simple_candidate: Name | None  # a winner other than this must surely be better than it
    champion: Champion
    planned_looks: Annotated[int, Field(ge=1)]  # how often this test split may be consulted
    max_detectable_difference: Annotated[
        float, Field(gt=0)
    ]  # the test split must be able to tell so much
    slices: list[str]  # columns of the manifest
    min_slice_rows: Annotated[int, Field(ge=2)]
    max_slice_loss: Annotated[float, Field(ge=0)]  # no group may surely lose more than this
    max_leakage: Leakage
    max_calibration_error: Share | None
    min_behaviour: Behaviour
    parity: Parity
    budget: Budget


class Registry(StrictModel):
    """Where the winner is registered, under which name."""

    model: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,59}$")]
    first_champion: bool


class Persistence(StrictModel):
    """How many of the last windows must have drifted before training is asked for."""

    windows: Annotated[int, Field(ge=1)]
    of: Annotated[int, Field(ge=1)]

    @model_validator(mode="after")
    def _enough(self) -> "Persistence":
        if self.windows > self.of:
            raise ValueError(f"{self.windows} of the last {self.of} windows can never drift")
        return self


class Retrain(StrictModel):
    """How often drift may ask for training."""

    per_day: Annotated[int, Field(ge=0)]
    cooldown_hours: Annotated[float, Field(ge=0)]


class Drift(StrictModel):
    """When rows of today count as other than those that the champion was evaluated on."""

    alpha: Annotated[
        float, Field(gt=0, lt=0.5)
    ]  # at most this share of stable windows seems to drift
    min_effect: Annotated[
        float, Field(ge=0)
    ]  # population stability index below which no change counts
    min_rows: Annotated[int, Field(ge=30)]
    max_rows: Annotated[int, Field(ge=30)]  # the newest ones
    persistence: Persistence
    retrain: Retrain


class Params(StrictModel):
    """What every params.yaml holds; a task narrows `data`, `validation` and `candidates`."""

    version: Literal[1]
    task: str
    seed: Annotated[int, Field(ge=0, lt=2**31)]
    data: StrictModel
    validation: StrictModel
    candidates: Mapping[Name, StrictModel]
    training: Training
    control: Control
    evaluation: Evaluation
    drift: Drift
    registry: Registry

    @model_validator(mode="after")
    def _named_candidates_exist(self) -> "Params":
        named = [("control.candidates", name) for name in self.control.candidates]
        if self.evaluation.simple_candidate is not None:
            named.append(("evaluation.simple_candidate", self.evaluation.simple_candidate))
        for key, name in named:
            if name not in self.candidates:
                hint = (
                    nearest(name, list(self.candidates))
                    or f"; candidates are {', '.join(self.candidates)}"
                )
                raise ValueError(f"{key} names {name!r}, which is no candidate{hint}")
        return self


P = TypeVar("P", bound=Params)


def read(path: Path, shape_of: Callable[[str], type[P]]) -> P:
    """Return the checked parameters in `path`; `shape_of` gives the shape for the task named in it.

    Raises ParamsError that lists every problem by dotted key, with the nearest valid name where one is close.
    """
    values = load_yaml(path)
    if not isinstance(values, dict):
        raise ParamsError(
            f"{path}: expected keys and values at the top, found {type(values).__name__}"
        )
    task = values.get("task")
    if not isinstance(task, str):
        raise ParamsError(f"{path}: task: name the task to run, such as text_classification")
    shape = shape_of(task)
    try:
        return shape.model_validate(values)
    except ValidationError as error:
        problems = [_explain(problem, shape, values) for problem in error.errors()]
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    raise ParamsError(
        "\n".join(
            [f"{path}: {count}; nothing was started", *(f"  {problem}" for problem in problems)]
        )
    )


def load_yaml(path: Path) -> Any:
    """Parse YAML 1.2 (as DVC does); refuse what hides a mistake or an attack: duplicate keys, aliases, tags, size."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ParamsError(
            f"{path}: cannot be read ({error.strerror}); run from the top of the repository"
        ) from None
    if len(raw) > MAX_BYTES:
        raise ParamsError(f"{path}: {len(raw):,} bytes; a params file stays below {MAX_BYTES:,}")
    try:
        text = raw.decode("utf-8")
        _refuse_tricks(path, YAML(typ="safe", pure=True).parse(text))
        return YAML(typ="safe", pure=True).load(text)
    except UnicodeDecodeError as error:
        raise ParamsError(f"{path}: not UTF-8 at byte {error.start}") from None
    except YAMLError as error:
        raise ParamsError(f"{path}: {_where(error)}") from None
    except (ValueError, OverflowError, RecursionError) as error:
        raise ParamsError(f"{path}: a value cannot be read: {error}") from None


def nearest(name: str, valid: list[str]) -> str:
    """' (did you mean X?)' for the valid name closest to `name`, or nothing."""
    close = difflib.get_close_matches(name, valid, n=1, cutoff=0.6)
    return f" (did you mean {close[0]}?)" if close else ""


def _refuse_tricks(path: Path, events: Iterator[Any]) -> None:
    depth = 0
    for event in events:
        kind, line = type(event).__name__, event.start_mark.line + 1
        if kind == "AliasEvent":
            raise ParamsError(
                f"{path}:{line}: aliases (*{event.anchor}) are not allowed; write the value out"
            )
        if getattr(event, "tag", None):
            raise ParamsError(
                f"{path}:{line}: tags ({event.tag}) are not allowed; write a plain value"
            )
        depth += kind.endswith("StartEvent") - kind.endswith("EndEvent")
        if depth > MAX_DEPTH:
            raise ParamsError(f"{path}:{line}: nested more than {MAX_DEPTH} deep")


def _where(error: Any) -> str:
    mark = getattr(error, "problem_mark", None)
    line = f"line {mark.line + 1}: " if mark else ""
    return line + " ".join(str(getattr(error, "problem", None) or error).split())


def _explain(problem: ErrorDetails, shape: type[BaseModel], values: dict[str, Any]) -> str:
    """One line for one pydantic error: dotted key, what is wrong, the nearest valid name, what was found."""
    keys = _keys(problem["loc"], values)
    key, kind, found = ".".join(map(str, keys)), problem["type"], problem["input"]
    if kind == "extra_forbidden":
        valid = sorted(_fields(shape, keys[:-1], values))
        return f"{key}: unknown key{nearest(str(keys[-1]), valid) or '; known here: ' + ', '.join(valid)}"
    if kind == "missing":
        return f"{key}: missing"
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        valid = [
            tag.strip("' ") for tag in problem.get("ctx", {}).get("expected_tags", "").split(",")
        ]
        found = found.get("kind") if isinstance(found, dict) else found
        hint = nearest(str(found), valid) if found else ""
        return f"{key}.kind: expected one of {', '.join(valid) or 'the known kinds'}; found {_short(found)}{hint}"
    hint = (
        nearest(found, _options(problem))
        if kind == "literal_error" and isinstance(found, str)
        else ""
    )
    message = problem["msg"].removeprefix("Value error, ")
    if not keys:
        return message
    return f"{key}: {message[:1].lower()}{message[1:]}; found {_short(found)}{hint}"


def _keys(location: tuple[int | str, ...], values: Any) -> list[int | str]:
    """The location without the union tags that pydantic mixes in: only what stands in the file, and the last part."""
    keys: list[int | str] = []
    for index, part in enumerate(location):
        inside = isinstance(values, dict) and part in values
        inside = inside or (
            isinstance(values, list) and isinstance(part, int) and part < len(values)
        )
        if inside:
            values = values[part]
            keys.append(part)
        elif index == len(location) - 1 and isinstance(values, dict) and part != "[key]":
            keys.append(part)
    return keys


def _fields(shape: Any, keys: list[int | str], values: Any) -> set[str]:
    """The field names that are valid at `keys`, following the shape and, at a union, the `kind` in the file."""
    if not keys:
        return {name for model in _models(shape, values) for name in model.model_fields}
    inner: set[str] = set()
    for model in _models(shape, values):
        if keys[0] in model.model_fields:
            annotation = model.model_fields[str(keys[0])].annotation
            inner |= _fields(annotation, keys[1:], values[keys[0]])
    if not inner and get_args(shape):
        inner = _fields(get_args(shape)[-1], keys[1:], values[keys[0]])
    return inner


def _models(annotation: Any, values: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    if get_origin(annotation) is Annotated:
        return _models(get_args(annotation)[0], values)
    if get_origin(annotation) in (Union, UnionType):
        found = [model for part in get_args(annotation) for model in _models(part, values)]
        kind = values.get("kind") if isinstance(values, dict) else None
        named = [
            m
            for m in found
            if "kind" in m.model_fields and kind in get_args(m.model_fields["kind"].annotation)
        ]
        return named or found
    return []


def _options(problem: ErrorDetails) -> list[str]:
    expected = problem.get("ctx", {}).get("expected", "")
    return [option.strip("' ") for option in expected.replace(" or ", ", ").split(",")]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
