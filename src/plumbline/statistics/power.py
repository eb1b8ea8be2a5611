"""Error rates: what a test split can tell, who surely loses on it, and at which level it may be asked once more."""

import math
from collections.abc import Sequence

import numpy as np

from plumbline.statistics import intervals
from plumbline.statistics.intervals import ALIKE, Kind


def minimum_detectable_difference(
    ours: np.ndarray, theirs: np.ndarray, kind: Kind, level: float, power: float = 0.8
) -> float:
    """The smallest true difference of two mean scores that rows like these show with probability `power`.

    `level` is two-sided. 0/1 scores: McNemar's test on a discordant share as found here (Connett, Smith and McHugh
    1987), 1/(rows + 2) where they never differ. Other scores: the paired t test on the spread of the differences
    found here, so 0 where it has none. ValueError where the rows are too few to show any difference.
    """
    intervals.check_pairs(ours, theirs)
    if not 0 < level < power < 1:
        raise ValueError(
            f"no difference can be shown at a level of {level} with a power of {power}"
        )
    if kind == "binary":
        only_ours, only_theirs = intervals.discordant(ours, theirs)
        share = max(only_ours + only_theirs, ours.size / (ours.size + 2)) / ours.size
        return _detectable_share(ours.size, share, level, power)
    if ours.size < 2:
        raise _too_few(ours.size, level)
    return _detectable_effect(ours.size, level, power) * float(np.std(ours - theirs, ddof=1))


def _detectable_share(num_rows: int, discordant: float, level: float, power: float) -> float:
    from scipy.optimize import brentq
    from scipy.stats import norm

    reach, margin = float(norm.isf(level / 2)), float(norm.ppf(power))

    def surplus(difference: float) -> float:
        share = max(
            discordant, difference
        )  # two models cannot be further apart than the rows they differ on
        return (
            math.sqrt(num_rows) * difference
            - reach * math.sqrt(share)
            - margin * math.sqrt(share - difference**2)
        )

    if 2 * 0.5**num_rows > level or surplus(1.0) <= 0:
        raise _too_few(num_rows, level)
    return float(brentq(surplus, 0.0, 1.0))


def _detectable_effect(num_rows: int, level: float, power: float) -> float:
    """In standard deviations of the differences."""
    from scipy.optimize import brentq
    from scipy.stats import norm, t
    from statsmodels.stats.power import TTestPower

    def surplus(effect: float) -> float:
        # one tail at half the level: the other adds next to nothing, and far out SciPy has no number for it
        return float(TTestPower().power(effect, num_rows, level / 2, alternative="larger")) - power

    limit = float(t.isf(level / 2, num_rows - 1) + norm.ppf((1 + power) / 2)) / math.sqrt(num_rows)
    for _ in range(5):
        if surplus(limit) > 0:
            return float(brentq(surplus, 0.0, limit))
        limit *= 2
    raise _too_few(num_rows, level)


def _too_few(num_rows: int, level: float) -> ValueError:
    return ValueError(
        f"{num_rows} test rows are too few to show any difference at a level of {level:.2g}"
    )


def worse(ours: np.ndarray, theirs: np.ndarray, margin: float, kind: Kind) -> float:
    """The one-sided p-value that mean(ours - theirs) is at least -margin: small where ours are surely worse.

    0/1 scores: the z test of Bonett and Price's interval, so that both agree. Other scores: the t test of the
    differences; where they are all equal, 0 or 1 by their size, and 1 for a single row, which shows nothing.
    """
    from scipy.stats import norm, ttest_1samp

    intervals.check_pairs(ours, theirs)
    if kind == "binary":
        difference, error = intervals.adjusted(ours, theirs)
        return float(norm.cdf((difference + margin) / error))
    differences = ours - theirs
    if differences.size == 1:
        return 1.0
    rounding = ALIKE * max(np.abs(ours).max(), np.abs(theirs).max())
    if np.ptp(differences) <= rounding:
        return 0.0 if differences.mean() + margin < -rounding else 1.0
    return float(ttest_1samp(differences, -margin, alternative="less").pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values adjusted for being several (Holm 1979), in the same order; each holds at the level of them all."""
    from statsmodels.stats.multitest import multipletests

    return (
        [float(value) for value in multipletests(p_values, method="holm")[1]]
        if len(p_values)
        else []
    )


def spent(number: int, planned: int, alpha: float) -> float:
    """The two-sided level of the `number`-th (from 1) of `planned` uses of a test split; 0 beyond them.

    The increment of the Pocock-type spending function alpha ln(1 + (e - 1) t) (Lan and DeMets 1983): the earliest
    use gets the most. The levels add up to alpha, so all planned uses together promote falsely no more often than
    that, however they depend on each other. ValueError for a number or a plan below 1.
    """
    if number < 1 or planned < 1:
        raise ValueError(
            f"uses of a test split are counted from 1; found use {number} of {planned}"
        )
    if number > planned:
        return 0.0
    before, after = (math.log1p((math.e - 1) * uses / planned) for uses in (number - 1, number))
    return alpha * (after - before)


def best_of(level: float, num_candidates: int) -> float:
    """The level for each of several candidates that share one use of a test split (Bonferroni).

    The winner is chosen on the validation split, but every candidate's test score is shown: one use then reads that
    many answers off the test split, and whoever reads them may take the luckiest. ValueError for no candidates.
    """
    if num_candidates < 1:
        raise ValueError(f"a level is shared by 1 candidate or more; found {num_candidates}")
    return level / num_candidates
