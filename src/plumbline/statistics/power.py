"""Error rates: what a test split can show, which loss is significant, what a use may spend."""

import math
from collections.abc import Sequence

import numpy as np

from plumbline.statistics import intervals
from plumbline.statistics.intervals import ROUNDING, Kind

# One-sided, of each gate that must not be disproved. A dozen of them together refuse a model
# that is at every limit in 4 % of cases at most, and one inside its limits hardly ever.
DISPROOF_LEVEL = 0.003
DISPROOF_CONFIDENCE = 1 - 2 * DISPROOF_LEVEL  # of a two-sided interval of which one end decides
MIN_ROWS = 50
ROWS_PER_SQUARED_SKEWNESS = 5


def compute_detectable_difference(
    ours: np.ndarray, theirs: np.ndarray, kind: Kind, level: float, power: float = 0.8
) -> float:
    """Compute the smallest true difference of two mean scores that such rows show.

    `ours` and `theirs` are scores [rows]; `level` is two-sided; `power` is the probability of
    showing the difference. 0/1 scores: McNemar's test on a discordant share as measured here
    (Connett, Smith and McHugh 1987), 1/(rows + 2) where they never differ. Other scores: the paired
    t test on the spread of the differences measured here, so 0 where it has none. ValueError where
    the rows are too few to show any difference.
    """
    intervals.check_pairs(ours, theirs)
    if not 0 < level < power < 1:
        raise ValueError(
            f"no difference can be shown at a level of {level} with a power of {power}"
        )
    if kind == "binary":
        only_ours, only_theirs = intervals.count_discordant(ours, theirs)
        share = max(only_ours + only_theirs, ours.size / (ours.size + 2)) / ours.size
        return _solve_share(ours.size, share, level, power)
    if ours.size < 2:
        raise _explain_too_few(ours.size, level)
    spread = float(np.std(ours - theirs, ddof=1))
    return _solve_effect(ours.size, level, power) * spread


def count_needed_rows(scores: np.ndarray) -> int:
    """Count the rows that the interval of a continuous mean needs, for `scores` [rows] like these.

    50, or 5 times their squared skewness (the form is Cochran's 1977, section 2.15): of n rows of
    which k are large and the others near 0, the squared skewness is n / k, so at least 5 rows must
    carry the mean. benchmarks/coverage.py shows how often the interval misses then.
    """
    spread = scores - scores.mean()
    if np.abs(spread).max() <= ROUNDING * np.abs(scores).max():
        return MIN_ROWS
    skewness = float(np.mean(spread**3) / np.mean(spread**2) ** 1.5)
    return max(MIN_ROWS, math.ceil(ROWS_PER_SQUARED_SKEWNESS * skewness**2))


def compute_loss_p_value(ours: np.ndarray, theirs: np.ndarray, margin: float, kind: Kind) -> float:
    """Compute the one-sided p that mean(ours - theirs) [rows] is at least -margin.

    It is small where `ours` are significantly worse. 0/1 scores: the z test of Bonett and Price's
    interval, so that both agree. Other scores: the t test of the differences; where they are all
    equal, 0 or 1 by their size, and 1 for a single row, which shows nothing.
    """
    from scipy.stats import norm, ttest_1samp

    intervals.check_pairs(ours, theirs)
    if kind == "binary":
        difference, error = intervals.estimate_paired_difference(ours, theirs)
        return float(norm.cdf((difference + margin) / error))
    differences = ours - theirs
    if differences.size == 1:
        return 1.0
    rounding = ROUNDING * max(np.abs(ours).max(), np.abs(theirs).max())
    if np.ptp(differences) <= rounding:
        return 0.0 if differences.mean() + margin < -rounding else 1.0
    return float(ttest_1samp(differences, -margin, alternative="less").pvalue)


def count_explained_rows(num_rows: int, share: float) -> int:
    """Count the rows of `num_rows` that a true `share` explains, at DISPROOF_LEVEL (exactly)."""
    from scipy.stats import binom

    return int(binom.isf(DISPROOF_LEVEL, num_rows, share))


def adjust_p_values(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values for being several (Holm 1979), in the same order.

    Each adjusted value holds at the level of them all.
    """
    order = np.argsort(p_values)
    num_open = np.arange(order.size, 0, -1)
    adjusted = np.empty(order.size)
    adjusted[order] = np.maximum.accumulate(np.sort(p_values) * num_open).clip(max=1.0)
    return list(map(float, adjusted))


def spend_level(number: int, planned: int, alpha: float) -> float:
    """Compute the two-sided level of the `number`-th (from 1) of `planned` uses of a test split.

    0 beyond them. The increment of the Pocock-type spending function alpha ln(1 + (e - 1) t) (Lan
    and DeMets 1983): the earliest use gets the most. The levels add up to alpha, so all planned
    uses together promote falsely no more often than that, however they depend on each other.
    ValueError for a number or a plan below 1.
    """
    if number < 1 or planned < 1:
        raise ValueError(
            f"uses of a test split are counted from 1; found use {number} of {planned}"
        )
    if number > planned:
        return 0.0
    before = math.log1p((math.e - 1) * (number - 1) / planned)
    after = math.log1p((math.e - 1) * number / planned)
    return alpha * (after - before)


def _solve_share(num_rows: int, discordant: float, level: float, power: float) -> float:
    """Solve the power equation of McNemar's test for the difference of two shares."""
    from scipy.optimize import brentq
    from scipy.special import ndtri  # scipy.stats takes long to import

    reach = float(-ndtri(level / 2))
    margin = float(ndtri(power))

    def compute_surplus(difference: float) -> float:
        # Two models cannot be further apart than the rows they differ on.
        share = max(discordant, difference)
        return (
            math.sqrt(num_rows) * difference
            - reach * math.sqrt(share)
            - margin * math.sqrt(share - difference**2)
        )

    if 2 * 0.5**num_rows > level or compute_surplus(1.0) <= 0:
        raise _explain_too_few(num_rows, level)
    return float(brentq(compute_surplus, 0.0, 1.0))


def _solve_effect(num_rows: int, level: float, power: float) -> float:
    """Solve the power of the paired t test for the effect, in standard deviations."""
    from scipy.optimize import brentq
    from scipy.stats import nct, norm, t

    critical = t.isf(level / 2, num_rows - 1)

    def compute_surplus(effect: float) -> float:
        # One tail at half the level: the other adds next to nothing, and far out SciPy has no
        # number for it.
        return float(nct.sf(critical, num_rows - 1, effect * math.sqrt(num_rows))) - power

    limit = float(critical + norm.ppf((1 + power) / 2)) / math.sqrt(num_rows)
    for _ in range(5):
        if compute_surplus(limit) > 0:
            return float(brentq(compute_surplus, 0.0, limit))
        limit *= 2
    raise _explain_too_few(num_rows, level)


def _explain_too_few(num_rows: int, level: float) -> ValueError:
    return ValueError(
        f"{num_rows} test rows are too few to show any difference at a level of {level:.2g}"
    )
