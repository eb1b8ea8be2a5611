"""How often decisions by outcomes are wrong, and how many rows and labels they take.

python benchmarks/outcomes.py [--repeats 20000] [--groups]

Pairs: two models answer the same rows and differ on a tenth of them, where alone a label is
needed. Split: each row is answered by one of the two, and is labelled. The better one is right on
two of 100 rows more. All tests are one-sided.
"""

import sys
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from group_gaps import print_gaps
from scipy.special import betaln
from scipy.stats import binom, chi2, norm
from simulation import print_simulation

from plumbline.statistics import betting
from plumbline.statistics.betting import ShareTest, compute_log_wealth
from plumbline.statistics.intervals import compute_proportion_interval

LEVEL = 0.025
POCOCK = 2.672  # of 20 looks at 0.05 two-sided (Jennison and Turnbull 2000, table 2.1)
POWER = 0.8
Rejects = Callable[[np.ndarray], np.ndarray]  # of numbers [repeats, values]


class Design(NamedTuple):
    """What a row may show of two models, by probability; values are symmetric around 0."""

    values: np.ndarray
    equal: list[float]
    better: list[float]
    num_labels: float  # of a row
    most: int  # rows

    def bet(self, is_planned: bool = True, level: float = LEVEL) -> Rejects:
        """Reject that the challenger is no better; for reversed numbers, that it is no worse."""
        end = float(self.values[-1])
        planned = dict(zip(self.values, self.better, strict=True))
        stake = betting.find_stake(planned, 0.0, span=(-end, end)) if is_planned else None
        heights, edge = self.values + end, -np.log(level)
        return lambda numbers: compute_log_wealth(heights, numbers, end, stake) >= edge

    def find_stops(
        self, rejects: Rejects, chances: list[float], step: int, looks: int, repeats: int
    ) -> np.ndarray:
        """Return the rows after which each repeat is rejected, infinity where it never is."""
        random, stops = np.random.default_rng(0), np.full(repeats, np.inf)
        numbers = np.zeros((repeats, len(chances)))
        for look in range(1, looks + 1):
            numbers += random.multinomial(step, chances, size=repeats)
            stops = np.minimum(stops, np.where(rejects(numbers), look * step, np.inf))
        return stops


# Ours is wrong, theirs right, ours right, theirs wrong: less 0.92, by the share of rows of a side.
VALUE = np.array([-0.92, -0.08, 0.08, 0.92]) / 0.5
PAIRS = Design(np.array([-1.0, 0.0, 1.0]), [0.05, 0.9, 0.05], [0.04, 0.9, 0.06], 0.1, 8_000)
SPLIT = Design(VALUE, [0.04, 0.46, 0.46, 0.04], [0.03, 0.46, 0.47, 0.04], 1.0, 20_000)


@np.errstate(invalid="ignore", divide="ignore")
def reject_by_z(numbers: np.ndarray, edge: float = float(norm.isf(LEVEL))) -> np.ndarray:
    """Reject by McNemar's test of pairs, or by that of two shares."""
    if numbers.shape[1] == 3:
        losses, _, wins = numbers.T
        return (wins - losses) / np.sqrt(wins + losses) > edge
    wrong, their_right, right, their_wrong = numbers.T
    ours, theirs = wrong + right, their_wrong + their_right
    share = (right + their_right) / (ours + theirs)
    error = np.sqrt(share * (1 - share) * (1 / ours + 1 / theirs))
    return (right / ours - their_right / theirs) / error > edge


def reject_asymptotically(numbers: np.ndarray, width: float = 5_000) -> np.ndarray:
    """Reject by the one-sided asymptotic sequence that is narrowest after `width` rows.

    I. Waudby-Smith et al., Time-uniform central limit theory and asymptotic confidence sequences,
    Ann. Stat. 52 (2024), appendix B.
    """
    rows = numbers.sum(axis=1)
    mean = numbers @ VALUE / rows
    variance = numbers @ VALUE**2 / rows - mean**2
    spread = (-2 * np.log(2 * LEVEL) + np.log(1 - 2 * np.log(2 * LEVEL))) / width * rows
    reach = 2 * (spread + 1) / (rows * spread) * np.log1p(np.sqrt(spread + 1) / (2 * LEVEL))
    return mean > np.sqrt(variance * reach)


# Design, test, number of looks (0: it may be looked at however often), level.
TESTS: dict[str, tuple[Design, Rejects, int, float]] = {
    "pairs: z at each look": (PAIRS, reject_by_z, 0, LEVEL),
    "pairs: Pocock's bound": (PAIRS, partial(reject_by_z, edge=POCOCK), 20, LEVEL),
    "pairs: betting, ten halvings": (PAIRS, PAIRS.bet(is_planned=False), 0, LEVEL),
    "pairs: betting, planned stake": (PAIRS, PAIRS.bet(), 0, LEVEL),
    "pairs: the same at 0.01 (worse)": (PAIRS, PAIRS.bet(level=0.01), 0, 0.01),
    "pairs: one look (McNemar)": (PAIRS, reject_by_z, 1, LEVEL),
    "split: z at each look": (SPLIT, reject_by_z, 0, LEVEL),
    "split: betting, planned stake": (SPLIT, SPLIT.bet(), 0, LEVEL),
    "split: asymptotic": (SPLIT, reject_asymptotically, 0, LEVEL),
    "split: one look": (SPLIT, reject_by_z, 1, LEVEL),
}


def measure_test(name: str, repeats: int) -> list[str]:
    """Return how often equal models are told apart, and the rows and labels of a better one."""
    design, rejects, looks, nominal = TESTS[name]
    most, num_labels = design.most, design.num_labels
    cells = [name, f"{nominal:g}"]
    for times in [looks, looks] if looks else [20, 400]:
        stops = design.find_stops(rejects, design.equal, most // times, times, repeats)
        cells.append(f"{np.isfinite(stops).mean():.4f}")
    if "each" in name:
        return [*cells, *["-"] * 5]
    low, high = 0, most
    stops = design.find_stops(rejects, design.better, 40, most // 40, repeats)
    needed = float(np.quantile(stops, POWER))
    while looks and high - low > 10:  # a plan says how many rows there will be
        middle = (low + high) // 2
        stops = design.find_stops(rejects, design.better, middle // looks, looks, repeats)
        is_enough = np.isfinite(stops).mean() >= POWER
        low, high = (low, middle) if is_enough else (middle, high)
        needed = high
    found = np.isfinite(stops).mean()
    taken = np.minimum(stops, needed if looks else most)
    cells += [f"{needed:,.0f}", f"{needed * num_labels:,.0f}", f"{np.median(taken):,.0f}"]
    return [*cells, f"{taken.mean() * num_labels:,.0f}", f"{found:.3f}"]


def reject_share(numbers: np.ndarray, share: float, level: float) -> np.ndarray:
    """Reject a share, both sides by betting, for numbers [..., (0s, 1s)]."""
    above = compute_log_wealth(np.array([0, 1]), numbers, share, None)
    below = compute_log_wealth(np.array([1, 0]), numbers, 1 - share, None)
    return np.maximum(above, below) >= np.log(2 / level)


def measure_interval(repeats: int) -> str:
    """How often the interval of a share of 0.94 misses it at one of 300 looks, and its ends."""
    random, numbers = np.random.default_rng(0), np.zeros((repeats, 2))
    wrong = np.zeros(repeats, bool)
    for _ in range(300):
        numbers += random.multinomial(10, [0.06, 0.94], size=repeats)
        wrong |= reject_share(numbers, 0.94, 0.05)
    means = np.linspace(0.85, 0.99, 14_001)
    chance = betaln(941, 61) - 940 * np.log(means) - 60 * np.log1p(-means)
    ends = {"1,000 rows": betting.compute_interval({0: 60, 1: 940}, 0.05)}
    ends["Beta mixture"] = means[chance < np.log(20)][[0, -1]]
    ends["Wilson"] = compute_proportion_interval(940, 1000, 0.95)
    texts = [f"{name} {low:.3f} to {high:.3f}" for name, (low, high) in ends.items()]
    return f"{wrong.mean():.4f}; {', '.join(texts)}"


def measure_closing(repeats: int) -> str:
    """How often an equal arm is called worse whose failures are known after a day, not after 7."""
    random, rejects = np.random.default_rng(0), SPLIT.bet(level=0.01)
    until = random.multinomial(1000, SPLIT.equal, size=(29, repeats)).cumsum(axis=0)
    by_arrival, closed = np.zeros(repeats, bool), np.zeros(repeats, bool)
    for day in range(7, 29):
        known = until[day - 7].copy()
        closed |= rejects(known[:, ::-1])
        known[:, 0] = until[day - 1][:, 0]
        by_arrival |= rejects(known[:, ::-1])
    return f"{by_arrival.mean():.3f} as they arrive, {closed.mean():.4f} by closed days"


def find_alarms(
    share: float, num_groups: int, repeats: int, num_sound: int = 0, size: int = 1
) -> np.ndarray:
    """Return after how many groups of `size` labels each repeat is an alarm: limit 0.058."""
    random, stops = np.random.default_rng(0), np.full(repeats, np.inf)
    test: Any = ShareTest(0.058, 0.042)  # each number is an array [repeats]
    for group in range(num_sound + num_groups):
        bad = random.binomial(size, share if group >= num_sound else 0.043, size=repeats)
        test.add(size, bad)
        stops = np.minimum(stops, np.where(test.failed, group + 1 - num_sound, np.inf))
    return stops[stops > 0]


def measure_alarm(repeats: int) -> str:
    """After how many labels an error of 0.10 is an alarm, and how often one at the limit is."""
    times = repeats // 10
    start, later = find_alarms(0.1, 3_000, times), find_alarms(0.1, 6_000, times, 6_000)
    days = 80 * find_alarms(0.1, 100, times, 0, 80)
    sound = np.isfinite(find_alarms(0.058, 40_000, times)).mean()
    rows = np.arange(100, 1_000)
    fixed = rows[binom.sf(binom.isf(0.01, rows, 0.058), rows, 0.1) < POWER][-1] + 1
    return (
        f"{np.median(start):,.0f} labels from the start (80 %: {np.quantile(start, POWER):,.0f}), "
        f"{np.median(later):,.0f} after 6,000 sound ones, {np.median(days):,.0f} by days of 80; "
        f"one look {fixed}; at the limit {sound:.4f} in 40,000"
    )


def measure_ratio(repeats: int) -> str:
    """How often 30 days of 500 keys are seen not to be halves."""
    texts = []
    for share in (0.5, 0.48, 0.45):
        random = np.random.default_rng(0)
        numbers = random.multinomial(500, [1 - share, share], size=(repeats, 30)).cumsum(axis=1)
        found = reject_share(numbers, 0.5, 0.001)
        texts.append(f"{share:g}: {found.any(axis=1).mean():.4f}")
        if share == 0.5:
            squares = np.square(numbers[..., 0] - numbers[..., 1]) / numbers.sum(axis=2)
            daily = (squares > chi2.isf(0.001, 1)).any(axis=1).mean()
    days = np.median(found.argmax(axis=1)) + 1
    return f"{'; '.join(texts)} (after {days:.0f} days); chi-squared each day, halves: {daily:.4f}"


def measure_keys(repeats: int) -> str:
    """How often equal arms differ at 0.05 by one look where users come again, and one is a bot."""
    random, wrong = np.random.default_rng(0), np.zeros(4)
    edge = norm.isf(LEVEL)
    for _ in range(repeats // 10):
        rates, arms = random.beta(3.68, 0.32, 2000), random.random(2000) < 0.5
        for bot in (0, 1):
            sizes = random.geometric(1 / 6, 2000)
            if bot:
                sizes[0] = sizes.sum() // 9
            right = random.binomial(sizes, rates)
            sums = [[counts[side].sum() for side in (arms, ~arms)] for counts in (sizes, right)]
            (ours, theirs), (won, lost) = sums
            table = np.array([[ours - won, lost, won, theirs - lost]])
            wrong[bot] += (reject_by_z(table, edge) | reject_by_z(table[:, ::-1], edge))[0]
            one, other = (right / sizes)[arms], (right / sizes)[~arms]
            error = np.sqrt(one.var() / one.size + other.var() / other.size)
            wrong[2 + bot] += abs(one.mean() - other.mean()) > edge * error
    rates = wrong / (repeats // 10)
    return "requests {:.3f}, with a bot {:.3f}; keys {:.3f}, with a bot {:.3f}".format(*rates)


def measure_budget(repeats: int, noise: float) -> str:
    """How many labels of uniform rows 300 chosen ones are worth, with confidence off by `noise`."""
    random, size, num = np.random.default_rng(0), 10_000, 300
    found, errors = [], []
    for _ in range(repeats // 10):
        rates = random.beta(7 * 0.94, 7 * 0.06, size)
        right = (random.random(size) < rates).astype(float)
        score = np.clip(rates + random.uniform(-noise, noise, size), 0, 1)
        doubt, is_train = np.sqrt(score * (1 - score)), random.random(size) < 0.8
        for asked in (is_train, np.ones(size)):
            weights = 1 + asked * doubt / doubt.mean()
            chances = np.minimum(1, num * weights / weights.sum())
            terms = score + (random.random(size) < chances) * (right - score) / chances
            errors.append(terms.std() / np.sqrt(size))
            found.append(terms.mean())
        rows = random.choice(size, num, replace=False)
        power = np.cov(right[rows], score[rows])[0, 1] / score.var() / (1 + num / size)
        found.append(power * score.mean() + np.mean(right[rows] - power * score[rows]))
        found.append(right[np.argsort(score)[:num]].mean())
    off = np.array(found).reshape(-1, 4) - 0.94
    worth = 0.94 * 0.06 / np.mean(off**2, axis=0)
    covered = np.mean(abs(off[:, 0]) < norm.isf(0.025) * np.array(errors)[::2])
    return (
        f"{worth[0]:.0f} (interval {covered:.3f} [0.95]); PPI++ on uniform rows {worth[2]:.0f}; "
        f"doubt in all rows, not train alone, {worth[1]:.0f}; the most uncertain show "
        f"{off[:, 3].mean() + 0.94:.2f}"
    )


def measure_series(repeats: int) -> str:
    """How often one of 20 equal challengers wins, each at the whole level."""
    stops = PAIRS.find_stops(PAIRS.bet(), PAIRS.equal, 20, 400, repeats)
    return f"{1 - (1 - np.isfinite(stops).mean()) ** 20:.2f}"


def compute_chosen(_: int) -> str:
    """What 0.94 shows by reported answers, and a canary's gain by rows that it did answer."""
    reported = 0.02 * 0.94, 0.3 * 0.06  # right and wrong ones
    # The champion answers the hard rows, 5 %, of both arms: it is right on half of them.
    gain = 0.92 - (0.95 * 0.92 + 2 * 0.05 * 0.5) / 1.05
    return f"{reported[0] / sum(reported):.2f}; {100 * gain:.1f} points"


QUESTIONS: dict[str, tuple[str, Callable[[int], str]]] = {
    "interval of 0.94 misses, 300 looks": ("0.05", measure_interval),
    "equal arm called worse: failures known after a day, all else 7": ("0.01", measure_closing),
    "alarm of an error of 0.10, limit 0.058": ("0.01", measure_alarm),
    "sample ratio, 30 days of 500 keys": ("0.001", measure_ratio),
    "equal arms differ, users come again": ("0.05", measure_keys),
    "300 labels of 10,000 rows are worth": ("300", partial(measure_budget, noise=0.0)),
    "the same, confidence off by 0.1": ("300", partial(measure_budget, noise=0.1)),
    "one of 20 equal challengers wins": ("0.025", measure_series),
    "0.94 where errors are reported; equal canary that fails": ("0.94; 0", compute_chosen),
}


def measure_question(name: str, repeats: int) -> list[str]:
    """Return the cells of one question."""
    nominal, measure = QUESTIONS[name]
    return [name, nominal, measure(repeats)]


if __name__ == "__main__":
    if "--groups" in sys.argv:
        sys.argv.remove("--groups")
        sys.exit(print_gaps())
    looks = ["equal, 20 looks", "equal, 400 looks"]
    rows = ["rows for 80 %", "labels", "median rows", "mean labels", "found"]
    columns = ["test", "nominal", *looks, *rows]
    print_simulation(__doc__, columns, measure_test, list(TESTS), repeats=20_000)
    columns = ["question", "nominal", "measured"]
    print_simulation(__doc__, columns, measure_question, list(QUESTIONS), repeats=20_000)
