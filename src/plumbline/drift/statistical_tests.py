"""Two-sample tests, column by column: reference rows against current ones.

Every test gives a p-value; `adjusted` corrects it for the number of tests (Benjamini and Hochberg
1995). A change also has to be of some size before it counts: with enough rows, any difference is
significant.
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
class DriftTest:
    """One comparison of a column."""

    column: str
    what: str  # values, missing, length, unknown words, wording, errors
    method: str
    p_value: float
    effect: float | None  # population stability index; None where the method has none
    told: str  # what changed, in words; a key of reports/drift.json
    examples: tuple[str, ...] = ()  # current rows that are least like the reference
    adjusted: float = 1.0
    drifted: bool = False


def compare_tables(
    reference: "pd.DataFrame", current: "pd.DataFrame", answer: str, seed: int
) -> list[DriftTest]:
    """Test every column that both tables have.

    Where both know the true answers (column `label`), also test whether `answer` is worse.
    """
    import pandas as pd

    shared = [str(name) for name in reference.columns if name in current.columns]
    reference, current = reference[shared].copy(), current[shared].copy()
    arrays.unfold_arrays(reference, current)
    tests: list[DriftTest] = []
    for name in reference.columns:
        if not _is_number(reference[name]):  # the same text, whichever file format it came from
            reference[name] = reference[name].map(_as_text)
            current[name] = current[name].map(_as_text)
        else:
            current[name] = pd.to_numeric(current[name], errors="coerce")
        tests += compare_column(str(name), reference[name], current[name], seed)
    # Labels arrive late: that they are missing is not drift.
    tests = [test for test in tests if (test.column, test.what) != (LABEL, "missing")]
    if {answer, LABEL} <= set(reference.columns) and current[LABEL].notna().any():
        tests.append(compare_errors(reference, current, answer))
    return tests


def judge_tests(tests: Sequence[DriftTest], alpha: float, min_effect: float) -> list[DriftTest]:
    """The tests with adjusted p-values and whether each shows drift; the most significant first."""
    from scipy.stats import false_discovery_control

    if not tests:
        return []
    p_values = false_discovery_control([test.p_value for test in tests], method="bh")
    judged = []
    for test, p_value in zip(tests, p_values, strict=True):
        is_large = test.effect is None or test.effect >= min_effect
        drifted = bool(p_value <= alpha and is_large)
        judged.append(replace(test, adjusted=float(p_value), drifted=drifted))
    return sorted(judged, key=lambda test: (not test.drifted, test.adjusted, test.p_value))


def compare_column(
    name: str, reference: "pd.Series", current: "pd.Series", seed: int
) -> list[DriftTest]:
    """All tests of one column; none of its values where one side has no value at all."""
    tests = []
    old, new = reference.dropna(), current.dropna()
    if len(old) < len(reference) or len(new) < len(current):
        tests.append(_compare_missing(name, reference, current))
    if old.empty or new.empty:
        return tests
    match classify_column(reference):
        case "text":
            return tests + _compare_texts(name, old.astype(str), new.astype(str), seed)
        case "number":
            test = compare_numbers(name, "values", old.to_numpy(float), new.to_numpy(float))
            return [*tests, test]
    return [*tests, compare_categories(name, "values", old.astype(str), new.astype(str))]


def classify_column(values: "pd.Series") -> str:
    """What a column holds, by its reference rows: text, number or category."""
    present = values.dropna()
    if _is_number(present):
        return "number" if present.nunique() > FEW_VALUES else "category"
    unique = present.astype(str).nunique()
    return "text" if unique > MAX_CATEGORIES and unique > len(present) / 2 else "category"


def compare_numbers(
    name: str, what: str, old: np.ndarray, new: np.ndarray, alternative: str = "two-sided"
) -> DriftTest:
    """Kolmogorov and Smirnov's test of two samples of numbers, [n] and [m].

    With the `alternative` greater it asks whether the new ones are larger.
    """
    from scipy.stats import ks_2samp

    method = "Kolmogorov-Smirnov"
    old, new = old[np.isfinite(old)], new[np.isfinite(new)]
    if not old.size or not new.size:
        return DriftTest(name, what, method, 1.0, 0.0, "no finite number to compare")
    p_value = float(ks_2samp(old, new, alternative).pvalue)
    edges = np.unique(np.quantile(old, np.linspace(0, 1, NUM_BINS + 1)[1:-1]))
    effect = measure_stability(_count_bins(old, edges), _count_bins(new, edges))
    change = f"median {np.median(old):.4g} before, {np.median(new):.4g} now"
    return DriftTest(name, what, method, p_value, effect, change)


def compare_categories(name: str, what: str, old: "pd.Series", new: "pd.Series") -> DriftTest:
    """Pearson's chi-squared test of two samples of categories.

    All rare categories count as one, all new ones as another.
    """
    import pandas as pd

    table = pd.DataFrame({"old": old.value_counts(), "new": new.value_counts()})
    table = table.fillna(0.0).sort_index()
    pooled = _pool_categories(table.to_numpy().T)
    p_value = 1.0
    if pooled.shape[1] > 1:
        from scipy.stats import chi2_contingency

        p_value = float(chi2_contingency(pooled, correction=False).pvalue)
    shares = table / table.sum()
    differences = (shares["new"] - shares["old"]).abs()
    largest = differences.sort_values(ascending=False, kind="stable").index[:3]
    change = ", ".join(
        f"{label} {shares.old[label]:.1%} to {shares.new[label]:.1%}" for label in largest
    )
    return DriftTest(name, what, "chi-squared", p_value, measure_stability(*pooled), change)


def measure_stability(old: np.ndarray, new: np.ndarray) -> float:
    """The population stability index of two histograms, [bins] counts each.

    Half a row is added to every bin.
    """
    p = (old + 0.5) / (old.sum() + old.size / 2)
    q = (new + 0.5) / (new.sum() + new.size / 2)
    return float(((q - p) * np.log(q / p)).sum())


def compare_errors(reference: "pd.DataFrame", current: "pd.DataFrame", answer: str) -> DriftTest:
    """Whether answers are worse where the true ones are known; a one-sided test.

    Fisher's test of the number of wrong answers, Mann and Whitney's of the size of errors.
    """
    old = reference.dropna(subset=[answer, LABEL])
    new = current.dropna(subset=[answer, LABEL])
    if classify_column(reference[answer]) == "number":
        return _compare_error_sizes(old, new, answer)
    from scipy.stats import fisher_exact

    old_wrong = _is_wrong(old, answer)
    new_wrong = _is_wrong(new, answer)
    table = [[int(wrong.sum()), int((~wrong).sum())] for wrong in (new_wrong, old_wrong)]
    p_value = float(fisher_exact(table, "greater").pvalue)
    change = (
        f"{old_wrong.mean():.1%} wrong before, {new_wrong.mean():.1%} now, "
        f"of {len(new)} labelled rows"
    )
    return DriftTest(answer, "errors", "Fisher, one-sided", p_value, None, change)


def _compare_error_sizes(old: "pd.DataFrame", new: "pd.DataFrame", answer: str) -> DriftTest:
    from scipy.stats import mannwhitneyu

    old_sizes = np.abs(old[answer].to_numpy(float) - old[LABEL].to_numpy(float))
    new_sizes = np.abs(new[answer].to_numpy(float) - new[LABEL].to_numpy(float))
    p_value = float(mannwhitneyu(new_sizes, old_sizes, alternative="greater").pvalue)
    change = f"mean absolute error {old_sizes.mean():.4g} before, {new_sizes.mean():.4g} now"
    return DriftTest(answer, "errors", "Mann-Whitney", p_value, None, change)


def _is_wrong(rows: "pd.DataFrame", answer: str) -> np.ndarray:
    """Whether each answer differs from its label, as a boolean array [rows]."""
    return (rows[answer].astype(str) != rows[LABEL].astype(str)).to_numpy()


def _compare_missing(name: str, reference: "pd.Series", current: "pd.Series") -> DriftTest:
    words = {True: "missing", False: "there"}
    old = reference.isna().map(words)
    return compare_categories(name, "missing", old, current.isna().map(words))


def _compare_texts(name: str, old: "pd.Series", new: "pd.Series", seed: int) -> list[DriftTest]:
    """Tests of the texts' length, words and wording.

    The words of one half of the reference are known; the other half is compared. Fewer unknown
    words are no drift: the reference itself has them, half of whose texts are known.
    """
    known = texts.list_words(old[::2])
    old_unknown = texts.measure_unknown_shares(old[1::2], known)
    new_unknown = texts.measure_unknown_shares(new, known)
    change = f"{old_unknown.mean():.1%} of words unknown before, {new_unknown.mean():.1%} now"
    method = "kernel two-sample (MMD), permuted"
    p_value, told, examples = texts.compare_wording(old.tolist(), new.tolist(), seed)
    return [
        compare_numbers(
            name, "length", old.str.len().to_numpy(float), new.str.len().to_numpy(float)
        ),
        replace(
            compare_numbers(name, "unknown words", old_unknown, new_unknown, "greater"), told=change
        ),
        DriftTest(name, "wording", method, p_value, None, told, examples),
    ]


def _count_bins(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The number of values in each bin between `edges`, [edges + 1]."""
    return np.bincount(np.searchsorted(edges, values), minlength=edges.size + 1)


def _is_number(values: "pd.Series") -> bool:
    return values.dtype.kind in "iuf"


def _as_text(value: Any) -> str | None:
    """A value as every file format would give it; None for nothing."""
    if isinstance(value, np.ndarray):  # a list of labels, which answers name as one text
        return "|".join(sorted(map(str, value))) or None
    if value is None or value == "" or value != value:
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _pool_categories(table: np.ndarray) -> np.ndarray:
    """Counts [2, categories] with all rare categories as one and all new ones as another."""
    is_known = table[0] > 0
    unseen = table[:, table[0] == 0].sum(axis=1)
    known = table[:, is_known]
    expected = known.sum(axis=0) * table.sum(axis=1).min() / table.sum()
    rare = known[:, expected < MIN_EXPECTED].sum(axis=1)
    columns = [known[:, expected >= MIN_EXPECTED]]
    for pooled in (rare, unseen):
        if pooled.any():
            columns.append(pooled)
    return np.column_stack(columns)
