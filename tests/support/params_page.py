"""The tables of docs/params.md: keys, types and limits are from the models, the rest is by hand.

    python -m tests.support.params_page

writes the tables again. What the last column says of a key is kept; of a new key it has to be
written. The page decides in which order its tables are, the models what is in each.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.support.checkouts import ROOT

from plumbline.contract.loading import load_params_class
from plumbline.contract.params import Params, SeededConfig
from plumbline.contract.search import TunableConfig

PAGE = ROOT / "docs/params.md"
TASKS = sorted(path.parent.name for path in ROOT.glob("src/**/tasks/*/params.py"))
TITLE = "version, task and seed"  # of the table of the keys that are in no group
HEADER = "| key | type | allowed | what it is for |\n|---|---|---|---|\n"
TABLE = re.compile(r"(?m)^### (?P<title>.+)\n(?:(?![#|]).*\n)*(?P<table>(?:\|.*\n)+)")
TYPES = {
    "integer": "whole number",
    "number": "number",
    "string": "text",
    "boolean": "true or false",
    "null": "null",
}
Schema = dict[str, Any]


class Key(NamedTuple):
    """One row: a dotted key, the kinds of a candidate (or of data) that have it, and its limits."""

    name: str
    type: str
    allowed: str
    kinds: tuple[str, ...] = ()

    @property
    def cell(self) -> str:
        """Its first cell, by which its description is found."""
        return f"`{self.name}`" + (f" ({', '.join(self.kinds)})" if self.kinds else "")


class Model:
    """The keys of one pydantic model, by its JSON schema."""

    def __init__(self, model: Any) -> None:
        self._schema = model.model_json_schema()
        self._definitions = self._schema.get("$defs", {})

    def list_keys(self, prefix: str = "") -> list[Key]:
        """List all keys, those of nested models by their dotted names."""
        return list(self._walk(prefix, self._schema, is_of_a_kind=False))

    def _walk(self, name: str, schema: Schema, *, is_of_a_kind: bool) -> Iterator[Key]:
        schema = self._resolve(schema)
        if "discriminator" in schema and not is_of_a_kind:
            yield from self._merge_kinds(name, schema["oneOf"])
        elif "properties" in schema and not self._is_range(schema):
            for key, value in schema["properties"].items():
                inner = f"{name}.{key}" if name else key
                absent = "" if key in schema.get("required", ()) else _describe_default(value)
                for row in self._walk(inner, value, is_of_a_kind=is_of_a_kind):
                    is_this = row.name == inner
                    yield row._replace(allowed=_join(row.allowed, absent)) if is_this else row
        else:
            yield Key(name, *self._describe(schema))
            for inner, value in self._list_inner(name, schema):
                yield from self._walk(inner, value, is_of_a_kind=is_of_a_kind)

    def _list_inner(self, name: str, schema: Schema) -> Iterator[tuple[str, Schema]]:
        """Yield the models in a mapping or beside other types, such as `null`."""
        for other in schema.get("anyOf", ()):
            if "properties" in self._resolve(other):
                yield name, other
        for value in schema.get("patternProperties", {}).values():
            if self._is_model(value):
                yield f"{name}.NAME", value
        value = schema.get("additionalProperties")
        if isinstance(value, dict) and self._is_model(value):
            yield f"{name}.KEY", value

    def _merge_kinds(self, name: str, variants: list[Schema]) -> Iterator[Key]:
        """Yield each key once, with the kinds that have it unless all have; `kind` comes first."""
        kinds: dict[Key, list[str]] = {}
        all_kinds = []
        for variant in variants:
            kind = self._resolve(variant)["properties"]["kind"]
            own = [kind["const"]] if "const" in kind else kind["enum"]
            all_kinds += own
            for key in self._walk(name, variant, is_of_a_kind=True):
                kinds.setdefault(key, []).extend(own)
        for key in sorted(kinds, key=lambda key: key.name != f"{name}.kind"):
            own = kinds[key]
            yield key if own == all_kinds else key._replace(kinds=tuple(own))

    def _describe(self, schema: Schema) -> tuple[str, str]:
        """Return the type of a value, and which values are allowed."""
        schema = self._resolve(schema)
        options = schema.get("anyOf") or schema.get("oneOf")
        if "discriminator" in schema:
            kinds = " or ".join(f"`{kind}`" for kind in schema["discriminator"]["mapping"])
            return "mapping", f"the keys of kind {kinds}"
        if options:
            return self._describe_options(options)
        if "enum" in schema or "const" in schema:
            values = schema.get("enum", [schema.get("const")])
            return TYPES[schema["type"]], ", ".join(f"`{value}`" for value in values)
        if schema["type"] == "array":
            kind, allowed = self._describe(schema["items"])
            return f"list of {kind}", _join(allowed, _describe_size(schema, "Items", "entries"))
        if schema["type"] == "object":
            return self._describe_mapping(schema)
        pattern = f"`{schema['pattern']}`" if "pattern" in schema else ""
        length = _describe_size(schema, "Length", "characters")
        return TYPES[schema["type"]], _join(pattern, length, _describe_limits(schema))

    def _describe_options(self, options: list[Schema]) -> tuple[str, str]:
        described = [self._describe(option) for option in options]
        kinds = list(dict.fromkeys(kind for kind, _ in described))
        if "number" in kinds and "whole number" in kinds:
            kinds.remove("whole number")
        return " or ".join(kinds), _join(*dict.fromkeys(allowed for _, allowed in described))

    def _describe_mapping(self, schema: Schema) -> tuple[str, str]:
        if self._is_range(schema):
            _, allowed = self._describe(schema["properties"]["low"])
            return "{low, high}", _join(allowed, "low ≤ high")
        if "properties" in schema:
            return "mapping", "the keys below"
        names = ", ".join(f"`{name}`" for name in schema.get("propertyNames", {}).get("enum", ()))
        patterns = schema.get("patternProperties", {"": schema.get("additionalProperties")})
        ((pattern, value),) = patterns.items()
        size = _describe_size(schema, "Properties", "entries")
        if self._is_model(value):
            return "mapping", _join(pattern and f"NAME: `{pattern}`", size)
        kind, allowed = self._describe(value)
        return f"mapping to {kind}", _join(names and f"keys {names}", allowed, size)

    def _is_model(self, schema: Schema) -> bool:
        schema = self._resolve(schema)
        return "properties" in schema or "discriminator" in schema

    def _is_range(self, schema: Schema) -> bool:
        return set(schema.get("properties", ())) == {"low", "high"}

    def _resolve(self, schema: Schema) -> Schema:
        if "$ref" not in schema:
            return schema
        resolved: Schema = self._definitions[schema["$ref"].rpartition("/")[2]]
        return resolved


def _describe_limits(schema: Schema) -> str:
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None and most is not None:
        return f"{_show(least)} to {_show(most)}"
    signs = {"exclusiveMinimum": ">", "minimum": "≥", "exclusiveMaximum": "<", "maximum": "≤"}
    given = [name for name in signs if name in schema]
    return ", ".join(f"{signs[name]} {_show(schema[name])}" for name in given)


def _describe_size(schema: Schema, what: str, unit: str) -> str:
    least, most = schema.get(f"min{what}"), schema.get(f"max{what}")
    if least is not None and most is not None:
        return f"{least:,} to {most:,} {unit}"
    if least is None and most is None:
        return ""
    return f"{unit}: " + (f"at most {most:,}" if least is None else f"at least {least:,}")


def _describe_default(schema: Schema) -> str:
    default = schema.get("default")
    if default is None or default == {}:
        return "may be left out"
    return f"left out: `{str(default).lower() if isinstance(default, bool) else default}`"


def _show(number: float) -> str:
    return f"{int(number):,}" if number == int(number) else f"{number:g}"


def _join(*parts: str) -> str:
    return "; ".join(dict.fromkeys(part for part in parts if part))


def list_tables() -> dict[str, list[Key]]:
    """Map the title of each table to its keys: those of every task, then those of one."""
    shared = Model(Params).list_keys()
    for config in (SeededConfig, TunableConfig):
        shared += Model(config).list_keys("candidates.NAME")
    tables: dict[str, list[Key]] = {}
    for key in shared:
        group = key.name.partition(".")[0]
        tables.setdefault(TITLE if group in ("version", "task", "seed") else group, []).append(key)
    for task in TASKS:
        for key in Model(load_params_class(task)).list_keys():
            is_shared = key._replace(kinds=()) in shared or key.name in ("task", "candidates")
            if not is_shared:
                group = key.name.partition(".")[0]
                tables.setdefault(f"{group} of {task}", []).append(key)
    return tables


def read_descriptions(page: str) -> dict[str, dict[str, str]]:
    """Map the title of each table on the page to its first cells and their descriptions."""
    descriptions: dict[str, dict[str, str]] = {}
    for match in TABLE.finditer(page):
        rows = [row.strip("| ").split(" | ") for row in match["table"].splitlines()[2:]]
        descriptions[match["title"]] = {row[0]: row[3] if len(row) > 3 else "" for row in rows}
    return descriptions


def write_tables(page: str) -> str:
    """Return the page with the tables of today's models, and the descriptions that it has."""
    tables = list_tables()
    descriptions = read_descriptions(page)

    def write_table(match: re.Match[str]) -> str:
        title = match["title"]
        rows = ""
        for key in tables.get(title, []):
            text = descriptions[title].get(key.cell, "")
            rows += f"| {key.cell} | {key.type} | {key.allowed or 'any'} | {text} |\n"
        before = match.string[match.start() : match.start("table")]
        return f"{before}{HEADER}{rows}"

    return TABLE.sub(write_table, page)


if __name__ == "__main__":
    PAGE.write_text(write_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
