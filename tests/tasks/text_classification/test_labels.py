"""Which labels are missing values, which are classes, and which are one class."""

from plumbline.tasks.text_classification.data.labels import name_labels

WORDS = ("none", "None", "na", "N/A", "null", "-", "nan")


def test_a_word_for_a_missing_value_that_repeats_is_a_class() -> None:
    for word in WORDS:
        assert name_labels({"spam": 60, "ham": 60, word: 10}).names[word] == word


def test_a_rare_word_for_a_missing_value_is_none() -> None:
    counts = {"a": 300, "b": 300} | dict.fromkeys(WORDS, 5)
    assert set(name_labels(counts).names) == {"a", "b"}
    assert "" not in name_labels({"a": 3, "": 3000}).names


def test_a_class_that_is_small_beside_a_large_one_is_a_class() -> None:
    assert "none" in name_labels({"ham": 5462, "none": 112}).names
    many = {f"class {number}": 20 for number in range(300)}
    assert "none" in name_labels(many | {"none": 20}).names
    assert "none" not in name_labels(many | {"none": 7}).names


def test_numbers_that_are_equal_are_one_class() -> None:
    names = name_labels({"5": 10, "5.0": 10, "+5": 1, "6.0": 10, "007": 10, "7": 10, "1.5": 3})
    assert names.names == {
        "5": "5", "5.0": "5", "+5": "5", "6.0": "6.0", "007": "007", "7": "7", "1.5": "1.5"
    }  # fmt: skip
    assert list(names.describe()) == [
        "labels '+5', '5', '5.0' are equal as numbers and are one class, '5'"
    ]
