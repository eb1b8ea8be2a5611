"""Seconds and memory of the paired bootstrap interval, beside SciPy's own call.

Both get the same scores. plumbline's is the wider of bootstrap-t and Student's; SciPy has BCa.

python benchmarks/bootstrap.py [ROWS]
"""

import argparse
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
from scipy.stats import bootstrap

from plumbline.statistics import intervals

CONFIDENCE = 0.95
Method = Callable[[np.ndarray, np.ndarray], tuple[float, float]]


@dataclass(frozen=True)
class Measurement:
    """What one method costs, and the interval it gives."""

    seconds: float
    peak_mb: float  # RSS
    low: float
    high: float


def main() -> None:
    """Print one line per method, then the ratio of seconds and the difference of the ends."""
    parser = argparse.ArgumentParser(
        description="Seconds and memory of the paired bootstrap interval."
    )
    parser.add_argument("rows", metavar="ROWS", type=int, nargs="?", default=10_000)
    rows = parser.parse_args().rows
    print(f"{intervals.NUM_RESAMPLES:,} resamples of {rows:,} paired scores, at {CONFIDENCE:.0%}")
    print(f"{'':<10} {'seconds':>8} {'peak RSS':>10} {'interval':>22}")
    ours = _measure_in_process(_compute_with_plumbline, rows)
    scipys = _measure_in_process(_compute_with_scipy, rows)
    for name, result in (("plumbline", ours), ("scipy", scipys)):
        interval = f"{result.low:>10.6f} to {result.high:.6f}"
        print(f"{name:<10} {result.seconds:>8.2f} {result.peak_mb:>7.0f} MB {interval}")
    print(f"ratio of seconds, scipy to plumbline: {scipys.seconds / ours.seconds:.1f}")
    difference = max(abs(ours.low - scipys.low), abs(ours.high - scipys.high))
    print(f"largest difference between the ends: {difference:.1e}")


def _compute_with_plumbline(ours: np.ndarray, theirs: np.ndarray) -> tuple[float, float]:
    return intervals.compute_gain_interval(ours, theirs, "continuous", CONFIDENCE)


def _compute_with_scipy(ours: np.ndarray, theirs: np.ndarray) -> tuple[float, float]:
    interval = bootstrap(
        (ours - theirs,),
        np.mean,
        confidence_level=CONFIDENCE,
        n_resamples=intervals.NUM_RESAMPLES,
        rng=0,
    ).confidence_interval
    return float(interval.low), float(interval.high)


def _measure_in_process(compute: Method, rows: int) -> Measurement:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_measure, compute, rows).result()


def _measure(compute: Method, rows: int) -> Measurement:
    rng = np.random.default_rng(1)
    ours = rng.exponential(2.0, rows)
    theirs = ours + rng.normal(0.02, 0.5, rows)
    compute(ours[:10], theirs[:10])  # imports what it needs
    start = time.perf_counter()
    low, high = compute(ours, theirs)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    kilobytes = peak / 1024 if sys.platform == "darwin" else peak
    return Measurement(seconds, kilobytes * 1024 / 1e6, low, high)


if __name__ == "__main__":
    main()
