"""Words of texts in scripts with and without blanks."""

import re

import pytest

from plumbline.tasks.text_classification import predictor
from plumbline.tasks.text_classification.data import words


def test_the_predictor_has_the_same_words() -> None:
    assert predictor.SIGNS == words.SIGNS
    assert predictor.WORD.pattern == words.WORD


@pytest.mark.parametrize(
    ("text", "grams"),
    [
        ("Where is it?", ["where", "is", "it", "where is", "is it"]),
        ("我要退款", ["我", "要", "退", "款", "我 要", "要 退", "退 款"]),
        ("返金です", ["返", "金", "で", "す", "返 金", "金 で", "で す"]),
        ("iPhone坏了", ["iphone", "坏", "了", "iphone 坏", "坏 了"]),
        ("great👍👍", ["great", "👍", "👍", "great 👍", "👍 👍"]),
        ("환불 부탁", ["환불", "부탁", "환불 부탁"]),
    ],
)
def test_grams(text: str, grams: list[str]) -> None:
    assert predictor.extract_grams(text) == grams


def test_thai_is_read_sign_by_sign() -> None:
    assert predictor.extract_grams("ขอคืนเงิน")[:9] == list("ขอคืนเงิน")


def test_long_words_are_those_of_scikit_learn_where_words_have_blanks() -> None:
    text = "A 1st try, don't: naïve_x ünï 42 b"
    assert re.findall(words.LONG_WORD, text) == re.findall(r"\b\w\w+\b", text)
