"""What is wrong with labels: too rare, never trained on, spelled twice, measured values, or at odds with the text."""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

FRACTION = re.compile(r"[+-]?\d*[.,]\d+(e[+-]?\d+)?", re.IGNORECASE)
NUM_FOLDS = 5
MAX_ROWS = (
    20_000  # cross-validation looks at a sample of this size: about ten seconds for 150 classes
)
NUM_FEATURES = 2**17


def rare(rows: "pd.DataFrame", min_rows: int) -> "pd.Series":
    """For each row of train whose label has fewer than `min_rows` there: the label and its count. Else null."""
    counts = rows.loc[rows["split"] == "train", "label"].value_counts()
    few = {
        label: f"{label!r}: {count} in train, {min_rows} needed"
        for label, count in counts.items()
        if count < min_rows
    }
    return rows["label"].map(few).where(rows["split"] == "train", None).astype(object)


def unseen(rows: "pd.DataFrame") -> "pd.Series":
    """For each held-out row whose label train does not have: the label and how many rows it has. Else null."""
    strange = rows[~rows["label"].isin(rows.loc[rows["split"] == "train", "label"].unique())]
    counts = strange["label"].value_counts()
    named = {
        label: f"{label!r}: {count} held out, none in train" for label, count in counts.items()
    }
    return rows["label"].map(named).astype(object)


def fractional(rows: "pd.DataFrame") -> "pd.Series":
    """For each row whose label is a number with a fraction that occurs once: the number. Else null."""
    once = rows["label"].map(rows["label"].value_counts()) == 1
    return (
        rows["label"]
        .where(once & rows["label"].str.strip().str.fullmatch(FRACTION), None)
        .astype(object)
    )


def near_identical(rows: "pd.DataFrame") -> "pd.Series":
    """For each row whose label is also spelled with other case, spaces, hyphens or underscores: all spellings."""
    spellings: dict[str, list[str]] = {}
    for label in sorted(rows["label"].unique()):
        spellings.setdefault(_plain(label), []).append(label)
    named = {
        label: f"spelled {len(same)} ways: {', '.join(map(repr, same[:6]))}"
        for same in spellings.values()
        if len(same) > 1
        for label in same
    }
    return rows["label"].map(named).astype(object)


def suspects(rows: "pd.DataFrame", seed: int) -> "pd.DataFrame":
    """Rows of train judged by cross-validation: `suspect` names the label that the text speaks for, or is null.

    Confident learning (Northcutt, Jiang, Chuang 2021, arXiv:1911.00068) on the scores of a linear SVM: a row is
    suspect if it scores for another label at least as high as rows that carry that label do on average. Labels with
    fewer than NUM_FOLDS rows are not judged. One row per judged row, index as in `rows`.
    """
    import numpy as np
    import pandas as pd

    train = rows[rows["split"] == "train"]
    train = train[train["label"].map(train["label"].value_counts()) >= NUM_FOLDS]
    train = train.sample(MAX_ROWS, random_state=seed) if len(train) > MAX_ROWS else train
    train = train[train["label"].map(train["label"].value_counts()) >= NUM_FOLDS]
    given, distinct = pd.factorize(train["label"], sort=True)
    names = distinct.tolist()
    if len(names) < 2:
        return pd.DataFrame({"suspect": pd.Series(dtype=object)}, index=train.index[:0])
    scores = _held_out_scores(train["text"], given, seed)
    typical = np.array([scores[given == label, label].mean() for label in range(len(names))])
    confident = np.where(scores >= typical, scores, -np.inf)
    best = confident.argmax(axis=1)
    suspect = np.isfinite(confident.max(axis=1)) & (best != given)
    named = [
        f"{names[g]!r}, reads like {names[b]!r}" if s else None
        for g, b, s in zip(given, best, suspect, strict=True)
    ]
    return pd.DataFrame({"suspect": pd.Series(named, index=train.index, dtype=object)})


def _held_out_scores(texts: "pd.Series", given: "np.ndarray", seed: int) -> "np.ndarray":
    """Decision values [rows, labels] of a linear SVM that has not seen the row."""
    import numpy as np
    from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    words = HashingVectorizer(
        n_features=NUM_FEATURES, ngram_range=(1, 2), norm=None, alternate_sign=False
    )
    model = make_pipeline(TfidfTransformer(sublinear_tf=True), LinearSVC(C=0.5, random_state=seed))
    folds = StratifiedKFold(NUM_FOLDS, shuffle=True, random_state=seed)
    scores = cross_val_predict(
        model, words.transform(texts), given, cv=folds, method="decision_function"
    )
    return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores


def _plain(label: str) -> str:
    return re.sub(r"[\s_-]+", "", label).casefold()
