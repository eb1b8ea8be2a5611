"""Words that nearly alone predict a label.

A word such as "routing" may well be nearly all of one class. Where such words cover much of the
data, they are more likely a trace of how the data were made.
"""

from collections import Counter
from collections.abc import Sequence
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
    signs = _describe_signs(train["normal"].tolist(), train["label"].tolist(), all_texts.tolist())
    findings = {}
    for row, text in all_texts.items():
        present = signs.keys() & text.split()
        if present:
            findings[row] = signs[min(present)]
    return texts.index.to_series().map(findings).astype(object)


def _describe_signs(
    texts: Sequence[str], labels: Sequence[str], all_texts: Sequence[str]
) -> dict[str, str]:
    """Map each word that nearly alone predicts a label to a sentence about the two.

    A text with several labels is in `texts` once for each, and in `all_texts` once.
    """
    num_rows: Counter[str] = Counter()
    for text in all_texts:
        num_rows.update(set(text.split()))
    frequent = {word for word, count in num_rows.items() if count >= MIN_ROWS}
    num_labelled: Counter[tuple[str, str]] = Counter()
    for text, label in zip(texts, labels, strict=True):
        num_labelled.update((word, label) for word in frequent.intersection(text.split()))
    sizes = Counter(labels)
    signs = {}
    for (word, label), count in num_labelled.items():
        if sizes[label] / len(all_texts) >= MIN_PRECISION:
            continue  # nearly every row has this label, so that every word predicts it
        precision, recall = count / num_rows[word], count / sizes[label]
        if count >= MIN_ROWS and precision >= MIN_PRECISION and recall >= MIN_RECALL:
            rows = f"{recall:.0%} of the rows labelled {label!r}"
            signs[word] = f"{word!r} is in {rows}; {precision:.0%} of its own rows have that label"
    return signs
