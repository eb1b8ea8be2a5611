"""The embedded data set: support tickets from a grammar, so that a first run needs no download and the truth is known.

Every ticket is drawn from its own random state, so that more rows, or some drift, leave the others as they were. Its
text names one intent without ambiguity; a known share of labels is then replaced by another intent at random. The best
that any model can score is therefore the share of labels that were left alone.
"""

import datetime
import functools
import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plumbline.contract.params import load_yaml
from plumbline.tasks.text_classification.data.rows import Part, Reading, Row, positions
from plumbline.tasks.text_classification.params import TextParams

SENTENCE = re.compile(r"(?:^|[.?!] )[a-z]")
COLUMNS = ["text", "label", "channel", "product", "variant", "day"]
SLOT, EITHER, WORD = (
    re.compile(r"\{(\w+)\}"),
    re.compile(r"\(([^()]*\|[^()]*)\)"),
    re.compile(r"[^\W\d_]+"),
)
TYPO_SHARE = {
    "email": 0.01,
    "chat": 0.05,
    "form": 0.02,
    "phone": 0.0,
}  # of words with four letters or more
FILLER_SHARE = 0.06
ENDS = ("openings", "closings")
LATER_SHARE = 0.6  # of drifted tickets that use phrases unknown before


@dataclass(frozen=True)
class Ticket:
    """One ticket before label noise."""

    text: str
    intent: str
    channel: str
    product: str
    variant: str
    day: str


def part(params: TextParams) -> Part:
    """The tickets as a part of the source, numbered from 1."""
    wanted = params.data.generated
    facts = {"name": "generated", "seed": params.seed} | wanted.model_dump()
    return Part("generated", None, functools.partial(_rows, params), facts)


def ticket(rng: random.Random, drift: float) -> Ticket:
    """Draw one ticket; `drift` is the probability that it comes from the later world."""
    grammar, drifted = _grammar(), rng.random() < drift
    intent = _weighted(rng, grammar.weights[::-1] if drifted else grammar.weights, grammar.intents)
    channel, variant = (_drawn(rng, grammar.values[key]) for key in ("channels", "variants"))
    product = rng.choice(list(grammar.products[drifted]))
    days = grammar.values["days"]
    day = days["first"] + datetime.timedelta(
        rng.randrange(days["span"]) + drifted * days["drifted_by"]
    )
    text = _Writer(rng, grammar, intent, grammar.products[drifted][product], drifted).write(channel)
    return Ticket(
        _in_variant(rng, text, grammar, variant), intent, channel, product, variant, day.isoformat()
    )


@dataclass(frozen=True)
class _Grammar:
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
def _grammar() -> _Grammar:
    values = load_yaml(Path(__file__).with_name("grammar.yaml"))
    intents = values["intents"]
    return _Grammar(
        values=values,
        slots={name: lines.splitlines() for name, lines in values["slots"].items()},
        frames={name: frame["lines"].splitlines() for name, frame in values["frames"].items()},
        intents=list(intents),
        weights=[intent["weight"] for intent in intents.values()],
        says={name: intent["says"].splitlines() for name, intent in intents.items()},
        later={name: intent["later"].splitlines() for name, intent in intents.items()},
        topics={name: intent["topics"].splitlines() for name, intent in intents.items()},
        products=(_names(values["products"]), _names(values["drifted_products"])),
    )


def _names(products: Mapping[str, str]) -> dict[str, list[str]]:
    return {product: names.split("|") for product, names in products.items()}


def _rows(params: TextParams, reading: Reading) -> Iterator[Row]:
    pick, wanted = positions("generated", COLUMNS, reading), params.data.generated
    for number in range(1, wanted.num_rows + 1):
        rng = random.Random(f"{params.seed} {number}")  # noqa: S311 - data, not secrets
        drawn = ticket(rng, wanted.drift)
        noisy = rng.random() < wanted.label_noise
        label = (
            rng.choice([other for other in _grammar().intents if other != drawn.intent])
            if noisy
            else drawn.intent
        )
        values = [drawn.text, label, drawn.channel, drawn.product, drawn.variant, drawn.day]
        yield Row(number, [values[index] for index in pick], noisy=noisy)


class _Writer:
    """Writes the text of one ticket."""

    def __init__(
        self, rng: random.Random, grammar: _Grammar, intent: str, names: list[str], drifted: bool
    ) -> None:
        self._rng, self._grammar, self._intent, self._drifted = rng, grammar, intent, drifted
        self._thing = _early(rng, names)

    def write(self, channel: str) -> str:
        """Opening, frame and closing, in the manner of the channel."""
        values = self._grammar.values
        opening, closing = (
            self._fill(_early(self._rng, values[key][channel].splitlines())) for key in ENDS
        )
        text = " ".join(part for part in (opening, self._frame(), closing) if part)
        return _in_channel(self._rng, text, channel, values["fillers"].splitlines())

    def _frame(self) -> str:
        frames = self._grammar.values["frames"]
        kind = _weighted(self._rng, [frame["weight"] for frame in frames.values()], list(frames))
        lines = self._grammar.frames[kind]
        if self._drifted and self._rng.random() < LATER_SHARE:
            lines = self._grammar.values["drifted_frames"].splitlines()
        return self._fill(self._rng.choice(lines))

    def _fill(self, template: str) -> str:
        """`template` with all slots and alternatives decided."""
        text = SLOT.sub(lambda found: self._fill(self._slot(found[1])), template)
        while (
            decided := EITHER.sub(lambda found: self._rng.choice(found[1].split("|")), text)
        ) != text:
            text = decided
        return text

    def _slot(self, name: str) -> str:
        rng, grammar = self._rng, self._grammar
        match name:
            case "says" | "Says":
                later = self._drifted and rng.random() < LATER_SHARE
                return _early(rng, (grammar.later if later else grammar.says)[self._intent])
            case "topic":
                return _early(rng, grammar.topics[self._intent])
            case "other":
                return _early(
                    rng,
                    grammar.topics[rng.choice([i for i in grammar.intents if i != self._intent])],
                )
            case "thing":
                return self._thing
            case "item":
                return _early(rng, grammar.values["articles"].splitlines())
            case "number":
                return str(rng.randrange(10_000, 99_999))
            case "price":
                return str(rng.randrange(12, 240))
        return _early(rng, grammar.slots[name])


def _early(rng: random.Random, options: list[str]) -> str:
    """One of `options`, the first ones more often."""
    point = rng.random()
    return options[int(len(options) * point * point)]


def _drawn(rng: random.Random, weights: Mapping[str, int]) -> str:
    return _weighted(rng, list(weights.values()), list(weights))


def _weighted(rng: random.Random, weights: list[int], options: list[str]) -> str:
    return rng.choices(options, weights)[0]


def _in_channel(rng: random.Random, text: str, channel: str, fillers: list[str]) -> str:
    """As it is spoken on the phone, typed in a chat, or written."""
    words = [_mistyped(rng, word, TYPO_SHARE[channel]) for word in text.split()]
    if channel == "phone":
        spoken = [
            word
            for said in words
            for word in _with_filler(rng, said.lower().strip(".,?!:;"), fillers)
        ]
        return " ".join(word for word in spoken if word)
    text = SENTENCE.sub(lambda found: found[0].upper(), " ".join(words))
    if channel == "chat" and rng.random() < 0.7:
        text = text.lower()
    return text.rstrip(".") if channel == "chat" else text


def _with_filler(rng: random.Random, word: str, fillers: list[str]) -> list[str]:
    return [rng.choice(fillers), word] if rng.random() < FILLER_SHARE else [word]


def _mistyped(rng: random.Random, word: str, share: float) -> str:
    """`word`, or with probability `share` the same with one slip: letters swapped, left out or doubled."""
    if len(word) < 4 or not word.isalpha() or rng.random() >= share:
        return word
    at = rng.randrange(1, len(word) - 1)
    before, this, after, rest = word[:at], word[at], word[at + 1], word[at + 2 :]
    return before + rng.choice([after + this, after, this + this + after]) + rest


def _in_variant(rng: random.Random, text: str, grammar: _Grammar, variant: str) -> str:
    """`text` with about half of the words that the variant calls otherwise replaced."""
    words: Mapping[str, str] = grammar.values["words"][variant]

    def said(found: re.Match[str]) -> str:
        other = words.get(found[0].lower())
        if other is None or rng.random() < 0.5:
            return found[0]
        return other[:1].upper() + other[1:] if found[0][0].isupper() else other

    return WORD.sub(said, text) if words else text
