"""Sequences: what the mean over orders of a history takes off the regret of a transformer.

python benchmarks/orders.py [--bundle models/transformer]

after `make run RECIPE=sequence_bayes`. `auto` has an order for each EACH symbols of the history.
"""

import argparse
from pathlib import Path

import numpy as np

from plumbline.contract import layout
from plumbline.statistics.intervals import compute_mean_interval
from tasks.sequence_bayes.data.exact import compute_predictive
from tasks.sequence_bayes.data.storage import read_prior, read_sequences
from tasks.sequence_bayes.predictor import load

FIXED, EACH, NUM_ROWS = (1, 2, 4, 8, 16), 8, 500


def main(bundle: Path) -> None:
    """Print the expected regret in nats by symbols seen, of all, and less that of auto."""
    prior, model = read_prior(layout.EXAMPLES), load(bundle)
    sequences = read_sequences(layout.EXAMPLES, "test")[:NUM_ROWS]
    lengths = range(EACH, prior.max_history + 1, EACH)
    found = np.zeros((max(FIXED) + 1, len(lengths), len(sequences)))  # by orders; auto at 0
    for place, length in enumerate(lengths):
        random = np.random.default_rng(length)
        asked = sequences[:, :length]
        exact = compute_predictive(prior, asked)[:, -1]
        total = np.zeros_like(exact)
        for number in range(1, len(found)):
            total += model.predict({"sequence": asked.tolist()})["probabilities"]
            found[number, place] = (exact * np.log(exact * number / total)).sum(axis=1)
            asked = random.permuted(asked, axis=1)
        found[0, place] = found[length // EACH, place]
    print("| orders |", " | ".join(map(str, lengths)), "| all | less that of auto |")
    for number in (*FIXED, 0):
        cells = [f"{mean:.5f}" for mean in found[number].mean(axis=1)]
        for values in (found[number], found[number] - found[0]):
            low, high = compute_mean_interval(values.mean(axis=0), "continuous", 0.95)
            cells.append(f"{values.mean():.5f} ({low:.5f} to {high:.5f})")
        print(f"| {number or 'auto'} | {' | '.join(cells)} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bundle", type=Path, default=Path("models/transformer"))
    main(parser.parse_args().bundle)
