"""Faults of labels: too rare, not in train, spelled twice, measured values, or contradicted."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING

from plumbline.tables.rows import StoredRows
from plumbline.tasks.text_classification.data.label_sets import ListLabels
from plumbline.tasks.text_classification.data.normalisation import fold_spelling
from plumbline.tasks.text_classification.data.words import LONG_WORD

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

COUNT_LABELS = 'SELECT split, label, count(*) FROM rows GROUP BY ALL ORDER BY min("#row")'
FRACTION = re.compile(r"[+-]?\d*[.,]\d+(e[+-]?\d+)?", re.IGNORECASE)
NUM_FOLDS = 5
MAX_ROWS = 20_000  # that are cross-validated: about ten seconds for 150 classes
MAX_SPELLINGS = 6  # that are shown
NUM_FEATURES = 2**17
LIST_JUDGED = """
    SELECT "#row" FROM rows WHERE split = 'train' AND label IN (SELECT unnest(?)) ORDER BY "#row"
"""
READ_JUDGED = 'SELECT "#row", label, text FROM rows WHERE "#row" IN (SELECT unnest(?))'
LabelSizes = Mapping[tuple[str, str], int]  # (split, label) -> rows
LabelFindings = dict[str, str]  # label -> what is wrong with it


def count_labels(rows: StoredRows, list_labels: ListLabels) -> Counter[tuple[str, str]]:
    """Return how many rows have each (split, label), as they are met."""
    sizes: Counter[tuple[str, str]] = Counter()
    for split, label, size in rows.query(COUNT_LABELS).itertuples(index=False, name=None):
        for each in list_labels(label):
            sizes[split, each] += size
    return sizes


def find_first_finding(findings: Mapping[str, str], labels: tuple[str, ...]) -> str | None:
    """Return what was found about the first of a row's labels that anything was found of."""
    return next((findings[label] for label in labels if label in findings), None)


def find_rare_labels(sizes: LabelSizes, min_rows: int) -> LabelFindings:
    """For each label with fewer than `min_rows` in train: how many. It is of rows of train."""
    return {
        label: f"{label!r}: {size} in train, {min_rows} needed"
        for (split, label), size in sizes.items()
        if split == "train" and size < min_rows
    }


def find_unseen_labels(sizes: LabelSizes) -> LabelFindings:
    """For each label that only held-out splits have: how many rows."""
    unseen: Counter[str] = Counter()
    for (_, label), size in sizes.items():
        if ("train", label) not in sizes:
            unseen[label] += size
    return {label: f"{label!r}: {size} held out, none in train" for label, size in unseen.items()}


def find_absent_labels(sizes: LabelSizes, split: str) -> LabelFindings:
    """For each label of train that `split` does not have: how many. It is of rows of train."""
    return {
        label: f"{label!r}: {size} in train, none in {split}"
        for (own, label), size in sizes.items()
        if own == "train" and (split, label) not in sizes
    }


def find_measured_values(sizes: LabelSizes) -> LabelFindings:
    """For each label that is a number with a fraction and occurs once: it."""
    totals: Counter[str] = Counter()
    for (_, label), size in sizes.items():
        totals[label] += size
    return {
        label: label
        for label, total in totals.items()
        if total == 1 and FRACTION.fullmatch(label.strip())
    }


def find_spelling_variants(sizes: LabelSizes) -> LabelFindings:
    """For each label that has other spellings: all of them.

    Spellings differ in case, spaces, hyphens, underscores or accents, or read the same: in hidden
    characters, look-alikes, HTML entities, or how Unicode composes a letter.
    """
    spellings: defaultdict[str, list[str]] = defaultdict(list)
    for label in sorted({label for _, label in sizes}):
        spellings[_simplify(label)].append(label)
    findings: LabelFindings = {}
    for variants in spellings.values():
        if len(variants) > 1:
            shown = ", ".join(map(repr, variants[:MAX_SPELLINGS]))
            finding = f"spelled {len(variants)} ways: {shown}"
            findings |= dict.fromkeys(variants, finding)
    return findings


def find_label_noise(rows: StoredRows, sizes: LabelSizes, seed: int) -> dict[int, str | None]:
    """Judge rows of train by cross-validation: each gets a likelier label, or null.

    Confident learning (Northcutt, Jiang, Chuang 2021, arXiv:1911.00068) on the scores of a linear
    SVM: a row is suspect if its score for another label is at least the average score of the rows
    that carry that label. Labels with fewer than NUM_FOLDS rows are not judged. Returns one entry
    per judged row, by its number.
    """
    import numpy as np
    import pandas as pd

    train = _select_judged(rows, sizes, seed)
    given, distinct = pd.factorize(train["label"], sort=True)
    names = distinct.tolist()
    if len(names) < 2:
        return {}
    scores = _score_held_out(train["text"], given, seed)
    typical = np.array([scores[given == label, label].mean() for label in range(len(names))])
    confident = np.where(scores >= typical, scores, -np.inf)
    best = confident.argmax(axis=1)
    is_suspect = np.isfinite(confident.max(axis=1)) & (best != given)
    findings: dict[int, str | None] = {}
    for place, (row, suspect) in enumerate(zip(train.index.tolist(), is_suspect, strict=True)):
        finding = f"{names[given[place]]!r}, reads like {names[best[place]]!r}"
        findings[row] = finding if suspect else None
    return findings


def _select_judged(rows: StoredRows, sizes: LabelSizes, seed: int) -> "pd.DataFrame":
    """At most MAX_ROWS rows of train, without the labels that have too few for cross-validation."""
    judged = [
        label for (split, label), size in sizes.items() if split == "train" and size >= NUM_FOLDS
    ]
    drawn = rows.query(LIST_JUDGED, judged)["#row"]
    if len(drawn) > MAX_ROWS:
        drawn = drawn.sample(MAX_ROWS, random_state=seed)
    texts = rows.query(READ_JUDGED, drawn.tolist()).set_index("#row").loc[drawn]
    return texts[texts["label"].map(texts["label"].value_counts()) >= NUM_FOLDS]


def _score_held_out(texts: "pd.Series", given: "np.ndarray", seed: int) -> "np.ndarray":
    """Return the decision values [rows, labels] of a linear SVM that was not fitted on the row."""
    import numpy as np
    from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    words = HashingVectorizer(
        token_pattern=LONG_WORD,
        n_features=NUM_FEATURES,
        ngram_range=(1, 2),
        norm=None,
        alternate_sign=False,
    )
    model = make_pipeline(TfidfTransformer(sublinear_tf=True), LinearSVC(C=0.5, random_state=seed))
    folds = StratifiedKFold(NUM_FOLDS, shuffle=True, random_state=seed)
    scores: np.ndarray = cross_val_predict(
        model, words.transform(texts), given, cv=folds, method="decision_function"
    )
    if scores.ndim == 1:  # two labels have one decision value
        return np.column_stack([-scores, scores])
    return scores


def _simplify(label: str) -> str:
    return re.sub(r"[\s_-]+", "", fold_spelling(label))
