"""Signal extraction: how many times faster than real time a bundle answers, on one core.

python benchmarks/signals.py
"""

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path

import numpy as np

from plumbline.entrypoint import THREADS

# Before torch starts threads.
os.environ |= {name: value for name, value in THREADS.items() if name not in os.environ}

from plumbline.contract.records import Learner
from plumbline.contract.task import Predictor
from plumbline.contract.yaml_file import load_yaml
from tasks.signal_extraction.data import ingest
from tasks.signal_extraction.models import build_learner
from tasks.signal_extraction.params import SignalParams
from tasks.signal_extraction.predictor import load

RECIPE = Path(__file__).resolve().parents[1] / "recipes/signal_extraction.yaml"
ROUNDS = 3
SECONDS, PIECE = 60, 100  # of signal, and samples of a piece


def main() -> None:
    """Print the rate of each kind of bundle, for a signal at once and in pieces."""
    params = SignalParams.model_validate(load_yaml(RECIPE))
    with _examples(params) as examples:
        for name in ("stateful", "fir"):
            made = build_learner(params, name, examples)
            if made.solve:
                made.solve()
            predictor = _saved(made)  # how fast it answers does not depend on what it learned
            rate = params.data.sample_rate_hz
            signal = np.random.default_rng(0).normal(0, 0.3, rate * SECONDS).tolist()
            at_once = _seconds(predictor, [signal])
            pieces = _seconds(
                predictor, [signal[at : at + PIECE] for at in range(0, len(signal), PIECE)]
            )
            print(f"{name}: {SECONDS} s at {rate} Hz, one frequency, one core")
            print(f"  at once                  {SECONDS / at_once:>8,.0f} times real time")
            print(f"  {PIECE} samples at a time   {SECONDS / pieces:>8,.0f} times real time")


def _seconds(predictor: Predictor, pieces: list[list[float]]) -> float:
    """Seconds of processor time, the best of some."""
    found = []
    for _ in range(ROUNDS):
        state, began = None, time.process_time()
        for piece in pieces:
            said = predictor.predict({"signal": [piece], "frequency_hz": [3.0], "state": [state]})
            state = said["state"][0]
        found.append(time.process_time() - began)
    return min(found)


def _saved(made: Learner) -> Predictor:
    """What answers for a learner that has learned."""
    (folder := Path("bundle")).mkdir(exist_ok=True)
    made.save(folder)
    return load(folder)


@contextmanager
def _examples(params: SignalParams) -> Iterator[Path]:
    """A folder of its own, with the examples in it, as the working directory."""
    with tempfile.TemporaryDirectory(prefix="plumbline-signals-") as folder, chdir(folder):
        examples = Path(folder) / "data/examples"
        examples.mkdir(parents=True)
        ingest(params, examples, Path(folder) / "data/manifest.parquet")
        yield examples


if __name__ == "__main__":
    main()
