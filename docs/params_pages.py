"""The pages on params.yaml: keys, types and limits of the models, sentences of params_keys.yaml."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from plumbline.contract.loading import load_params_class
from plumbline.contract.params import Params, SeededConfig
from plumbline.contract.search import TunableConfig
from plumbline.contract.yaml_file import load_yaml

SENTENCES = Path(__file__).with_name("params_keys.yaml")
COMMON, SHARED = "every task", "several tasks"
TASKS = (
    "text_classification",
    "signal_extraction",
    "answer_consensus",
    "sequence_bayes",
    "filter_design",
    "retrieval",
)
NARROWED = ("data", "validation", "candidates")  # by each task
TOP = "version, task and seed"
TYPES = {"integer": "whole number", "string": "text", "boolean": "true or false"}
SIGNS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
RANGE = {"low", "high"}  # a mapping of these two is one value
Schema = dict[str, Any]
(NAME,) = Params.model_json_schema()["properties"]["candidates"]["patternProperties"]

HEAD = """# params.yaml: every key, its type and its limits

What may be written into `params.yaml`. Files that work are the recipes: `plumbline recipe` lists
them. Other pages have the keys of

"""
RULES = """
How to read them:

* **A default is the exception.** The brackets say which keys may be left out; without another
  one the file is refused, with exit code 2 and the name of the key. An unknown key, an alias of
  YAML and text in place of a number are refused too.
* **A dotted key** is the path in the file: `evaluation.budget.rss_mb` is `rss_mb` in `budget` in
  `evaluation`. Messages name keys like this, and so does
  `dvc exp run -S candidates.minilm.learning_rate=1e-4`.
* **`NAME` and `KEY`** are names of your choice. A NAME has small letters, digits, `_` and `-`, at
  most 40, and begins with a letter.
* **A change runs again what depends on it.** After a change of `evaluation` nothing is trained
  again, after one of a candidate that candidate alone.
* **Some keys are checked together**, such as `hidden` and `heads`: the message names both.

In a repository by `plumbline init`, editors check and complete the file by `params.schema.json`.
`make docs` writes these pages.
"""
END = "\nWhere next: [keys of every task](params.md), [what each gate asks](gates.md).\n"
GENERAL_END = "\nWhere next: [your own file](../how-to/own-file.md), [commands](commands.md).\n"


@dataclass(frozen=True)
class Key:
    """A key of params.yaml and what is said of it."""

    name: str
    form: str  # type and limits
    text: str
    kinds: tuple[str, ...] = ()  # of data or of candidates, which have it

    @property
    def section(self) -> str:
        """The mapping at the top of the file in which it is."""
        is_loose = "." not in self.name and "mapping" not in self.form
        return TOP if is_loose else self.name.partition(".")[0]


class Sentences:
    """What params_keys.yaml says of keys; else the docstring of a mapping's model."""

    def __init__(self) -> None:
        self._groups: dict[str, dict[str, str]] = load_yaml(SENTENCES)
        self._unused = {(group, name) for group, names in self._groups.items() for name in names}

    def describe(self, key: Key, task: str) -> Key:
        """Return the key with its sentence; KeyError where it has none."""
        for group in (task, SHARED):
            if key.name in self._groups[group]:
                self._unused.discard((group, key.name))
                return replace(key, text=self._groups[group][key.name])
        if not key.text and key.name not in NARROWED:
            raise KeyError(f"{SENTENCES.name}: {task}: {key.name}: say what it does")
        return key

    def require_all_used(self) -> None:
        """Raise KeyError for a sentence of what is no key."""
        if self._unused:
            raise KeyError(f"{SENTENCES.name}: no such keys: {sorted(self._unused)}")


def write_pages() -> dict[str, str]:
    """Return the pages by name; KeyError names a key without a sentence, or a sentence too many."""
    sentences = Sentences()
    common = [sentences.describe(key, COMMON) for key in list_common_keys()]
    known = {key.name for key in common}.difference(NARROWED)
    parts = {"evaluation": [key for key in common if key.section == "evaluation"]}
    for task in TASKS:
        keys = list_keys(load_params_class(task).model_json_schema())
        own = [sentences.describe(key, task) for key in keys if key.name not in known]
        parts["evaluation"] += [key for key in own if key.section not in NARROWED]
        parts[task] = [key for key in own if key.section in NARROWED]
    sentences.require_all_used()
    general = write_sections([key for key in common if key.section != "evaluation"])
    links = "".join(f"* [`{part}`](params-{part}.md)\n" for part in parts)
    pages = {"params": f"{HEAD}{links}{RULES}{general}{GENERAL_END}"}
    for part, keys in parts.items():
        task = f"\n[What the task is](../tasks/{part}.md).\n" if part in TASKS else ""
        text = f"# params.yaml: the keys of {part}\n{task}{write_sections(keys)}{END}"
        pages[f"params-{part}"] = text
    return pages


def list_common_keys() -> list[Key]:
    """Return the keys of every task, and those of candidates of several tasks."""
    keys = [key for key in list_keys(Params.model_json_schema()) if key.name != "data"]
    for config in (SeededConfig, TunableConfig):
        keys += list_keys(config.model_json_schema(), "candidates.NAME")
    return keys


def list_keys(model: Schema, prefix: str = "") -> list[Key]:
    """Return the keys of a model's schema, each once, with all kinds that have it."""
    keys: dict[tuple[str, str], Key] = {}
    for key in walk(model, model.get("$defs", {}), prefix):
        found = keys.setdefault((key.name, key.form), replace(key, kinds=()))
        keys[key.name, key.form] = replace(found, kinds=(*found.kinds, *key.kinds))
    return list(keys.values())


def walk(
    schema: Schema, models: dict[str, Schema], name: str, kinds: tuple[str, ...] = ()
) -> Iterator[Key]:
    """Yield the keys below `name`."""
    schema = resolve(schema, models)
    for option in list_options(schema, models):
        if option is not schema:
            yield from walk(option, models, name, kinds or read_kinds(option))
    for child in schema.get("patternProperties", {}).values():
        yield from walk(child, models, f"{name}.NAME", kinds)
    if isinstance(schema.get("additionalProperties"), dict):
        yield from walk(schema["additionalProperties"], models, f"{name}.KEY", kinds)
    if schema.get("properties", {}).keys() == RANGE:
        return
    for key, child in schema.get("properties", {}).items():
        form = describe_form(child, models)
        if key not in schema.get("required", ()):
            form += describe_default(child["default"])
        text = " ".join(schema["description"].split()) if key == "kind" else ""
        text = text or describe_model(child, models)
        path = f"{name}.{key}".lstrip(".")
        yield Key(path, form, text, kinds)
        if not (kinds and "discriminator" in child):  # has the keys of those kinds
            yield from walk(child, models, path, kinds)


def resolve(schema: Schema, models: dict[str, Schema]) -> Schema:
    """Return the schema that a reference names."""
    return models[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def list_options(schema: Schema, models: dict[str, Schema]) -> list[Schema]:
    """Return the schemas of which a value has one; alone the schema itself."""
    schema = resolve(schema, models)
    options = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    return [resolve(option, models) for option in options] or [schema]


def read_kinds(schema: Schema) -> tuple[str, ...]:
    """Return the kinds of a model of data or candidates; () where it has none."""
    return tuple(list_choices(schema.get("properties", {}).get("kind", {})))


def list_choices(schema: Schema) -> list[Any]:
    """Return the values that a schema names."""
    return schema.get("enum", [schema["const"]] if "const" in schema else [])


def describe_model(schema: Schema, models: dict[str, Schema]) -> str:
    """Return the first paragraph of the docstring of a mapping's model, or ''."""
    texts = [option.get("description", "") for option in list_options(schema, models)]
    return (
        "" if "discriminator" in schema else " ".join("".join(texts).partition("\n\n")[0].split())
    )


def describe_default(value: Any) -> str:
    """Return what holds where a key is left out; its sentence says what no value means."""
    if value in (None, {}):
        return "; may be left out"
    return f"; left out: `{value if isinstance(value, str) else json.dumps(value)}`"


def describe_form(schema: Schema, models: dict[str, Schema]) -> str:
    """Return the type and the limits of a value, such as `number > 0, or null`."""
    if "discriminator" in schema:
        return "mapping; kind " + " or ".join(f"`{k}`" for k in schema["discriminator"]["mapping"])
    options = list_options(schema, models)
    forms = [describe_option(option, models) for option in options]
    if "number" in forms and "whole number" in forms:
        forms.remove("whole number")
    return (" or " if all(map(str.isalpha, forms)) else ", or ").join(forms)


def describe_option(schema: Schema, models: dict[str, Schema]) -> str:
    """Return the type and the limits of one schema that is no choice of several."""
    kind = schema["type"]
    if choices := list_choices(schema):
        return ", ".join(f"`{choice}`" for choice in choices)
    if schema.get("pattern") == NAME:
        return "NAME"
    if kind == "array":
        start, end = describe_size(schema, "Items")
        return f"{start}list of {describe_form(schema['items'], models)}{end}"
    if kind == "object":
        start, end = describe_size(schema, "Properties")
        return f"{start}{describe_mapping(schema, models)}{end}"
    pattern = f" `{schema['pattern']}`" if "pattern" in schema else ""
    start, end = describe_size(schema, "Length")
    return f"{start}{TYPES.get(kind, kind)}{pattern}{end}{describe_limits(schema)}"


def describe_mapping(schema: Schema, models: dict[str, Schema]) -> str:
    """Return what a mapping maps from and to."""
    if schema.get("properties", {}).keys() == RANGE:
        return "{low, high}, each a " + describe_form(schema["properties"]["low"], models)
    values = schema.get("additionalProperties")
    if not isinstance(values, dict) or "$ref" in values:
        return "mapping"
    names = describe_form({"type": "string"} | schema.get("propertyNames", {}), models)
    return f"mapping from {names} to {describe_form(values, models)}"


def describe_limits(schema: Schema) -> str:
    """Return the limits of a number."""
    if "minimum" in schema and "maximum" in schema:
        return f" {schema['minimum']:,.15g} to {schema['maximum']:,.15g}"
    limits = [f"{sign} {schema[key]:,.15g}" for key, sign in SIGNS.items() if key in schema]
    return f" {' and '.join(limits)}" if limits else ""


def describe_size(schema: Schema, what: str) -> tuple[str, str]:
    """Return how many entries or characters a value has, for before its type and behind it."""
    low, high = schema.get(f"min{what}", 0), schema.get(f"max{what}")
    unit = "characters" if what == "Length" else "entries"
    if high is not None:
        return "", f", {low} to {high:,} {unit}"
    return ("non-empty " if low == 1 else ""), (f", at least {low} {unit}" if low > 1 else "")


def write_sections(keys: list[Key]) -> str:
    """Return a section for each key at the top of the file."""
    names = dict.fromkeys(key.section for key in keys)
    return "".join(write_section(name, [k for k in keys if k.section == name]) for name in names)


def write_section(name: str, keys: list[Key]) -> str:
    """Return what the section is for, its kinds, and its keys below the kinds that have them."""
    rows: dict[str, list[str]] = {"": []}
    every = {kind for key in keys for kind in key.kinds}
    for key in keys:
        is_kind = key.name in ("data.kind", "candidates.NAME.kind")
        kinds = "every kind" if set(key.kinds) == every else f"kind {', '.join(key.kinds)}"
        title = f"\n### {name} of {kinds}\n\n" if key.kinds and not is_kind else ""
        if key.name != name:
            rows.setdefault(title, []).append(f"* `{key.name}` ({key.form}): {key.text}\n")
    if not any(rows.values()):
        return ""
    intro = "".join(f"{key.text}\n\n" for key in keys if key.name == name and key.text)
    lists = "".join(title + "".join(lines) for title, lines in rows.items())
    return f"\n## {name}\n\n{intro}{lists}"
