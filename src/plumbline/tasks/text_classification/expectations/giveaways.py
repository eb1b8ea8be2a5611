"""Words that nearly alone predict a label.

A word such as "routing" may well be nearly all of one class. Where such words cover much of the
data, they are more likely a trace of how the data were made.
"""

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

MIN_PRECISION = 0.97  # of the rows with the word, this share has the label
MIN_RECALL = 0.8  # of the rows with the label, this share has the word
MIN_ROWS = 20


def find_label_words(rows: "pd.DataFrame", texts: "pd.DataFrame | None" = None) -> "pd.Series":
    """For each row of train with a word that nearly alone predicts a label: both. Else null.

    Where rows have sets of labels, `rows` has one for each label, and `texts` each row once, those
    without a label too.
    """
    train = rows[rows["split"] == "train"]
    texts = rows if texts is None else texts
    all_texts = texts.loc[texts["split"] == "train", "normal"]
    words = {row: set(text.split()) for row, text in all_texts.items()}
    signs = _describe_signs(train, words)
    findings = {}
    for row, present in words.items():
        for word in sorted(present & set(signs))[:1]:
            findings[row] = signs[word]
    return texts.index.to_series().map(findings).astype(object)


def _describe_signs(train: "pd.DataFrame", words: dict[object, set[str]]) -> dict[str, str]:
    """Map each word that nearly alone predicts a label to a sentence about the two."""
    num_rows: Counter[str] = Counter()
    num_labelled: Counter[tuple[str, str]] = Counter()
    for present in words.values():
        num_rows.update(present)
    for row, label in train["label"].items():
        num_labelled.update((word, label) for word in words[row])
    sizes = train["label"].value_counts()
    signs = {}
    for (word, label), count in num_labelled.items():
        if sizes[label] / len(words) >= MIN_PRECISION:
            continue  # nearly every row has this label, so that every word predicts it
        precision, recall = count / num_rows[word], count / sizes[label]
        if count >= MIN_ROWS and precision >= MIN_PRECISION and recall >= MIN_RECALL:
            rows = f"{recall:.0%} of the rows labelled {label!r}"
            signs[word] = f"{word!r} is in {rows}; {precision:.0%} of its own rows have that label"
    return signs
