"""Texts that resemble each other: found where they were copied, and not where a template did it."""

import random
from collections.abc import Callable

import pandas as pd
import pytest
from tests.support.example_rows import store_table

from plumbline.statistics import ngrams
from plumbline.tasks.text_classification.expectations.duplicates import find_near_leaks
from plumbline.tasks.text_classification.expectations.exchanges import (
    MAX_WORDS,
    MIN_WORDS,
    find_exchanged,
)
from plumbline.tasks.text_classification.expectations.text_rows import build_form

BEFORE = {"validation": ("train",), "test": ("train", "validation")}


def fill_templates(num_texts: int, seed: int) -> list[str]:
    """Join one of forty openings, one of forty requests and two numbers, each text by itself."""
    draw = random.Random(seed)
    words = [
        "".join(draw.choices("abcdefghiklmnoprstu", k=draw.randrange(4, 10))) for _ in range(400)
    ]
    sentences = [" ".join(draw.choices(words, k=6)) for _ in range(80)]
    filled = []
    for _ in range(num_texts):
        text = f"{sentences[draw.randrange(40)]} {draw.randrange(1000)}"
        filled.append(f"{text} {draw.choice(sentences[40:])} {draw.randrange(1000)}")
    return filled


def divide(texts: list[str], seed: int) -> pd.DataFrame:
    """Divide texts as ingest does, at random."""
    draw = random.Random(seed)
    rows = pd.DataFrame({"text": texts}).drop_duplicates()
    shares = [0.65, 0.15, 0.2]
    rows["split"] = draw.choices(["train", "validation", "test"], shares, k=len(rows))
    rows["id"] = [f"r{row}" for row in range(len(rows))]
    rows["normal"] = rows["text"].map(build_form)
    return rows.assign(compact=rows["normal"].str.replace(" ", ""))


def find_findings(rows: pd.DataFrame, split: str) -> pd.Series:
    findings = find_near_leaks(store_table(rows), split, BEFORE[split])
    found = [findings.get(row) for row in range(len(rows))]
    return pd.Series(found, index=rows.index, dtype=object)


@pytest.mark.parametrize("split", BEFORE)
def test_rows_of_a_template_are_no_leak(split: str) -> None:
    rows = divide(fill_templates(3600, 0), 0)
    findings = find_findings(rows, split)
    assert findings.notna().sum() < 0.01 * (rows["split"] == split).sum()


def test_copies_among_rows_of_a_template_are_found() -> None:
    rows = divide(fill_templates(3600, 0), 0)
    leaked = rows[rows["split"] == "test"].iloc[::5]
    copies = leaked.assign(split="train", id="copy:" + leaked["id"])
    for column in ("text", "normal", "compact"):
        copies[column] = copies[column].str.replace("a", "e", n=1)
    findings = find_findings(pd.concat([rows, copies]), "test")
    assert findings[: len(rows)][rows.index.isin(leaked.index)].notna().mean() > 0.9


def test_rows_that_a_split_has_in_three_versions_are_found() -> None:
    draw = random.Random(0)
    words = "".join(draw.choices("abcdefghiklmnoprstu", k=2000)).split("e")
    rows = divide([" ".join(draw.choices(words, k=9)) for _ in range(900)], 0)
    repeated = rows[rows["split"] == "test"].iloc[::5]
    versions = [rows]
    for word in ("please", "today", "thanks"):
        again = repeated.assign(id=word + repeated["id"])
        for column in ("text", "normal", "compact"):
            again[column] = again[column].str.replace("o", "a", n=1) + word
        versions.append(again)
    findings = find_findings(pd.concat(versions), "test")
    reasons = findings.dropna().tolist()
    assert 0.8 * 4 * len(repeated) < len(reasons) <= 4 * len(repeated)
    assert "of the same split (" in reasons[0]


@pytest.mark.parametrize(
    "change",
    [
        lambda text: " ".join(f"{word} {word}" for word in text.split()),
        lambda text: f'<p class="x">{text}</p>',
        lambda text: text.translate(str.maketrans("0123456789", "7890123456")),
    ],
    ids=["doubled words", "tags", "other digits"],
)
def test_copies_that_a_person_knows_again_are_found(change: Callable[[str], str]) -> None:
    draw = random.Random(0)
    words = "".join(draw.choices("abcdefghiklmnoprstu", k=2000)).split("e")
    texts = [
        " ".join([*draw.sample(words, k=8), *map(str, draw.sample(range(10**5), k=3))])
        for _ in range(900)
    ]
    rows = divide(texts, 0)
    leaked = rows[rows["split"] == "test"]
    copies = divide([*map(change, leaked["text"])], 0).assign(split="train")
    assert find_findings(rows, "test").notna().sum() == 0
    findings = find_findings(pd.concat([rows, copies.assign(id="copy:" + copies["id"])]), "test")
    assert findings[: len(rows)][rows["split"] == "test"].notna().mean() > 0.9


DIGITS = str.maketrans("123456789", "0" * 9)
WORDS = ("red", "blue", "box", "came", "on", "my", "desk", "row 12", "row 34")


def draw_texts(num_texts: int, seed: int) -> list[str]:
    """Draw texts of few different words, some of them too short or too long to be compared."""
    draw = random.Random(seed)
    sizes = range(MIN_WORDS - 1, MIN_WORDS + 3)
    texts = [" ".join(draw.choices(WORDS, k=draw.choice(sizes))) for _ in range(num_texts)]
    long = [word + end for word in WORDS for end in "abcde"]
    assert len(long) > MAX_WORDS
    return list(dict.fromkeys([*texts, " ".join(long), " ".join(reversed(long))]))


def is_exchanged(one: str, other: str) -> bool:
    ours, theirs = one.split(), other.split()
    if one == other or min(len(ours), len(theirs)) < MIN_WORDS:
        return False
    different = set(one.translate(DIGITS).split())
    if different == set(other.translate(DIGITS).split()) and len(different) >= MIN_WORDS:
        return True
    if len(ours) != len(theirs) or len(ours) > MAX_WORDS:
        return False
    return sum(mine != other for mine, other in zip(ours, theirs, strict=True)) == 1


def test_every_text_with_one_word_exchanged_or_only_the_same_words_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known, checked = draw_texts(300, 0), draw_texts(300, 1)
    checked += known[:20]
    expected = {text for text in checked if any(is_exchanged(text, twin) for twin in known)}
    twins = find_exchanged(known, checked)
    assert 20 < len(expected) < len(checked)
    assert set(twins) == expected
    assert all(is_exchanged(text, twin) for text, twin in twins.items())
    assert find_exchanged([], checked) == {}
    assert find_exchanged(known, ["short"]) == {}
    monkeypatch.setattr(ngrams, "CHUNK_CHARACTERS", 300)
    assert find_exchanged(known, checked) == twins
