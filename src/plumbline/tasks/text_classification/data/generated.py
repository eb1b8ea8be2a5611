"""The embedded data set: support tickets from a grammar. A first run needs no download.

Each ticket is drawn from a random state of its own, so that more rows, or some drift, leave the
others as they were. The text names one intent without ambiguity (or several, where tickets may have
more than one label); a known share of labels is then replaced by another intent at random. So the
best score of any model is the share of labels that were left alone.
"""

import datetime
import json
import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from plumbline.sources.source_part import SourcePart
from plumbline.tables.columns import find_columns
from plumbline.tables.records import ReadRequest, SourceRow
from plumbline.tasks.text_classification.data.ticket_text import (
    TicketWriter,
    load_grammar,
    replace_words,
)
from plumbline.tasks.text_classification.params import TextParams

COLUMNS = ["text", "label", "channel", "product", "variant", "day"]


@dataclass(frozen=True)
class Ticket:
    """One ticket before label noise."""

    text: str
    intent: str
    channel: str
    product: str
    variant: str
    day: str
    others: tuple[str, ...] = ()  # further intents

    @property
    def intents(self) -> list[str]:
        """All that the ticket is about."""
        return [self.intent, *self.others]

    def list_values(self, label: str) -> list[str]:
        """Return the values of COLUMNS."""
        return [self.text, label, self.channel, self.product, self.variant, self.day]


@dataclass(slots=True)
class GeneratedRow(SourceRow):
    """A row whose true label is known."""

    noisy: bool = False  # the label is not the true one


def build_generated_part(params: TextParams) -> SourcePart:
    """Return the tickets as a part of the source, numbered from 1."""
    settings = params.data.generated
    facts = {"name": "generated", "seed": params.seed} | settings.model_dump()
    numbers = range(1, settings.num_rows + 1)
    return SourcePart("generated", None, partial(_draw_rows, params, numbers), facts)


def draw_ticket(rng: random.Random, drift: float, max_labels: int = 1) -> Ticket:
    """Draw one ticket; `drift` is the probability that it is from after the drift.

    It is about up to `max_labels` intents.
    """
    grammar = load_grammar()
    drifted = rng.random() < drift
    weights = grammar.weights[::-1] if drifted else grammar.weights
    intent = rng.choices(grammar.intents, weights)[0]
    others = _draw_further_intents(rng, intent, max_labels) if max_labels > 1 else ()
    channel = _draw_weighted(rng, grammar.values["channels"])
    variant = _draw_weighted(rng, grammar.values["variants"])
    products = grammar.products[drifted]
    product = rng.choice(list(products))
    days = grammar.values["days"]
    num_days = rng.randrange(days["span"]) + drifted * days["drifted_by"]
    day = datetime.date.fromisoformat(days["first"]) + datetime.timedelta(num_days)
    writer = TicketWriter(rng, grammar, [intent, *others], products[product], drifted)
    text = writer.write_text(channel)
    text = replace_words(rng, text, grammar.values["words"][variant])
    return Ticket(text, intent, channel, product, variant, day.isoformat(), others)


def find_noisy(params: TextParams, ids: Iterable[str]) -> set[str]:
    """Draw the tickets of these ids again; return the ids of those with a label that is not true.

    What the manifest says of noise is not asked: it may have been edited.
    """
    settings = params.data.generated
    noisy = set()
    for id_ in ids:
        rng = _seed_row(params, id_.removeprefix("generated:"))
        draw_ticket(rng, settings.drift, settings.max_labels)
        if rng.random() < settings.label_noise:
            noisy.add(id_)
    return noisy


def _seed_row(params: TextParams, number: int | str) -> random.Random:
    return random.Random(f"{params.seed} {number}")  # noqa: S311 - data, not secrets


def _draw_rows(params: TextParams, numbers: range, request: ReadRequest) -> Iterator[GeneratedRow]:
    """Draw the tickets of these numbers."""
    indices = find_columns("generated", COLUMNS, request)
    settings = params.data.generated
    for number in numbers:
        rng = _seed_row(params, number)
        ticket = draw_ticket(rng, settings.drift, settings.max_labels)
        noisy = rng.random() < settings.label_noise
        labels = ticket.intents
        if noisy:
            intents = load_grammar().intents
            wrong = rng.choice([intent for intent in intents if intent not in labels])
            labels = [wrong, *ticket.others]
        label = json.dumps(labels) if params.data.columns.has_label_sets else labels[0]
        values = ticket.list_values(label)
        yield GeneratedRow(number, [values[index] for index in indices], noisy=noisy)


def _draw_further_intents(rng: random.Random, intent: str, max_labels: int) -> tuple[str, ...]:
    others = [other for other in load_grammar().intents if other != intent]
    return tuple(rng.sample(others, rng.randrange(max_labels)))


def _draw_weighted(rng: random.Random, weights: Mapping[str, int]) -> str:
    return rng.choices(list(weights), list(weights.values()))[0]
