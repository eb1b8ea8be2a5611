"""The grammar of the embedded tickets, read from grammar.yaml."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plumbline.contract.yaml_file import load_yaml


@dataclass(frozen=True)
class Grammar:
    """grammar.yaml with its lists split into alternatives."""

    values: Mapping[str, Any]
    slots: Mapping[str, list[str]]
    frames: Mapping[str, list[str]]
    intents: list[str]
    weights: list[int]
    says: Mapping[str, list[str]]
    later: Mapping[str, list[str]]
    topics: Mapping[str, list[str]]
    products: tuple[Mapping[str, list[str]], Mapping[str, list[str]]]  # before and after the drift


@functools.cache
def load_grammar() -> Grammar:
    """Read the grammar once."""
    values = load_yaml(Path(__file__).with_name("grammar.yaml"))
    intents = values["intents"]
    return Grammar(
        values=values,
        slots={name: lines.splitlines() for name, lines in values["slots"].items()},
        frames=_split_lines(values["frames"], "lines"),
        intents=list(intents),
        weights=[intent["weight"] for intent in intents.values()],
        says=_split_lines(intents, "says"),
        later=_split_lines(intents, "later"),
        topics=_split_lines(intents, "topics"),
        products=(_split_names(values["products"]), _split_names(values["drifted_products"])),
    )


def _split_lines(entries: Mapping[str, Mapping[str, Any]], key: str) -> dict[str, list[str]]:
    return {name: entry[key].splitlines() for name, entry in entries.items()}


def _split_names(products: Mapping[str, str]) -> dict[str, list[str]]:
    return {product: names.split("|") for product, names in products.items()}
