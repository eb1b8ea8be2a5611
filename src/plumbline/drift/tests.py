"""Two-sample tests, column by column: reference rows against current ones.

Every test gives a p-value; `adjusted` holds it against the number of tests (Benjamini and Hochberg 1995). A change
also has to be of some size before it counts: with enough rows, any difference is sure.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from plumbline.drift import arrays, texts

if TYPE_CHECKING:
    import pandas as pd

LABEL = "label"
NUM_BINS = 10
MAX_CATEGORIES = 50  # a text column with more values, and most of them once, is text
MIN_EXPECTED = 5.0  # rows; rarer categories are tested together
FEW_VALUES = 10  # numbers that take no more are categories


@dataclass(frozen=True)
class Test:
    """One comparison of a column."""

    column: str
    what: str  # values, missing, length, unknown words, wording, errors
    method: str
    p_value: float
    effect: float | None  # population stability index; None where the method has none
    told: str  # what changed, in words
    examples: tuple[str, ...] = ()  # current rows that are least like those before
    adjusted: float = 1.0
    drifted: bool = False


def compare(
    reference: "pd.DataFrame", current: "pd.DataFrame", answer: str, seed: int
) -> list[Test]:
    """Every column that both have, and where both know the right answers (`label`) whether `answer` is worse."""
    shared = [str(name) for name in reference.columns if name in current.columns]
    signals = arrays.names(reference[shared])
    reference, current = (arrays.measured(side[shared], signals) for side in (reference, current))
    shared = list(reference.columns)
    for name in shared:
        if not _is_number(reference[name]):  # the same text, whichever kind of file it came from
            reference[name], current[name] = (
                reference[name].map(_as_text),
                current[name].map(_as_text),
            )
    tests = [test for name in shared for test in column(name, reference[name], current[name], seed)]
    tests = [
        test for test in tests if (test.column, test.what) != (LABEL, "missing")
    ]  # labels come late
    if {answer, LABEL} <= set(shared) and current[LABEL].notna().any():
        tests.append(errors(reference, current, answer, LABEL))
    return tests


def judged(tests: Sequence[Test], alpha: float, min_effect: float) -> list[Test]:
    """The tests with p-values adjusted for their number, and whether each shows drift; the surest first."""
    from scipy.stats import false_discovery_control

    if not tests:
        return []
    adjusted = false_discovery_control([test.p_value for test in tests], method="bh")
    found = [
        replace(
            test,
            adjusted=float(p),
            drifted=bool(p <= alpha and (test.effect is None or test.effect >= min_effect)),
        )
        for test, p in zip(tests, adjusted, strict=True)
    ]
    return sorted(found, key=lambda test: (not test.drifted, test.adjusted, test.p_value))


def column(name: str, reference: "pd.Series", current: "pd.Series", seed: int) -> list[Test]:
    """All tests of one column; none where one side holds no value at all."""
    tests = []
    old, new = reference.dropna(), current.dropna()
    if len(old) < len(reference) or len(new) < len(current):
        tests.append(_missing(name, reference, current))
    if old.empty or new.empty:
        return tests
    match kind(reference):
        case "text":
            return tests + _text(name, old.astype(str), new.astype(str), seed)
        case "number":
            return [*tests, numbers(name, "values", old.to_numpy(float), new.to_numpy(float))]
    return [*tests, categories(name, "values", old.astype(str), new.astype(str))]


def kind(values: "pd.Series") -> str:
    """What a column holds, by its reference rows: text, number or category."""
    found = values.dropna()
    if _is_number(found):
        return "number" if found.nunique() > FEW_VALUES else "category"
    unique = found.astype(str).nunique()
    return "text" if unique > MAX_CATEGORIES and unique > len(found) / 2 else "category"


def numbers(name: str, what: str, old: np.ndarray, new: np.ndarray) -> Test:
    """Kolmogorov and Smirnov's test of two samples of numbers, [n] and [m]."""
    from scipy.stats import ks_2samp

    old, new = old[np.isfinite(old)], new[np.isfinite(new)]
    if not old.size or not new.size:
        return Test(name, what, "Kolmogorov-Smirnov", 1.0, 0.0, "no finite number to compare")
    p_value = float(ks_2samp(old, new).pvalue)
    edges = np.unique(np.quantile(old, np.linspace(0, 1, NUM_BINS + 1)[1:-1]))
    counts = [
        np.bincount(np.searchsorted(edges, side), minlength=edges.size + 1) for side in (old, new)
    ]
    told = f"median {np.median(old):.4g} before, {np.median(new):.4g} now"
    return Test(name, what, "Kolmogorov-Smirnov", p_value, stability(*counts), told)


def categories(name: str, what: str, old: "pd.Series", new: "pd.Series") -> Test:
    """Pearson's chi-squared test of two samples of categories; those that are rare count as one, the new as another."""
    import pandas as pd

    table = (
        pd.DataFrame({"old": old.value_counts(), "new": new.value_counts()})
        .fillna(0.0)
        .sort_index()
    )
    pooled, p_value = _pooled(table.to_numpy().T), 1.0
    if pooled.shape[1] > 1:
        from scipy.stats import chi2_contingency

        p_value = float(chi2_contingency(pooled, correction=False).pvalue)
    shares = table / table.sum()
    moved = (
        (shares["new"] - shares["old"]).abs().sort_values(ascending=False, kind="stable").index[:3]
    )
    told = ", ".join(
        f"{label} {shares.old[label]:.1%} to {shares.new[label]:.1%}" for label in moved
    )
    return Test(name, what, "chi-squared", p_value, stability(*pooled), told)


def stability(old: np.ndarray, new: np.ndarray) -> float:
    """The population stability index of two histograms, [bins] rows each; half a row is added to every bin."""
    p, q = ((side + 0.5) / (side.sum() + side.size / 2) for side in (old, new))
    return float(((q - p) * np.log(q / p)).sum())


def errors(reference: "pd.DataFrame", current: "pd.DataFrame", answer: str, label: str) -> Test:
    """Whether answers are worse where the right ones are known, one-sided: wrong ones by Fisher, else by their size."""
    old, new = (side.dropna(subset=[answer, label]) for side in (reference, current))
    if kind(reference[answer]) == "number":
        from scipy.stats import mannwhitneyu

        sizes = [
            np.abs(side[answer].to_numpy(float) - side[label].to_numpy(float))
            for side in (old, new)
        ]
        p_value = float(mannwhitneyu(sizes[1], sizes[0], alternative="greater").pvalue)
        told = f"mean absolute error {sizes[0].mean():.4g} before, {sizes[1].mean():.4g} now"
        return Test(answer, "errors", "Mann-Whitney", p_value, None, told)
    from scipy.stats import fisher_exact

    wrong = [
        (side[answer].astype(str) != side[label].astype(str)).to_numpy() for side in (old, new)
    ]
    table = [[int(w.sum()), int((~w).sum())] for w in reversed(wrong)]
    told = f"{wrong[0].mean():.1%} wrong before, {wrong[1].mean():.1%} now, of {len(new)} labelled rows"
    return Test(
        answer,
        "errors",
        "Fisher, one-sided",
        float(fisher_exact(table, "greater").pvalue),
        None,
        told,
    )


def _missing(name: str, reference: "pd.Series", current: "pd.Series") -> Test:
    sides = [side.isna().map({True: "missing", False: "there"}) for side in (reference, current)]
    return categories(name, "missing", *sides)


def _text(name: str, old: "pd.Series", new: "pd.Series", seed: int) -> list[Test]:
    """Its length, words and wording; the words of one half of the reference are known, the other half is compared."""
    known = texts.words(old[::2])
    unknown = [
        np.array([texts.unknown_share(text, known) for text in side]) for side in (old[1::2], new)
    ]
    wording = texts.wording(old.tolist(), new.tolist(), seed)
    lengths = [side.str.len().to_numpy(float) for side in (old, new)]
    rare = numbers(name, "unknown words", *unknown)
    told = f"{unknown[0].mean():.1%} of words unknown before, {unknown[1].mean():.1%} now"
    return [
        numbers(name, "length", *lengths),
        replace(rare, told=told),
        Test(
            name,
            "wording",
            "kernel two-sample (MMD), permuted",
            wording.p_value,
            None,
            wording.told,
            wording.examples,
        ),
    ]


def _is_number(values: "pd.Series") -> bool:
    import pandas as pd

    return bool(pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values))


def _as_text(value: Any) -> str | None:
    """A value as every kind of file would have it; None for nothing."""
    if value is None or value == "" or value != value:
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _pooled(table: np.ndarray) -> np.ndarray:
    """Counts [2, categories], those that are new as one category, and of the others those that are rare."""
    unseen, known = table[:, table[0] == 0].sum(axis=1), table[:, table[0] > 0]
    expected = known.sum(axis=0) * table.sum(axis=1).min() / table.sum()
    rare = known[:, expected < MIN_EXPECTED].sum(axis=1)
    return np.column_stack(
        [known[:, expected >= MIN_EXPECTED], *(one for one in (rare, unseen) if one.any())]
    )
