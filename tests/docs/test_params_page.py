"""The pages docs/reference/params*.md name every key of params.yaml, and no other."""

import re
from collections.abc import Iterator
from typing import Any

from tests.support.checkouts import ROOT

from plumbline.contract.loading import load_params_class
from plumbline.contract.params import SeededConfig
from plumbline.contract.search import TunableConfig

TASKS = sorted(path.parent.name for path in ROOT.glob("src/**/tasks/*/params.py"))
ROW = re.compile(r"(?m)^\* `([\w.]+)` \([^\n]*?\): (.*)$")
MEMBER = "candidates.NAME.member."
PAGES = sorted((ROOT / "docs/reference").glob("params*.md"))
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)


def list_keys(schema: Any, definitions: dict[str, Any], name: str = "") -> Iterator[str]:
    """Yield the dotted keys of a model's schema, with NAME for what a user names."""
    if "$ref" in schema:
        schema = definitions[schema["$ref"].rpartition("/")[2]]
    inner = [(name, other) for other in (*schema.get("oneOf", ()), *schema.get("anyOf", ()))]
    inner += [(f"{name}.NAME", value) for value in schema.get("patternProperties", {}).values()]
    if isinstance(schema.get("additionalProperties"), dict):
        inner.append((f"{name}.KEY", schema["additionalProperties"]))
    properties = schema.get("properties", {})
    if set(properties) != {"low", "high"}:  # a range is one value
        inner += [(f"{name}.{key}".strip("."), value) for key, value in properties.items()]
    for key, value in inner:
        if key != name and not key.endswith(("NAME", "KEY")):
            yield key
        yield from list_keys(value, definitions, key)


def list_model(model: Any, prefix: str = "") -> set[str]:
    schema = model.model_json_schema()
    return set(list_keys(schema, schema.get("$defs", {}), prefix))


def list_all_keys() -> set[str]:
    keys = set().union(*(list_model(load_params_class(task)) for task in TASKS))
    for config in (SeededConfig, TunableConfig):
        keys |= list_model(config, "candidates.NAME")
    return {key for key in keys if not key.startswith(MEMBER)}  # has the keys of its kind


def test_the_pages_have_every_key_with_a_description_and_no_other() -> None:
    described = {name for name, text in ROW.findall(TEXT) if text}
    keys = list_all_keys()
    groups = {key for key in keys if any(other.startswith(f"{key}.") for other in keys)}
    assert sorted(keys - groups - described) == []
    assert sorted(described - keys) == []
