"""Signal extraction: how many times faster than real time a bundle answers, on one core.

python benchmarks/signals.py
"""

import os
import time
from contextlib import chdir

import numpy as np
from processes import ROOT, open_folder

from plumbline.entrypoint import THREADS

# Before torch starts threads.
os.environ |= {name: value for name, value in THREADS.items() if name not in os.environ}

from plumbline.contract.task import Predictor
from plumbline.contract.yaml_file import load_yaml
from tasks.signal_extraction.data import ingest
from tasks.signal_extraction.models import build_learner
from tasks.signal_extraction.params import SignalParams
from tasks.signal_extraction.predictor import load

ROUNDS = 3
SECONDS, PIECE = 60, 100  # of signal, and samples of a piece


def main() -> None:
    """Print the rate of each kind of bundle, for a signal at once and in pieces."""
    params = SignalParams.model_validate(load_yaml(ROOT / "recipes/signal_extraction.yaml"))
    rate = params.data.sample_rate_hz
    signal = np.random.default_rng(0).normal(0, 0.3, rate * SECONDS).tolist()
    with open_folder("plumbline-signals-") as folder, chdir(folder):
        (examples := folder / "data/examples").mkdir(parents=True)
        ingest(params, examples, folder / "data/manifest.parquet")
        for name in ("stateful", "fir"):
            made = build_learner(params, name, examples)
            if made.solve:
                made.solve()
            (bundle := folder / name).mkdir()
            made.save(bundle)  # how fast it answers does not depend on what it learned
            print(f"{name}: {SECONDS} s at {rate} Hz, one frequency, one core")
            for title, size in (("at once", len(signal)), (f"{PIECE} samples at a time", PIECE)):
                pieces = [signal[at : at + size] for at in range(0, len(signal), size)]
                speed = SECONDS / measure_seconds(load(bundle), pieces)
                print(f"  {title:<25}{speed:>8,.0f} times real time")


def measure_seconds(predictor: Predictor, pieces: list[list[float]]) -> float:
    """Return the seconds of processor time, the best of some."""
    found = []
    for _ in range(ROUNDS):
        state, began = None, time.process_time()
        for piece in pieces:
            said = predictor.predict({"signal": [piece], "frequency_hz": [3.0], "state": [state]})
            state = said["state"][0]
        found.append(time.process_time() - began)
    return min(found)


if __name__ == "__main__":
    main()
