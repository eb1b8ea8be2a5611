"""Behavioural tests of the winner: invariance, direction and minimum-function cases.

The method is that of Ribeiro et al. 2020. The cases come from the examples: the TF-IDF of its
training texts shows what is typical of a class. So they need no list of words, and they work for
a user's own labels.

Texts are drawn at random, and each is in one case of a test, so that cases are independent draws.
A class has several: all classes are asked about, equally often, and shares that differ between them
make the exact interval of the share of all too wide, not too narrow (Hoeffding 1956).
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from plumbline.contract.records import Case
from plumbline.contract.task import Predictor
from plumbline.tasks.text_classification.data import read_label_sets, read_split
from plumbline.tasks.text_classification.data.words import count_words
from plumbline.tasks.text_classification.params import TextParams
from plumbline.tasks.text_classification.scoring.answers import collect_answers
from plumbline.tasks.text_classification.scoring.class_profiles import (
    ClassProfiles,
    LabelledText,
    build_profiles,
    draw_training_texts,
    draw_typical_texts,
    find_typical_classes,
)

NUM_TEXTS = 200  # that are changed
NUM_TYPICAL = 50  # about; the fewer, the more typical of their class
NUM_ADDITIONS = 200
MIN_WORDS = 4  # of a text that a typing error is put into: a shorter one can lose its only word
NUM_READ_WORDS = 12  # that a model reads even where it reads few tokens


class Addition(NamedTuple):
    """A held-out text, and two training texts to be put to it: of the class, and of another."""

    expected: str  # the class; the held-out text and `other` do not have it
    text: str
    own: str
    other: str


def check_behaviour(params: TextParams, examples: Path, predictor: Predictor) -> list[Case]:
    """Run every behavioural test of `predictor` on held-out texts of the test split."""
    texts = read_split(examples, "test", ["text"])["text"].to_pylist()
    rows = list(map(LabelledText, texts, read_label_sets(examples, "test")))
    draw = np.random.default_rng(params.seed)
    rows = [rows[place] for place in draw.permutation(len(rows))]
    train = draw_training_texts(examples, params.seed)
    profiles = build_profiles(train)
    num_classes = len(profiles.names)
    drawn = draw_typical_texts(train, profiles, 2 * -(-NUM_ADDITIONS // num_classes), params.seed)
    order = draw.permutation(num_classes).tolist()
    additions = list(_plan_additions(rows, drawn, order, profiles.names))
    max_chars = params.data.policies.max_chars
    return [
        *_check_invariances([row.text for row in rows[:NUM_TEXTS]], predictor, num_classes),
        _check_typical_texts(rows, predictor, profiles),
        _check_direction(additions[:NUM_ADDITIONS], max_chars, predictor, num_classes),
    ]


def swap_letters_of_long_text(text: str) -> str:
    """Swap two letters of a text of at least MIN_WORDS words; a shorter one stays as it is."""
    return swap_letters(text) if count_words(text) >= MIN_WORDS else text


def swap_letters(text: str) -> str:
    """Swap the two middle letters of the longest word, but never its first letter.

    It is one of the first words, where every model reads it: an error in what is not read changes
    no answer. A text without a word of four letters there stays as it is.
    """
    words = text.split(" ")
    longest = max(range(len(words[:NUM_READ_WORDS])), key=lambda i: len(words[i]))
    word = words[longest]
    if len(word) < 4:
        return text
    middle = len(word) // 2
    words[longest] = word[: middle - 1] + word[middle] + word[middle - 1] + word[middle + 1 :]
    return " ".join(words)


def double_spaces(text: str) -> str:
    """Double every blank, and drop the punctuation marks at the end."""
    return "  ".join(text.split(" ")).rstrip(" .!?")


def _check_invariances(
    texts: Sequence[str], predictor: Predictor, num_classes: int
) -> Iterator[Case]:
    changes: dict[str, Callable[[str], str]] = {
        "typo: two neighbouring letters swapped": swap_letters_of_long_text,
        "case: written in capitals": str.upper,
        "whitespace and punctuation: doubled blanks, no marks at the end": double_spaces,
    }
    before = collect_answers(predictor, texts, num_classes).labels
    for name, change in changes.items():
        changed = {row: change(text) for row, text in enumerate(texts)}
        changed = {row: text for row, text in changed.items() if text not in ("", texts[row])}
        answers = _ask(predictor, list(changed.values()), num_classes)
        failures = [
            f"{before[row]} became {answer.label}: {_shorten(text)}"
            for (row, text), answer in zip(changed.items(), answers, strict=True)
            if answer.label != before[row]
        ]
        yield Case.build(f"{name}, the label stays", "invariance", failures, len(changed), True)


def _check_typical_texts(
    rows: Sequence[LabelledText], predictor: Predictor, profiles: ClassProfiles
) -> Case:
    """Check the held-out texts of each class that are most similar to its training texts.

    A class is left out if no text has much in common with it, or each has about as much, or more,
    with another class.
    """
    typical = _find_typical_texts(rows, profiles)
    answers = _ask(predictor, [text for _, text in typical], len(profiles.names))
    failures = [
        f"{expected} was taken for {answer.label}: {_shorten(text)}"
        for (expected, text), answer in zip(typical, answers, strict=True)
        if expected not in answer.labels
    ]
    name = "the most typical texts of each class are known"
    return Case.build(name, "minimum", failures, len(typical), True)


def _find_typical_texts(
    rows: Sequence[LabelledText], profiles: ClassProfiles
) -> list[tuple[str, str]]:
    """Return pairs of class and text: those most similar to the training texts of their class."""
    count = -(-NUM_TYPICAL // len(profiles.names))
    similarity = profiles.measure_similarity([row.text for row in rows])
    classes = find_typical_classes(similarity)
    typical = []
    for index, name in enumerate(profiles.names):
        members = np.flatnonzero(classes == index).tolist()
        own = [row for row in members if name in rows[row].labels]
        own.sort(key=similarity[:, index].__getitem__, reverse=True)
        typical += [(name, rows[row].text) for row in own[:count]]
    return typical


def _plan_additions(
    rows: Sequence[LabelledText],
    drawn: Sequence[Sequence[LabelledText]],
    order: Sequence[int],
    names: Sequence[str],
) -> Iterator[Addition]:
    """Yield cases in rounds, in each of which a class has one, and is the other class of one.

    `drawn` has the typical texts of each class. A case without texts that fit is left out.
    """
    free = dict(enumerate(rows))
    left = [list(texts) for texts in drawn]
    for number in range(-(-NUM_ADDITIONS // len(names))):
        step = 1 + number % max(1, len(names) - 1)
        for place, index in enumerate(order):
            name = names[index]
            others = left[order[(place + step) % len(names)]]
            other = next((text for text in others if name not in text.labels), None)
            row = next((row for row, text in free.items() if name not in text.labels), None)
            if row is not None and other is not None and left[index]:
                others.remove(other)
                yield Addition(name, free.pop(row).text, left[index].pop().text, other.text)


def _check_direction(
    additions: Sequence[Addition], max_chars: int, predictor: Predictor, num_classes: int
) -> Case:
    """Check that a text of a class makes it more probable than one of another class does.

    Both are put in front of the same held-out text, where a model of few tokens reads them, and
    cut where ingest would cut.
    """
    own = _ask(predictor, [f"{a.own} {a.text}"[:max_chars] for a in additions], num_classes)
    other = _ask(predictor, [f"{a.other} {a.text}"[:max_chars] for a in additions], num_classes)
    failures = []
    for addition, raised, unraised in zip(additions, own, other, strict=True):
        name = addition.expected
        value, least = raised.probabilities[name], unraised.probabilities[name]
        if value <= least:
            change = f"{name} has {value:.4f}, and {least:.4f} with a text of another class"
            failures.append(f"{change}: {_shorten(addition.own)} {_shorten(addition.text)}")
    title = "a typical text in front makes its class more probable than one of another class does"
    return Case.build(title, "direction", failures, len(additions), True)


class TextAnswer(NamedTuple):
    """What a predictor answers to one text."""

    label: str
    labels: tuple[str, ...]
    probabilities: dict[str, float]


def _ask(predictor: Predictor, texts: Sequence[str], num_classes: int) -> list[TextAnswer]:
    if not texts:
        return []
    answers = collect_answers(predictor, texts, num_classes)
    rows = (dict(zip(answers.names, row, strict=True)) for row in answers.probabilities)
    return list(map(TextAnswer, answers.labels, answers.label_sets, rows))


def _shorten(text: str) -> str:
    return text if len(text) <= 120 else text[:117] + "..."
