"""Faults of labels: too rare, not in train, spelled twice, measured values, or contradicted."""

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from plumbline.tasks.text_classification.data.words import LONG_WORD

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

FRACTION = re.compile(r"[+-]?\d*[.,]\d+(e[+-]?\d+)?", re.IGNORECASE)
NUM_FOLDS = 5
MAX_ROWS = 20_000  # that are cross-validated: about ten seconds for 150 classes
MAX_SPELLINGS = 6  # that are shown
NUM_FEATURES = 2**17


def find_rare_labels(rows: "pd.DataFrame", min_rows: int) -> "pd.Series":
    """For each row of train whose label has fewer than `min_rows` there: how many. Else null."""
    in_train = rows["split"] == "train"
    rare = {}
    for label, count in rows.loc[in_train, "label"].value_counts().items():
        if count < min_rows:
            rare[label] = f"{label!r}: {count} in train, {min_rows} needed"
    return rows["label"].map(rare).where(in_train, None).astype(object)


def find_unseen_labels(rows: "pd.DataFrame") -> "pd.Series":
    """For each held-out row whose label train does not have: its label and count. Else null."""
    train_labels = rows.loc[rows["split"] == "train", "label"].unique()
    unseen = rows.loc[~rows["label"].isin(train_labels), "label"]
    findings = {}
    for label, count in unseen.value_counts().items():
        findings[label] = f"{label!r}: {count} held out, none in train"
    return rows["label"].map(findings).astype(object)


def find_absent_labels(rows: "pd.DataFrame", split: str) -> "pd.Series":
    """For each row of train whose label `split` does not have: its label and count. Else null."""
    in_train = rows["split"] == "train"
    known = rows.loc[rows["split"] == split, "label"].unique()
    findings = {}
    for label, count in rows.loc[in_train, "label"].value_counts().items():
        if label not in known:
            findings[label] = f"{label!r}: {count} in train, none in {split}"
    return rows["label"].map(findings).where(in_train, None).astype(object)


def find_measured_values(rows: "pd.DataFrame") -> "pd.Series":
    """For each row whose label is a number with a fraction that occurs once: it. Else null."""
    labels = rows["label"]
    is_unique = labels.map(labels.value_counts()) == 1
    is_fraction = labels.str.strip().str.fullmatch(FRACTION)
    return labels.where(is_unique & is_fraction, None).astype(object)


def find_spelling_variants(rows: "pd.DataFrame") -> "pd.Series":
    """For each row whose label has other spellings: all of them. Else null.

    Spellings differ in case, spaces, hyphens or underscores.
    """
    spellings: defaultdict[str, list[str]] = defaultdict(list)
    for label in sorted(rows["label"].unique()):
        spellings[_simplify(label)].append(label)
    findings: dict[str, str] = {}
    for variants in spellings.values():
        if len(variants) > 1:
            shown = ", ".join(map(repr, variants[:MAX_SPELLINGS]))
            finding = f"spelled {len(variants)} ways: {shown}"
            findings |= dict.fromkeys(variants, finding)
    return rows["label"].map(findings).astype(object)


def find_label_noise(rows: "pd.DataFrame", seed: int) -> "pd.DataFrame":
    """Judge rows of train by cross-validation: `suspect` names a likelier label, or is null.

    Confident learning (Northcutt, Jiang, Chuang 2021, arXiv:1911.00068) on the scores of a linear
    SVM: a row is suspect if its score for another label is at least the average score of the rows
    that carry that label. Labels with fewer than NUM_FOLDS rows are not judged. Returns one row
    per judged row, index as in `rows`.
    """
    import numpy as np
    import pandas as pd

    train = _select_judged(rows, seed)
    given, distinct = pd.factorize(train["label"], sort=True)
    names = distinct.tolist()
    if len(names) < 2:
        return pd.DataFrame({"suspect": pd.Series(dtype=object)}, index=train.index[:0])
    scores = _score_held_out(train["text"], given, seed)
    typical = np.array([scores[given == label, label].mean() for label in range(len(names))])
    confident = np.where(scores >= typical, scores, -np.inf)
    best = confident.argmax(axis=1)
    is_suspect = np.isfinite(confident.max(axis=1)) & (best != given)
    findings: list[str | None] = []
    for row, suspect in enumerate(is_suspect):
        finding = f"{names[given[row]]!r}, reads like {names[best[row]]!r}"
        findings.append(finding if suspect else None)
    return pd.DataFrame({"suspect": pd.Series(findings, index=train.index, dtype=object)})


def _select_judged(rows: "pd.DataFrame", seed: int) -> "pd.DataFrame":
    """At most MAX_ROWS rows of train, without the labels that have too few for cross-validation."""
    train = _drop_rare(rows[rows["split"] == "train"])
    if len(train) > MAX_ROWS:
        train = train.sample(MAX_ROWS, random_state=seed)
    return _drop_rare(train)


def _drop_rare(train: "pd.DataFrame") -> "pd.DataFrame":
    return train[train["label"].map(train["label"].value_counts()) >= NUM_FOLDS]


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
    return re.sub(r"[\s_-]+", "", label).casefold()
