"""What `plumbline selftest` plants in an extractor, and the small pipeline it does so in.

It has short windows and a bank of FIR filters, which is solved in seconds.
"""

from pathlib import Path

from plumbline_selftest.protocol import Fault, FaultSite

HERE = Path(__file__).parent
PARAMS = HERE / "params.yaml"
WEAKER = {"taps: 40": "taps: 12"}


def _plant_look_ahead(site: FaultSite) -> None:
    """Filter every signal backwards in time."""
    site.wrap_predictor(HERE / "faulty_predictor.py", {})


FAULTS = (Fault("a model that looks ahead", "behaviour", "refuse", _plant_look_ahead),)
