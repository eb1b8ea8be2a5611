"""What `plumbline selftest` plants in a designer of filters, and where it does so.

The small pipeline has low-passes, and a network that is trained in seconds.
"""

from pathlib import Path

from plumbline_selftest.protocol import Fault, FaultSite

HERE = Path(__file__).parent
PARAMS = HERE / "params.yaml"
# The sound candidate and its baselines have two calls of the simulator, the first champion one.
WEAKER = {"calls: 2, ": "calls: 1, ", "cost: 2}": "cost: 1}"}


def _plant_claims(site: FaultSite) -> None:
    """Say of every mask that it is met, by 146 dB."""
    site.wrap_predictor(HERE / "faulty_predictor.py", {})


FAULTS = (Fault("every mask said to be met by 146 dB", "answers", "refuse", _plant_claims),)
