"""Seconds and memory of the paired bootstrap interval, ours against SciPy's own call on the same scores.

python benchmarks/bootstrap.py [ROWS]
"""

import argparse
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from scipy.stats import bootstrap

from plumbline.statistics import intervals

CONFIDENCE = 0.95


def main() -> None:
    """Print one line a way, then the ratio of their seconds and how far their ends are apart."""
    parser = argparse.ArgumentParser(
        description="Seconds and memory of the paired bootstrap interval."
    )
    parser.add_argument("rows", metavar="ROWS", type=int, nargs="?", default=10_000)
    rows = parser.parse_args().rows
    print(
        f"{intervals.NUM_RESAMPLES:,} resamples of {rows:,} paired scores, BCa at {CONFIDENCE:.0%}"
    )
    print(f"{'':<10} {'seconds':>8} {'peak RSS':>10} {'interval':>22}")
    results = [_apart(way, rows) for way in (_ours, _stock)]
    for name, (seconds, peak, low, high) in zip(("plumbline", "scipy"), results, strict=True):
        print(f"{name:<10} {seconds:>8.2f} {peak:>7.0f} MB {low:>10.6f} to {high:.6f}")
    ours, stock = results
    print(f"ratio of seconds, scipy to plumbline: {stock[0] / ours[0]:.1f}")
    print(
        f"largest difference between the ends: {max(abs(ours[2] - stock[2]), abs(ours[3] - stock[3])):.1e}"
    )


def _ours(ours: np.ndarray, theirs: np.ndarray) -> tuple[float, float]:
    return intervals.gain(ours, theirs, "continuous", CONFIDENCE)


def _stock(ours: np.ndarray, theirs: np.ndarray) -> tuple[float, float]:
    found = bootstrap(
        (ours - theirs,),
        np.mean,
        confidence_level=CONFIDENCE,
        n_resamples=intervals.NUM_RESAMPLES,
        rng=0,
    ).confidence_interval
    return float(found.low), float(found.high)


def _apart(way: Callable[..., tuple[float, float]], rows: int) -> tuple[float, float, float, float]:
    """Seconds, peak RSS in MB and both ends, in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_measured, way, rows).result()


def _measured(
    way: Callable[..., tuple[float, float]], rows: int
) -> tuple[float, float, float, float]:
    rng = np.random.default_rng(1)
    ours = rng.exponential(2.0, rows)
    theirs = ours + rng.normal(0.02, 0.5, rows)
    way(ours[:10], theirs[:10])  # the imports
    start = time.perf_counter()
    low, high = way(ours, theirs)
    seconds = time.perf_counter() - start
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
        1024 if sys.platform == "darwin" else 1
    )
    return seconds, kilobytes * 1024 / 1e6, low, high


if __name__ == "__main__":
    main()
