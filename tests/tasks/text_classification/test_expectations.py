"""Each finding on rows made for it, and the suite as a whole."""

import random
import re
import time
from collections import Counter
from typing import get_args

import pandas as pd
import pytest
from tests.support.dirty_texts import make_values
from tests.support.example_rows import store_table

from plumbline.tables.rows import StoredRows
from plumbline.tasks.text_classification.data.label_sets import list_one_label, split_labels
from plumbline.tasks.text_classification.expectations import (
    build_checks,
    duplicates,
    giveaways,
    labels,
    personal,
    recognition,
    vocabulary,
)
from plumbline.tasks.text_classification.expectations.catalogue import CATALOGUE
from plumbline.tasks.text_classification.expectations.findings import make_excerpt
from plumbline.tasks.text_classification.expectations.labels import count_labels
from plumbline.tasks.text_classification.expectations.text_rows import name_metadata
from plumbline.tasks.text_classification.params import CheckName, TextParams

WORDS = [f"word{number}" for number in range(12)]


def make_rows(*values: tuple[str, str, str]) -> pd.DataFrame:
    """Return (split, text, label) as the table of findings, texts taken as normalised."""
    rows = pd.DataFrame(values, columns=["split", "text", "label"])
    return rows.assign(
        id=[f"f:{row}" for row in range(len(rows))],
        normal=rows["text"].str.lower(),
        compact=rows["text"].str.replace(" ", "").str.lower(),
    )


def make_batches(*values: tuple[str, str, str]) -> StoredRows:
    """Return the rows of `make_rows`, a few in each batch."""
    return store_table(make_rows(*values))


def test_every_check_has_a_title_and_a_remedy_and_appears_in_the_suite() -> None:
    params = TextParams.model_validate(make_values("x.csv"))
    suite = build_checks(params, pd.DataFrame({"split": ["train", "validation", "test"]}))

    assert [check.name for check in suite] == list(CATALOGUE)
    assert set(CATALOGUE) == set(get_args(CheckName))
    warned = {check.name for check in suite if check.severity == "warning"}
    assert warned == set(params.validation.warnings)


def test_one_greeting_that_two_small_files_share_is_accepted() -> None:
    values = make_values("x.csv")
    assert values["validation"]["max_leakage_share"] == 0.005
    params = TextParams.model_validate(values)

    def count_allowed(num_rows: int) -> int:
        suite = build_checks(params, pd.DataFrame({"split": ["test"] * num_rows}))
        (check,) = (check for check in suite if check.name == "leakage_test")
        return round((1 - check.expectation.options["mostly"]) * num_rows)

    assert [count_allowed(num_rows) for num_rows in (60, 1000)] == [3, 12]


def test_copies_count_within_a_split_and_under_one_label() -> None:
    findings = duplicates.find_copies(
        make_batches(
            ("train", "a b", "x"),
            ("train", "A B", "x"),
            ("train", "a b", "y"),
            ("test", "a b", "x"),
        )
    )
    assert findings == {1: "repeats f:0"}


def test_one_text_with_two_labels_is_reported_for_all_its_rows() -> None:
    findings = duplicates.find_conflicts(
        make_batches(
            ("train", "a b", "x"), ("train", "a b", "y"), ("train", "c", "x"), ("test", "a b", "z")
        )
    )
    assert findings == {0: "'x' here, 'y' elsewhere", 1: "'y' here, 'x' elsewhere"}


def test_leaks_are_exact_or_near_but_not_both() -> None:
    text = "where is the card that i ordered more than two weeks ago from your shop"
    rows = make_batches(
        ("train", text, "x"),
        ("test", text, "x"),
        ("test", text.upper(), "x"),
        ("test", text + "s", "x"),
        ("test", text.replace("card", "money"), "x"),
        ("validation", text, "x"),
    )

    exact = duplicates.find_exact_leaks(rows, "test", ["train"])
    near = duplicates.find_near_leaks(rows, "test", ["train"])

    assert exact == {1: "same text as f:0"}
    assert near == {
        2: "same text as f:0, except for case, punctuation or marks",
        3: "98% similar to f:0",
    }


def _draw_similar_texts(num_rows: int) -> list[str]:
    """Draw sentences, of which one in twenty differs from another one in a word."""
    rng = random.Random(7)
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=6)) for _ in range(500)]
    texts = [" ".join(rng.choices(words, k=9)) for _ in range(num_rows)]
    for number in range(0, num_rows, 20):
        sentence = texts[number + 1].split()
        texts[number] = " ".join([*sentence[:3], rng.choice(words), *sentence[4:]])
    rng.shuffle(texts)
    return texts


def test_a_class_that_a_held_out_split_lacks_is_named_for_its_train_rows() -> None:
    sizes = {("train", "a"): 1, ("train", "b"): 2, ("test", "a"): 1}
    assert labels.find_absent_labels(sizes, "test") == {"b": "'b': 2 in train, none in test"}


def test_a_word_that_nearly_alone_predicts_a_label_is_named() -> None:
    texts = _draw_similar_texts(200)
    rows = [
        ("train", f"{text} {'zx17' if number % 2 else ''}".strip(), "ab"[number % 2])
        for number, text in enumerate(texts)
    ]
    words = giveaways.find_label_words(make_batches(*rows), list_one_label)
    assert words == {
        "zx17": "'zx17' is in 100% of the rows labelled 'b'; 100% of its own rows have that label"
    }
    assert giveaways.describe_label_words(words, rows[1][1]) == words["zx17"]
    assert giveaways.describe_label_words(words, rows[0][1]) is None
    plain = make_batches(*[("train", text, "ab"[i % 2]) for i, text in enumerate(texts)])
    assert giveaways.find_label_words(plain, list_one_label) == {}


def test_the_words_of_the_only_class_predict_nothing() -> None:
    rows = [("train", f"the {WORDS[number % 5]} text", "colour") for number in range(40)]
    assert giveaways.find_label_words(make_batches(*rows), list_one_label) == {}


def test_a_word_that_rows_without_a_label_have_too_predicts_none() -> None:
    rows = [("train", "money", "refund")] * 30 + [("train", "money", "(none)")] * 600
    batches = make_batches(*rows, *[("train", "other", "login")] * 30)
    assert set(giveaways.find_label_words(batches, split_labels)) == {"other"}


def _number_customers(num_customers: int, is_loyal: bool) -> pd.DataFrame:
    """Return rows of customers; the loyal ones always have the same label."""
    rng = random.Random(3)
    rows = []
    for number, text in enumerate(_draw_similar_texts(1000)):
        customer = rng.randrange(num_customers)
        label = "abcd"[customer % 4 if is_loyal else rng.randrange(4)]
        rows.append(("test" if number < 250 else "train", f"{text} no {80000 + customer}", label))
    table = make_rows(*rows)
    return table.assign(**{name_metadata(0): table["text"].str[-5:]})


def test_customers_who_come_back_with_their_label_are_a_group() -> None:
    loyal = _number_customers(200, is_loyal=True)
    in_text = recognition.find_recognised(store_table(loyal), "test", ["train"], [])
    assert len(in_text) > 200
    assert re.match(r"the number '80\d+' is in an earlier split", next(iter(in_text.values())))
    no_text = store_table(loyal.assign(normal="x"))
    named = recognition.find_recognised(no_text, "test", ["train"], ["customer"])
    assert len(named) == len(in_text)


def test_customers_with_any_label_and_kinds_of_cases_are_no_group() -> None:
    fickle = _number_customers(200, is_loyal=False)
    kinds = _number_customers(24, is_loyal=True)  # thirty rows each and more: not a customer
    for rows in (fickle, kinds):
        assert recognition.find_recognised(store_table(rows), "test", ["train"], ["customer"]) == {}


def test_rare_and_unseen_labels_are_named_with_counts() -> None:
    sizes = {("train", "x"): 5, ("train", "y"): 1, ("test", "z"): 2}
    assert labels.find_rare_labels(sizes, 3) == {"y": "'y': 1 in train, 3 needed"}
    assert labels.find_unseen_labels(sizes) == {"z": "'z': 2 held out, none in train"}


@pytest.mark.parametrize(
    ("given", "num_found"),
    [
        (["81.56", "1e-3", "0,5", "-2.5e3"], 3),
        (["1.5", "1.5", "2.0", "2.0"], 0),
        (["1", "2", "3", "v1.2"], 0),
    ],
)
def test_measured_values_are_distinguished_from_names(given: list[str], num_found: int) -> None:
    sizes = Counter(("train", label) for label in given)
    assert len(labels.find_measured_values(sizes)) == num_found


def test_labels_that_differ_in_spelling_alone() -> None:
    given = ["card_lost", " Card-Lost", "card lost", "card_found"]
    findings = labels.find_spelling_variants(Counter(("train", label) for label in given))
    assert list(findings) == [" Card-Lost", "card lost", "card_lost"]
    assert set(findings.values()) == {"spelled 3 ways: ' Card-Lost', 'card lost', 'card_lost'"}


@pytest.mark.parametrize(
    ("given", "num_found"),
    [
        (["caf\u00e9", "cafe\u0301"], 2),  # composed and decomposed
        (["refund", "re\u200bfund"], 2),  # with a zero-width space
        (["card", "c\u0430rd"], 2),  # with a Cyrillic letter
        (["R&D", "R&amp;D"], 2),
        (["C", "C++", "C#"], 0),
    ],
)
def test_labels_that_read_the_same_are_named(given: list[str], num_found: int) -> None:
    sizes = Counter(("train", label) for label in given)
    assert len(labels.find_spelling_variants(sizes)) == num_found


@pytest.mark.parametrize("flipped", [0.0, 0.2, 0.4])
def test_the_share_of_suspects_follows_the_share_of_wrong_labels(flipped: float) -> None:
    rng = random.Random(3)
    names = ["red", "blue", "green", "white", "black"]
    truth = [rng.choice(names) for _ in range(600)]
    given = [
        rng.choice([n for n in names if n != name]) if rng.random() < flipped else name
        for name in truth
    ]
    texts = [" ".join([name, *rng.sample(WORDS, 3)]) for name in truth]
    table = make_rows(*[("train", text, label) for text, label in zip(texts, given, strict=True)])

    rows = store_table(table)
    noise = labels.find_label_noise(rows, count_labels(rows, list_one_label), seed=1)
    suspect = [row for row, finding in noise.items() if finding is not None]

    assert len(noise) == len(table)
    right = [given[row] != truth[row] for row in suspect]
    assert len(suspect) / len(table) == pytest.approx(flipped, abs=0.1)
    assert sum(right) >= 0.7 * len(right)


def test_labels_too_rare_to_judge_are_not_judged() -> None:
    rows = make_batches(*[("train", f"text {i}", "x") for i in range(20)], ("train", "other", "y"))
    assert labels.find_label_noise(rows, count_labels(rows, list_one_label), seed=1) == {}


def test_words_are_unknown_beyond_what_is_expected() -> None:
    rng = random.Random(5)
    texts = [" ".join(rng.choices(WORDS, k=8)) for _ in range(300)]
    known = vocabulary.build_vocabulary(
        make_batches(*(("train", text, "a") for text in texts[:200]))
    )

    assert known.expected == pytest.approx(0, abs=0.01)
    assert known.measure_excess(texts[200:]) == pytest.approx([0] * 100, abs=0.01)
    assert known.measure_excess(["quite other words", ""]) == pytest.approx([1, 0], abs=0.01)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("pay with 4111 1111 1111 1111 please", ["card number"]),
        ("4111-1111-1111-1111", ["card number"]),
        ("4111 1111 1111 1112", []),
        ("0000 0000 0000 0000", []),
        ("order 20240131123456", []),
        ("to GB82 WEST 1234 5698 7654 32 PLEASE", ["IBAN"]),
        ("de89370400440532013000.", ["IBAN"]),
        ("GB83 WEST 1234 5698 7654 32", []),
        ("flight ab123 and my luggage is now lost", []),
        ("mail jane.doe+x@mail.example.co.uk!", ["e-mail address"]),
        ("@user hi", []),
        ("x" * 3000 + "@" + "y" * 3000, []),
        ("AB12" + "A1 " * 3000, []),
    ],
)
def test_personal_data(text: str, kinds: list[str]) -> None:
    started = time.process_time()
    assert personal.find_personal_data(text) == kinds
    assert time.process_time() - started < 5  # of CPU; milliseconds if it is linear


def test_an_excerpt_masks_personal_data_and_shows_control_characters() -> None:
    shown = make_excerpt("mail a@example.com, card 4111 1111 1111 1111\x1b[2J\u202e")
    assert shown == "mail [e-mail address], card [card number]\ufffd[2J\ufffd"
    assert make_excerpt("x" * 5000) == "x" * 100 + "…"
