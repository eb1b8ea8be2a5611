"""The text of an embedded ticket: filled in from grammar.yaml, then typed or spoken."""

import functools
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plumbline.contract.yaml_file import load_yaml

SENTENCE_START = re.compile(r"(?:^|[.?!] )[a-z]")
SLOT = re.compile(r"\{(\w+)\}")
ALTERNATIVES = re.compile(r"\(([^()]*\|[^()]*)\)")
WORD = re.compile(r"[^\W\d_]+")
# The share of words with a typing error, among those with four letters or more.
TYPO_SHARE = {"email": 0.01, "chat": 0.05, "form": 0.02, "phone": 0.0}
FILLER_SHARE = 0.06
LATER_SHARE = 0.6  # of tickets after the drift: those that use phrases unknown before


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


class TicketWriter:
    """Writes the text of one ticket."""

    def __init__(
        self,
        rng: random.Random,
        grammar: Grammar,
        intents: Sequence[str],
        names: list[str],
        drifted: bool,
    ) -> None:
        self._rng = rng
        self._grammar = grammar
        self._intents = intents
        self._intent = intents[0]  # that the present sentence is about
        self._drifted = drifted
        self._thing = _draw_early(rng, names)

    def write_text(self, channel: str) -> str:
        """Return opening, a frame for each intent and closing, as is usual on the channel."""
        values = self._grammar.values
        opening = self._fill(_draw_early(self._rng, values["openings"][channel].splitlines()))
        closing = self._fill(_draw_early(self._rng, values["closings"][channel].splitlines()))
        frames = [self._draw_frame(intent) for intent in self._intents]
        text = " ".join(part for part in (opening, *frames, closing) if part)
        if channel == "phone":
            return _render_spoken(self._rng, text, values["fillers"].splitlines())
        return _render_typed(self._rng, text, channel)

    def _draw_frame(self, intent: str) -> str:
        self._intent = intent
        frames = self._grammar.values["frames"]
        weights = [frame["weight"] for frame in frames.values()]
        kind = self._rng.choices(list(frames), weights)[0]
        lines = self._grammar.frames[kind]
        if self._drifted and self._rng.random() < LATER_SHARE:
            lines = self._grammar.values["drifted_frames"].splitlines()
        return self._fill(self._rng.choice(lines))

    def _fill(self, template: str) -> str:
        """Return `template` with all slots and alternatives decided, nested ones too."""
        text = SLOT.sub(lambda match: self._fill(self._draw_slot(match[1])), template)
        while True:
            decided = ALTERNATIVES.sub(lambda match: self._rng.choice(match[1].split("|")), text)
            if decided == text:
                return text
            text = decided

    def _draw_slot(self, name: str) -> str:
        rng = self._rng
        grammar = self._grammar
        match name:
            case "says" | "Says":
                later = self._drifted and rng.random() < LATER_SHARE
                return _draw_early(rng, (grammar.later if later else grammar.says)[self._intent])
            case "topic":
                return _draw_early(rng, grammar.topics[self._intent])
            case "other":
                others = [intent for intent in grammar.intents if intent not in self._intents]
                return _draw_early(rng, grammar.topics[rng.choice(others)])
            case "thing":
                return self._thing
            case "item":
                return _draw_early(rng, grammar.values["articles"].splitlines())
            case "number":
                return str(rng.randrange(10_000, 99_999))
            case "price":
                return str(rng.randrange(12, 240))
        return _draw_early(rng, grammar.slots[name])


def replace_words(rng: random.Random, text: str, words: Mapping[str, str]) -> str:
    """Return `text` with about half of the words that a variant of English has others for."""
    if not words:
        return text

    def replace(match: re.Match[str]) -> str:
        word = match[0]
        other = words.get(word.lower())
        if other is None or rng.random() < 0.5:
            return word
        if word[0].isupper():
            return other[:1].upper() + other[1:]
        return other

    return WORD.sub(replace, text)


def _draw_early(rng: random.Random, options: list[str]) -> str:
    """Draw one of `options`, the first ones more often."""
    point = rng.random()
    return options[int(len(options) * point * point)]


def _render_spoken(rng: random.Random, text: str, fillers: list[str]) -> str:
    """As it is spoken on the phone: lower case, no punctuation, some fillers."""
    typed = [_make_typo(rng, word, TYPO_SHARE["phone"]) for word in text.split()]
    spoken = []
    for word in typed:
        if rng.random() < FILLER_SHARE:
            spoken.append(rng.choice(fillers))
        spoken.append(word.lower().strip(".,?!:;"))
    return " ".join(word for word in spoken if word)


def _render_typed(rng: random.Random, text: str, channel: str) -> str:
    """As it is typed in a chat, or written."""
    words = [_make_typo(rng, word, TYPO_SHARE[channel]) for word in text.split()]
    text = SENTENCE_START.sub(lambda match: match[0].upper(), " ".join(words))
    if channel == "chat":
        if rng.random() < 0.7:
            text = text.lower()
        return text.rstrip(".")
    return text


def _make_typo(rng: random.Random, word: str, share: float) -> str:
    """With probability `share`, make one slip: swap two letters, drop one or double one."""
    if len(word) < 4 or not word.isalpha() or rng.random() >= share:
        return word
    index = rng.randrange(1, len(word) - 1)
    letter = word[index]
    following = word[index + 1]
    slips = [following + letter, following, letter + letter + following]
    return word[:index] + rng.choice(slips) + word[index + 2 :]
