"""Behavioural cases: a model that reads words passes, one that is brittle or blind does not."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.support.example_rows import read_rows, write_rows

from plumbline.contract.yaml_file import load_yaml
from plumbline.tasks.text_classification.params import TextParams
from plumbline.tasks.text_classification.scoring.behaviour import check_behaviour, swap_letters

ROOT = Path(__file__).parents[3]
WORDS = {
    "refund": "money back please refund order",
    "login": "cannot sign account password forgotten",
    "delivery": "parcel where late courier arrive",
}


class Words:
    """Counts the words of each class; `blind` never looks, `brittle` knows lower case alone.

    It reads the first `limit` words of a text.
    """

    def __init__(self, *, blind: bool = False, brittle: bool = False, limit: int = 999) -> None:
        self.blind, self.brittle, self.limit = blind, brittle, limit

    def predict(self, columns, top_k=3, threshold=0.0):
        rows = [self._row(text if self.brittle else text.lower()) for text in columns["text"]]
        return {
            "label": [row[0]["label"] for row in rows],
            "score": [row[0]["score"] for row in rows],
            "scores": rows,
            "abstained": [False] * len(rows),
        }

    def _row(self, text: str) -> list[dict]:
        text = " ".join(text.split()[: self.limit])
        counts = [
            0.0
            if self.blind
            else sum(word.strip("?!.") in text.split() for word in WORDS[n].split())
            for n in WORDS
        ]
        shares = np.exp(counts) / np.exp(counts).sum()
        return sorted(
            ({"label": n, "score": float(s)} for n, s in zip(WORDS, shares, strict=True)),
            key=lambda e: -e["score"],
        )


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    for split, size in (("train", 60), ("validation", 15), ("test", 45)):
        labels = [list(WORDS)[i % 3] for i in range(size)]
        texts = [
            " ".join([*rng.permutation(WORDS[label].split())[:4], "today"]) + "."
            for label in labels
        ]
        ids = [f"{split}{i}" for i in range(size)]
        write_rows(tmp_path, split, pd.DataFrame({"id": ids, "text": texts, "label": labels}))
    return tmp_path


DIRECTION = "a typical text in front makes its class more probable than one of another class does"
TYPICAL = "the most typical texts of each class are known"


def passed(examples: Path, predictor: Words, seed: int = 7) -> dict[str, tuple[int, int]]:
    values = load_yaml(ROOT / "recipes/text_classification.yaml") | {"seed": seed}
    cases = check_behaviour(TextParams.model_validate(values), examples, predictor)
    assert [case.kind for case in cases] == [
        "invariance",
        "invariance",
        "invariance",
        "minimum",
        "direction",
    ]
    for case in cases:
        assert case.is_sample
        assert bool(case.failures) == (case.num_passed < case.num_cases)
    return {case.name.split(":")[0]: (case.num_passed, case.num_cases) for case in cases}


def test_a_model_that_reads_passes_everything(examples: Path) -> None:
    found = passed(examples, Words())
    assert found.pop(DIRECTION) == (30, 30)  # each training text once: a class has twenty
    assert {(p, n) for p, n in found.values()} == {(45, 45)}


def test_a_model_that_knows_lower_case_alone_is_found_out(examples: Path) -> None:
    right, total = passed(examples, Words(brittle=True))["case"]
    assert right < total


def test_a_model_that_never_reads_is_found_out(examples: Path) -> None:
    found = passed(examples, Words(blind=True))
    assert found[TYPICAL] == (15, 45)
    assert found[DIRECTION] == (0, 30)
    assert found["case"] == (45, 45)  # blindness is invariant: one kind of case alone would not do


def test_a_text_is_put_where_a_model_of_few_tokens_reads_it(examples: Path) -> None:
    rows = read_rows(examples, "test")
    rows["text"] = rows["text"] + " and so on" * 100
    write_rows(examples, "test", rows)
    assert passed(examples, Words(limit=6))[DIRECTION] == (30, 30)


def test_what_no_training_text_tells_is_not_asked(examples: Path) -> None:
    rows = read_rows(examples, "train")
    rows["text"] = [f"order {number}" for number in range(len(rows))]
    write_rows(examples, "train", rows)
    assert passed(examples, Words())[DIRECTION] == (0, 0)


def test_a_change_that_changes_nothing_is_not_asked(examples: Path) -> None:
    rows = read_rows(examples, "test")
    rows["text"] = rows["text"].str.upper().str.split().str[:2].str.join(" ")
    write_rows(examples, "test", rows)
    counts = passed(examples, Words())
    assert counts["case"] == (0, 0)
    assert counts["typo"] == (0, 0)  # a text of two words can lose its only word


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("my parcel is late", "my pacrel is late"),
        ("so it is", "so it is"),
        ("", ""),
        ("привет мир", "првиет мир"),
        # A longer word further behind is not read by every model.
        (
            "a twelfth word of " + "a " * 9 + "questionnaire",
            "a twlefth word of " + "a " * 9 + "questionnaire",
        ),
    ],
)
def test_swapped_letters(text: str, changed: str) -> None:
    assert swap_letters(text) == changed
